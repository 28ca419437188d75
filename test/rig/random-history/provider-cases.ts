import { anthropic } from "../../../src/formats/wires/anthropic/anthropic.ts";
import { gemini } from "../../../src/formats/wires/gemini/gemini.ts";
import { openaiChat } from "../../../src/formats/wires/openai-chat/openai-chat.ts";
import { openaiResponses } from "../../../src/formats/wires/openai-responses/openai-responses.ts";
import type { Fault, Format } from "../../../src/transcript/format.ts";
import {
  type EditExpectation,
  findAnthropicEditFaults,
  findGeminiEditFaults,
  findOpenAIChatEditFaults,
  findOpenAIResponsesEditFaults,
} from "../edit-faults.ts";
import {
  askedModel,
  type History,
  type HistoryCall,
  type HistoryResult,
  interleave,
  type ModelStep,
  ownThoughts,
  type Step,
} from "./history.ts";

/** One provider's interface: how a history is written for it, how its wires are edited, and what an edit must keep. */
export interface ProviderCase {
  readonly api: string;
  readonly format: Format<unknown>;
  readonly lower: (history: History) => unknown;
  /** Set where a thought is bound to everything before it. */
  readonly bindsThoughts?: true;
  readonly findEditFaults: (before: unknown, after: unknown, expected?: EditExpectation) => readonly Fault[];
}

/** All interfaces that have rules. */
export const PROVIDER_CASES: readonly ProviderCase[] = [
  {
    api: "anthropic",
    format: anthropic as Format<unknown>,
    lower: lowerToAnthropic,
    bindsThoughts: true,
    findEditFaults: findAnthropicEditFaults,
  },
  {
    api: "openai-chat",
    format: openaiChat as Format<unknown>,
    lower: lowerToOpenAIChat,
    findEditFaults: findOpenAIChatEditFaults,
  },
  {
    api: "openai-responses",
    format: openaiResponses as Format<unknown>,
    lower: lowerToOpenAIResponses,
    findEditFaults: findOpenAIResponsesEditFaults,
  },
  {
    api: "gemini",
    format: gemini as Format<unknown>,
    lower: lowerToGemini,
    findEditFaults: findGeminiEditFaults,
  },
];

/** A block or a message of a lowered wire. */
export type WireObject = { readonly [field: string]: unknown };

/** The request that a careful client sends to Anthropic's Messages API for a history. */
export function lowerToAnthropic(history: History): WireObject {
  const messages: { readonly role: string; readonly content: WireObject[] }[] = [];
  for (const step of history.steps) {
    const role = step.type === "model" ? "assistant" : "user";
    const last = messages.at(-1);
    const content = blocksOf(step, history);
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content: [...content] });
  }
  const { system, cacheMarks } = history;
  const marked = messages.filter(({ role }) => role === "user");
  for (const { content } of cacheMarks === 0 ? [] : marked.slice(-cacheMarks)) markLast(content);
  return {
    model: askedModel(history),
    max_tokens: 4_096,
    ...(system !== undefined && { system: [{ type: "text", text: system, ...(cacheMarks > 0 && MARK) }] }),
    ...(mayThink(history) && { thinking: { type: "enabled", budget_tokens: 2_048 } }),
    messages,
  };
}

const MARK: WireObject = { cache_control: { type: "ephemeral" } };

function markLast(content: WireObject[]): void {
  const block = content.pop();
  if (block === undefined) return;
  const mayBeMarked = typeof block.text !== "string" || block.text.trim() !== "";
  content.push(mayBeMarked ? { ...block, ...MARK } : block);
}

/** Thinking is on only where every turn that may become the last can start with thinking of this model. */
function mayThink(history: History): boolean {
  const turns = history.steps.filter((step): step is ModelStep => step.type === "model");
  return (
    history.isThinking &&
    turns.every(
      (turn) => turn.thoughts.length > 0 && ownThoughts(history, turn).length === turn.thoughts.length,
    )
  );
}

function blocksOf(step: Step, history: History): readonly WireObject[] {
  switch (step.type) {
    case "user":
      return [...step.images.map(anthropicImage), ...step.texts.map(textBlock)];
    case "results":
      return step.results.map(resultBlock);
    case "model":
      return modelBlocks(step, history);
    default:
      return [];
  }
}

function modelBlocks(step: ModelStep, history: History): readonly WireObject[] {
  const thoughts = ownThoughts(history, step).map(({ text, signature, isRedacted }) =>
    isRedacted
      ? { type: "redacted_thinking", data: signature }
      : { type: "thinking", thinking: text, signature },
  );
  const calls = step.calls.map(({ id, tool, input }) => ({ type: "tool_use", id, name: tool, input }));
  return interleave<WireObject>(thoughts, [
    ...(step.text === undefined ? [] : [textBlock(step.text)]),
    ...calls,
  ]);
}

function textBlock(text: string): WireObject {
  return { type: "text", text };
}

function anthropicImage(base64: string): WireObject {
  return { type: "image", source: { type: "base64", media_type: "image/png", data: base64 } };
}

function resultBlock({ callId, text, isError, image }: HistoryResult): WireObject {
  const texts = text.trim() === "" ? [] : [textBlock(text)];
  return {
    type: "tool_result",
    tool_use_id: callId,
    content: image === undefined ? text : [...texts, anthropicImage(image)],
    ...(isError && { is_error: true }),
  };
}

/** The request that a client sends to a chat completions API for a history; thinking makes it one that tells its reasoning. */
export function lowerToOpenAIChat(history: History): WireObject {
  const { system, steps, isThinking } = history;
  const messages: WireObject[] = system === undefined ? [] : [{ role: "system", content: system }];
  for (const step of steps) messages.push(...messagesOf(step, isThinking));
  return { model: `${isThinking ? "deepseek" : "gpt"}-${askedModel(history)}`, messages };
}

function messagesOf(step: Step, isThinking: boolean): readonly WireObject[] {
  switch (step.type) {
    case "user": {
      const [only = "", ...others] = step.texts;
      if (others.length === 0 && step.images.length === 0) return [{ role: "user", content: only }];
      const images = step.images.map((base64) => ({
        type: "image_url",
        image_url: { url: `data:image/png;base64,${base64}` },
      }));
      return [{ role: "user", content: [...step.texts.map((text) => ({ type: "text", text })), ...images] }];
    }
    case "results":
      return step.results.map(({ callId, text, isError }) => ({
        role: "tool",
        tool_call_id: callId,
        content: isError ? `Error: ${text}` : text,
      }));
    case "model": {
      const calls = step.calls.map(({ id, tool, input }) => ({
        id,
        type: "function",
        function: { name: tool, arguments: JSON.stringify(input) },
      }));
      return [
        {
          role: "assistant",
          content: step.text ?? null,
          ...(isThinking && { reasoning_content: step.thoughts.map(({ text }) => text).join("\n") }),
          ...(calls.length > 0 && { tool_calls: calls }),
        },
      ];
    }
    default:
      return [];
  }
}

/** The request that a client sends to OpenAI's Responses API for a history, with nothing stored there. */
export function lowerToOpenAIResponses(history: History): WireObject {
  const input = history.steps.flatMap((step, index) => itemsOf(step, { history, index }));
  return {
    model: askedModel(history),
    store: false,
    include: ["reasoning.encrypted_content"],
    ...(history.system !== undefined && { instructions: history.system }),
    input,
  };
}

interface StepPlace {
  readonly history: History;
  readonly index: number;
}

function itemsOf(step: Step, place: StepPlace): readonly WireObject[] {
  switch (step.type) {
    case "user": {
      const texts = step.texts.map((text) => ({ type: "input_text", text }));
      return [{ type: "message", role: "user", content: [...texts, ...step.images.map(responsesImage)] }];
    }
    case "results":
      return step.results.map(outputItem);
    case "model":
      return modelItems(step, place);
    default:
      return [];
  }
}

/** Ids name what the model made; they are sent only together with the reasoning that belongs to them. */
function modelItems(step: ModelStep, { history, index }: StepPlace): readonly WireObject[] {
  const { text, calls } = step;
  const own = ownThoughts(history, step);
  const hasIds = own.length > 0 || !history.isThinking;
  const items: WireObject[] = [];
  if (text !== undefined) {
    items.push({
      type: "message",
      role: "assistant",
      ...(hasIds && { id: `msg_${index}`, status: "completed" }),
      content: [{ type: "output_text", text, annotations: [] }],
    });
  }
  for (const [number, { id, tool, input }] of calls.entries()) {
    items.push({
      type: "function_call",
      ...(hasIds && { id: `fc_${index}_${number}`, status: "completed" }),
      call_id: id,
      name: tool,
      arguments: JSON.stringify(input),
    });
  }
  const thoughts = own.map((thought, number) => ({
    type: "reasoning",
    id: number === 0 ? `rs_${index}` : `rs_${index}_${number}`,
    summary: thought.text === "" ? [] : [{ type: "summary_text", text: thought.text }],
    encrypted_content: thought.signature,
  }));
  // An item of reasoning is followed by what came of it.
  return interleave<WireObject>(thoughts.slice(0, items.length), items);
}

function responsesImage(base64: string): WireObject {
  return { type: "input_image", image_url: `data:image/png;base64,${base64}` };
}

function outputItem({ callId, text, isError, image }: HistoryResult): WireObject {
  const words = isError ? `Error: ${text}` : text;
  const content = words.trim() === "" ? [] : [{ type: "input_text", text: words }];
  return {
    type: "function_call_output",
    call_id: callId,
    output: image === undefined ? words : [...content, responsesImage(image)],
  };
}

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
      return [];
  }
}

/** Vertex gives calls no ids; the newer interface does. */
function hasIds({ cacheMarks }: History): boolean {
  return cacheMarks === 0;
}

function modelParts(step: ModelStep, history: History): readonly WireObject[] {
  const { text, calls } = step;
  const thoughts = ownThoughts(history, step);
  const [first] = thoughts;
  const own = first === undefined ? {} : { thoughtSignature: first.signature };
  const parts: WireObject[] = thoughts.flatMap((each) =>
    each.text === "" ? [] : [{ text: each.text, thought: true }],
  );
  if (text !== undefined) parts.push({ text, ...(calls.length === 0 && own) });
  for (const [index, call] of calls.entries()) {
    const signature = first !== undefined ? own : history.isThinking ? SKIPPED : {};
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
