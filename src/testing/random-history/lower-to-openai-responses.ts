import {
  askedModel,
  type History,
  type HistoryResult,
  isOwnThought,
  type ModelStep,
  type Step,
} from "./history.ts";
import type { WireObject } from "./lower-to-anthropic.ts";

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
      return [{ type: "message", role: "user", content: [...texts, ...step.images.map(imageBlock)] }];
    }
    case "results":
      return step.results.map(outputItem);
    case "model":
      return modelItems(step, place);
    default:
      return step satisfies never;
  }
}

/** Ids name what the model made; they are sent only together with the reasoning that belongs to them. */
function modelItems(
  { thought, text, calls }: ModelStep,
  { history, index }: StepPlace,
): readonly WireObject[] {
  const isOwn = isOwnThought(history, thought);
  const hasIds = isOwn || !history.isThinking;
  const items: WireObject[] = [];
  if (isOwn) {
    items.push({
      type: "reasoning",
      id: `rs_${index}`,
      summary: [{ type: "summary_text", text: thought.text }],
      encrypted_content: thought.seal,
    });
  }
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
  return items;
}

function imageBlock(base64: string): WireObject {
  return { type: "input_image", image_url: `data:image/png;base64,${base64}` };
}

function outputItem({ callId, text, isError, image }: HistoryResult): WireObject {
  const words = isError ? `Error: ${text}` : text;
  const content = words.trim() === "" ? [] : [{ type: "input_text", text: words }];
  return {
    type: "function_call_output",
    call_id: callId,
    output: image === undefined ? words : [...content, imageBlock(image)],
  };
}
