import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelRef } from "../../src/transcript/message.ts";
import type { StoredMessage, StoredPart } from "../rig/opencode/opencode-client.ts";
import {
  type ChatMessage,
  digestLongTexts,
  type RecordedRequest,
  type Recording,
} from "../rig/opencode/recording.ts";

/** One recorded session: what was stored, and each request that asked the model to go on with the conversation. */
export interface WireSession {
  readonly name: string;
  readonly requests: readonly WireRequest[];
}

export interface WireRequest {
  /** What was stored when the request was made, as it was then. */
  readonly stored: readonly StoredMessage[];
  readonly model: ModelRef;
  /** What was sent, system prompt aside. */
  readonly sent: readonly ChatMessage[];
}

/** Our own recordings. */
export function recordedSessions(folder: string): readonly WireSession[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .map((file) => ({
      name: file.replace(".json", ""),
      recording: readJson<Partial<Recording>>(join(folder, file)),
    }))
    .flatMap(({ name, recording: { messages = [], requests = [] } }) =>
      requests.length === 0 ? [] : [{ name, requests: mainRequests(messages, requests) }],
    );
}

/** The founding samples: the same two lists in two files, without a note which request was answered by which message. */
export function sampleSessions(folder: string): readonly WireSession[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith("-requests.json"))
    .map((file) => {
      const messages = readJson<readonly StoredMessage[]>(
        join(folder, file.replace("-requests", "-messages")),
      );
      const answers = messages.filter(({ info }) => info.role === "assistant");
      const requests = readJson<readonly RecordedRequest[]>(join(folder, file));
      if (answers.length !== requests.length) throw new Error(`${file}: not one answer for each request`);
      const paired = requests.map((request, index) => ({
        ...request,
        answeredBy: answers[index]?.info.id ?? "",
      }));
      return { name: file.replace("-requests.json", ""), requests: mainRequests(messages, paired) };
    });
}

/** Whether the newest tail was kept for a summary that then failed. */
export function hasFailedTail({ stored }: WireRequest): boolean {
  const marker = stored.findLast(({ parts }) => parts.some((part) => part.tail_start_id !== undefined));
  const summary = stored.find(({ info }) => info.summary === true && info.parentID === marker?.info.id);
  return summary !== undefined && (summary.info.error !== undefined || summary.info.finish === undefined);
}

/** Makes what was sent and what we would send comparable: no bytes of pictures, no long texts. */
export function comparable(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return digestLongTexts(messages.map(withoutPictureBytes));
}

function mainRequests(
  messages: readonly StoredMessage[],
  requests: readonly RecordedRequest[],
): readonly WireRequest[] {
  return requests
    .filter(({ lane }) => lane === "main")
    .map((request) => {
      const index = messages.findIndex(({ info }) => info.id === request.answeredBy);
      const answer = messages[index];
      if (answer === undefined) throw new Error(`No message ${request.answeredBy}`);
      const { providerID, modelID } = answer.info;
      return {
        stored: messages.slice(0, index).map((message) => asOf(message, answer.info.time.created)),
        model: { provider: String(providerID), id: String(modelID) },
        sent: request.messages.filter(({ role }) => role !== "system"),
      };
    });
}

/** An output that was cleared after the request was still whole when it was made. */
function asOf(message: StoredMessage, atMs: number): StoredMessage {
  return { ...message, parts: message.parts.map((part) => clearedLater(part, atMs)) };
}

function clearedLater(part: StoredPart, atMs: number): StoredPart {
  const state = part.state as { readonly time?: { readonly compacted?: number } } | undefined;
  if (state?.time?.compacted === undefined || state.time.compacted <= atMs) return part;
  const { compacted: _, ...time } = state.time;
  return { ...part, state: { ...state, time } };
}

function withoutPictureBytes(message: ChatMessage): ChatMessage {
  if (!Array.isArray(message.content)) return message;
  return { ...message, content: message.content.map(withoutBytes) };
}

function withoutBytes(content: {
  readonly type: string;
  readonly image_url?: { readonly url: string };
}): unknown {
  if (content.image_url === undefined) return content;
  return { ...content, image_url: { url: content.image_url.url.split(";")[0] } };
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, "utf8")) as T;
}
