import type { Message, Transcript } from "../transcript/message.ts";
import type { CallId } from "../transcript/part.ts";
import { type ToolResult, toolResults } from "../transcript/tool-results.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { hasOnlyStub } from "./tool-summary-archive.ts";

/** A result that counts against the cutoff. */
export interface CountedResult extends ToolResult {
  /** True once the model has written something behind it; before that it must not be archived. */
  readonly isSeen: boolean;
}

/**
 * The results of which the model sees more than a line, oldest first. Not among them: results of protected tools,
 * cleared, superseded or archived ones, and those that are dropped before sending because they have no call.
 */
export function countedResults(
  window: Transcript,
  protectedTools: readonly string[],
): readonly CountedResult[] {
  const names = protectedTools.map((name) => name.toLowerCase());
  const unseen = new Set(window.slice(Math.max(0, window.findLastIndex(isAnswer))));
  const calls = new Set<CallId>();
  const counted: CountedResult[] = [];
  for (const result of toolResults(window)) {
    const { part, message } = result;
    if (part.callMissing || calls.has(part.callId)) continue;
    calls.add(part.callId);
    const tool = part.tool.toLowerCase();
    if (result.cleared || hasOnlyStub(part) || names.some((name) => tool.includes(name))) continue;
    counted.push({ ...result, isSeen: !unseen.has(message) });
  }
  return counted;
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
