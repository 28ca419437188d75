import type { Message, Transcript } from "../transcript/message.ts";
import type { CallId, ToolPart } from "../transcript/part.ts";
import { isCleared, type ToolResult, toolResults } from "../transcript/tool-results.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { createPinGuard, type Pin } from "./pins.ts";
import { hasOnlyStub } from "./tool-summary-archive.ts";

/** A result that counts against the cutoff. */
export interface CountedResult extends ToolResult {
  /** True once the model has written something behind it; before that it must not be archived. */
  readonly isSeen: boolean;
}

/**
 * The results of which the model sees more than a line, oldest first. Not among them: those that stay whatever
 * happens, cleared, superseded or archived ones, and those that are dropped before sending because they have no call.
 */
export function countedResults(window: Transcript, exempt: ExemptResults): readonly CountedResult[] {
  const isCounted = createResultTest(exempt);
  const unseen = new Set(window.slice(Math.max(0, window.findLastIndex(isAnswer))));
  const calls = new Set<CallId>();
  const counted: CountedResult[] = [];
  for (const result of toolResults(window)) {
    const { part, message } = result;
    if (part.callMissing || calls.has(part.callId)) continue;
    calls.add(part.callId);
    if (isCounted(message, result.partIndex, part)) counted.push({ ...result, isSeen: !unseen.has(message) });
  }
  return counted;
}

/** Results that are neither archived nor counted. */
export interface ExemptResults {
  /** A tool is protected when its name contains one of these, whatever the case. */
  readonly protectedTools: readonly string[];
  readonly pins: readonly Pin[];
}

/** Says whether a result that the model can see counts: there is more than a line of it, and it may be archived. */
export function createResultTest({
  protectedTools,
  pins,
}: ExemptResults): (message: Message, partIndex: number, part: ToolPart) => boolean {
  const names = protectedTools.map((name) => name.toLowerCase());
  const isPinned = createPinGuard(pins);
  return (message, partIndex, part) => {
    if (isCleared(part) || hasOnlyStub(part)) return false;
    const tool = part.tool.toLowerCase();
    return !names.some((name) => tool.includes(name)) && !isPinned(message, partIndex);
  };
}

/** True for a message that the model can only have written after reading what stands before it. */
export function isAnswer(message: Message): boolean {
  return (
    message.role === "assistant" &&
    !message.summary &&
    isVisibleToModel(message) &&
    message.parts.some(
      (part) =>
        part.type === "tool" ||
        ((part.type === "text" || part.type === "reasoning") && part.text.trim() !== ""),
    )
  );
}
