import { createHash } from "node:crypto";
import type { Lane } from "../model-server/lane.ts";
import type { StoredMessage } from "./opencode-client.ts";

/** What one real session stored, and what the model was really sent for it. */
export interface Recording {
  readonly about: string;
  readonly opencodeVersion: string;
  readonly messages: readonly StoredMessage[];
  readonly requests: readonly RecordedRequest[];
}

/** One request to the model; long texts in it are digested, the system prompt is replaced by its length. */
export interface RecordedRequest {
  readonly lane: Lane;
  readonly model: string;
  /** The assistant message that was stored for the answer to this request. */
  readonly answeredBy: string;
  readonly messages: readonly ChatMessage[];
}

/** A message of the chat completions wire. */
export interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
  readonly reasoning_content?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly ChatToolCall[];
}

export interface ChatToolCall {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** Replaces every long text by its beginning, its length and its hash: equal texts stay equal, files stay small. */
export function digestLongTexts<T>(value: T): T {
  if (typeof value === "string") return digest(value) as T;
  if (Array.isArray(value)) return value.map(digestLongTexts) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, digestLongTexts(each)])) as T;
}

const LONGEST_WHOLE_TEXT_CHARS = 300;
const SHOWN_CHARS = 60;

function digest(text: string): string {
  if (text.length <= LONGEST_WHOLE_TEXT_CHARS) return text;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return `${text.slice(0, SHOWN_CHARS)}… (${text.length} chars, sha256 ${hash})`;
}
