import { readUsage } from "../../compaction/read-usage.ts";
import { fields, stringField } from "../../formats/fields.ts";
import type { Message } from "../../transcript/message.ts";

/** What the messages of the AI SDK do not say about an answer: its usage, and why it ended. */
export type AnswerFacts = Pick<Message, "usage" | "finish">;

/** How a request ended, as far as that is known before anything is shown to the caller. */
export type AttemptEnd =
  | { readonly type: "answer" }
  | { readonly type: "nothing"; readonly facts: AnswerFacts }
  | { readonly type: "error"; readonly error: unknown };

/** The facts of a result, a step or the last part of a stream. */
export function answerFacts(result: unknown): AnswerFacts {
  const { usage, finishReason } = fields(result);
  const counted = readUsage(usage, { inputIncludesCached: "yes" });
  const { raw, unified } = fields(finishReason);
  const finish = stringField(finishReason) ?? stringField(raw) ?? stringField(unified);
  return {
    ...(counted !== undefined && { usage: counted }),
    ...(finish !== undefined && { finish }),
  };
}

/** True for an answer in which nothing was said or done. */
export function isEmptyContent(content: unknown): boolean {
  return Array.isArray(content) && content.every((part) => isSilent(fields(part)));
}

/** True for a part of an answer, whole or streamed, that brings nothing to the reader. */
export function isSilent({ type, text, delta }: Readonly<Record<string, unknown>>): boolean {
  if (type === "text" || type === "reasoning") return text === "";
  if (type === "text-delta" || type === "reasoning-delta") return delta === "";
  return SILENT.has(String(type));
}

const SILENT: ReadonlySet<string> = new Set([
  "stream-start",
  "response-metadata",
  "text-start",
  "text-end",
  "reasoning-start",
  "reasoning-end",
  "raw",
  "custom",
  "finish",
]);
