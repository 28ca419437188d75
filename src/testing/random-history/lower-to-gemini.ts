import {
  askedModel,
  type History,
  type HistoryCall,
  type HistoryResult,
  isOwnThought,
  type ModelStep,
  type Step,
} from "./history.ts";
import type { WireObject } from "./lower-to-anthropic.ts";

/** The request that a client sends to Google's Gemini API for a history: thinking makes it Gemini 3, which signs its calls. */
export function lowerToGemini(history: History): WireObject {
  const { system, steps, isThinking } = history;
  return {
    model: `gemini-${isThinking ? "3" : "2.5"}-${askedModel(history)}`,
    ...(system !== undefined && { systemInstruction: { parts: [{ text: system }] } }),
    contents: steps.map((step) => ({
      role: step.type === "model" ? "model" : "user",
      parts: partsOf(step, history),
    })),
  };
}

function partsOf(step: Step, history: History): readonly WireObject[] {
  switch (step.type) {
    case "user":
      return [...step.texts.map((text) => ({ text })), ...step.images.map(imagePart)];
    case "results":
      return step.results.map((result) => responsePart(result, hasIds(history)));
    case "model":
      return modelParts(step, history);
    default:
      return step satisfies never;
  }
}

/** Vertex gives calls no ids; the newer interface does. */
function hasIds({ cacheMarks }: History): boolean {
  return cacheMarks === 0;
}

function modelParts(step: ModelStep, history: History): readonly WireObject[] {
  const { thought, text, calls } = step;
  const isOwn = isOwnThought(history, thought);
  const seal = isOwn ? { thoughtSignature: thought.seal } : {};
  const parts: WireObject[] = [];
  if (isOwn) parts.push({ text: thought.text, thought: true });
  if (text !== undefined) parts.push({ text, ...(calls.length === 0 && seal) });
  for (const [index, call] of calls.entries()) {
    const signature = isOwn ? seal : history.isThinking ? SKIPPED : {};
    parts.push({ ...callPart(call, hasIds(history)), ...(index === 0 && signature) });
  }
  return parts;
}

/** What is sent in place of a signature that another model made. */
const SKIPPED: WireObject = { thoughtSignature: "skip_thought_signature_validator" };

function callPart({ id, tool, input }: HistoryCall, isNamed: boolean): WireObject {
  return { functionCall: { ...(isNamed && { id }), name: tool, args: input } };
}

function imagePart(base64: string): WireObject {
  return { inlineData: { mimeType: "image/png", data: base64 } };
}

function responsePart({ callId, tool, text, isError, image }: HistoryResult, isNamed: boolean): WireObject {
  return {
    functionResponse: {
      ...(isNamed && { id: callId }),
      name: tool,
      response: isError ? { error: text } : { output: text },
      ...(image !== undefined && { parts: [imagePart(image)] }),
    },
  };
}
