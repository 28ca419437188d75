import { readUsage } from "../compaction/trigger/read-usage.ts";
import { asObject, asString } from "../text/unknown-value.ts";
import type { Message } from "../transcript/message.ts";

/** What the messages of the AI SDK do not say about an answer: its usage, and why it ended. */
export type AnswerFacts = Pick<Message, "usage" | "finish">;

/** Usage and finish of an answer, as a message of a transcript has them: of a result, a step, or the last part of a stream. */
export function answerFacts(result: unknown): AnswerFacts {
  const { usage, finishReason } = asObject(result);
  const counted = readUsage(usage, { inputIncludesCached: "yes" });
  const { raw, unified } = asObject(finishReason);
  const finish = asString(finishReason) ?? asString(raw) ?? asString(unified);
  return {
    ...(counted !== undefined && { usage: counted }),
    ...(finish !== undefined && { finish }),
  };
}

/** True for an answer without text, reasoning or calls. */
export function isEmptyContent(content: unknown): boolean {
  return Array.isArray(content) && content.every((part) => isSilent(asObject(part)));
}

/** True for a part of an answer, whole or streamed, without content. */
export function isSilent({ type, text, delta, kind }: Readonly<Record<string, unknown>>): boolean {
  // An answer can be nothing but a compaction that the provider made.
  if (type === "custom" && asString(kind)?.endsWith(".compaction")) return false;
  if (type === "text" || type === "reasoning") return text === "";
  if (type === "text-delta" || type === "reasoning-delta") return delta === "";
  return SILENT.has(type);
}

const SILENT: ReadonlySet<unknown> = new Set([
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
