import {
  askedModel,
  type History,
  type HistoryResult,
  isOwnThought,
  type ModelStep,
  type Step,
} from "./history.ts";

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
  return history.isThinking && turns.every(({ thought }) => isOwnThought(history, thought));
}

function blocksOf(step: Step, history: History): readonly WireObject[] {
  switch (step.type) {
    case "user":
      return [...step.images.map(imageBlock), ...step.texts.map(textBlock)];
    case "results":
      return step.results.map(resultBlock);
    case "model":
      return modelBlocks(step, history);
    default:
      return step satisfies never;
  }
}

function modelBlocks({ thought, text, calls }: ModelStep, history: History): readonly WireObject[] {
  const blocks: WireObject[] = [];
  if (isOwnThought(history, thought)) {
    blocks.push(
      thought.isRedacted
        ? { type: "redacted_thinking", data: thought.seal }
        : { type: "thinking", thinking: thought.text, signature: thought.seal },
    );
  }
  if (text !== undefined) blocks.push(textBlock(text));
  for (const { id, tool, input } of calls) blocks.push({ type: "tool_use", id, name: tool, input });
  return blocks;
}

function textBlock(text: string): WireObject {
  return { type: "text", text };
}

function imageBlock(base64: string): WireObject {
  return { type: "image", source: { type: "base64", media_type: "image/png", data: base64 } };
}

function resultBlock({ callId, text, isError, image }: HistoryResult): WireObject {
  const texts = text.trim() === "" ? [] : [textBlock(text)];
  return {
    type: "tool_result",
    tool_use_id: callId,
    content: image === undefined ? text : [...texts, imageBlock(image)],
    ...(isError && { is_error: true }),
  };
}
