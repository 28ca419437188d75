import { setTimeout as sleep } from "node:timers/promises";
import { inTime } from "../../agents/in-time.ts";
import { randomText } from "../../agents/opencode/random-text.ts";
import { readSession } from "../../agents/opencode/read-facts.ts";
import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import type { ForkError } from "../../fork/life/record.ts";
import { type SessionMessage, withoutShown } from "../../formats/wires/opencode/decode-messages.ts";
import {
  HOST_CALL_MS,
  type HostPrompt,
  type HostSessions,
  type HostValue,
  type SessionFacts,
} from "../../plugin/host/agent-host.ts";
import { asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import { lastUserTurn, OWN_METADATA } from "./messages.ts";

/** The sessions of OpenCode over its routes. */
export function createSessions(
  calls: HostCalls,
  now: () => number = Date.now,
): Omit<HostSessions, "createChild" | "limitChild" | "isForbidden" | "hasTool"> {
  /** Calls a route and reads its answer. */
  async function ask<Value>(path: string, read: (body: unknown) => Value): Promise<HostValue<Value>> {
    const answer = await calls.call("GET", path);
    return answer.status === "failed" ? failureOf(answer) : { status: "ok", value: read(answer.body) };
  }
  const readMessages = (sessionId: string): Promise<HostValue<readonly SessionMessage[]>> =>
    ask(`${sessionPath(sessionId)}/message`, (body) => (Array.isArray(body) ? body : []));

  return {
    get: (sessionId) =>
      ask(
        sessionPath(sessionId),
        (body) => readSession({ id: sessionId, ...asObject(body) }) as SessionFacts,
      ),
    async list({ sinceMs }) {
      const answer = await calls.call("GET", `/session?start=${Math.max(0, Math.floor(sinceMs))}`);
      if (answer.status === "failed") return failureOf(answer);
      return Array.isArray(answer.body) ? { status: "ok", value: sessionsIn(answer.body) } : NO_LIST;
    },
    children: (sessionId) => ask(`${sessionPath(sessionId)}/children`, sessionsIn),
    async read(sessionId) {
      const revert = await ask(sessionPath(sessionId), (body) => asObject(body).revert);
      if (revert.status === "failed") return revert;
      const stored = await readMessages(sessionId);
      if (stored.status === "failed") return stored;
      const { messages, undone } = partAtRevert(stored.value, revert.value);
      const failed = messages.findLast(({ info }) => info.role === "assistant")?.info.error;
      const lastError = readError(failed);
      const value = {
        messages: withoutShown(messages),
        ...(undone && { undone: withoutShown(undone) }),
        ...(lastError && { lastError }),
      };
      return { status: "ok", value };
    },
    async status(sessionId) {
      const answer = await calls.call("GET", "/session/status");
      if (answer.status === "failed") return undefined;
      // Only those are listed that are not idle.
      const { type } = asObject(asObject(answer.body)[sessionId]);
      return type === "busy" || type === "retry" ? type : "idle";
    },
    setNote: async (sessionId, note) =>
      done(await calls.call("PATCH", sessionPath(sessionId), { metadata: { carryover: note } })),
    newMessageId: () => createMessageId(now()),
    async prompt(prompt) {
      if (prompt.turn !== "last-user-turn") return sendPrompt(calls, prompt, prompt.turn);
      const stored = await readMessages(prompt.sessionId);
      if (stored.status === "failed" && stored.code === "missing") return stored;
      return sendPrompt(calls, prompt, stored.status === "ok" ? lastUserTurn(stored.value) : {});
    },
    stop: async (sessionId) => done(await calls.call("POST", `${sessionPath(sessionId)}/abort`, {})),
    rejectAsk: async ({ askId, reason }) =>
      done(
        await calls.call("POST", `/permission/${encodeURIComponent(askId)}/reply`, {
          reply: "reject",
          message: reason,
        }),
      ),
  };
}

const NO_LIST = { status: "failed", code: "no-answer", reason: "the host named no sessions" } as const;

function done(answer: HostAnswer): HostValue<void> {
  return answer.status === "failed" ? failureOf(answer) : { status: "ok", value: undefined };
}

function sessionsIn(body: unknown): readonly SessionFacts[] {
  return Array.isArray(body) ? body.flatMap((info) => readSession(asObject(info)) ?? []) : [];
}

/** What stands of a session and what its revert has taken back, as OpenCode itself will delete it. */
function partAtRevert(stored: readonly SessionMessage[], revert: unknown): PartedMessages {
  const { messageID, partID } = asObject(revert);
  if (messageID === undefined) return { messages: stored };
  const index = stored.findIndex(({ info }) => info.id === messageID);
  const first = stored[index];
  if (first === undefined) return { messages: stored, undone: [] };
  const before = stored.slice(0, index);
  if (partID === undefined) return { messages: before, undone: stored.slice(index) };
  const partIndex = first.parts.findIndex(({ id }) => id === partID);
  const length = partIndex === -1 ? first.parts.length : partIndex;
  return {
    messages: [...before, { ...first, parts: first.parts.slice(0, length) }],
    undone: [{ ...first, parts: first.parts.slice(length) }, ...stored.slice(index + 1)],
  };
}

interface PartedMessages {
  readonly messages: readonly SessionMessage[];
  readonly undone?: readonly SessionMessage[];
}

/** Sends a message with the settings given, so that no model switches, and waits until it is stored: OpenCode takes a prompt before it has written it down. */
async function sendPrompt(
  calls: HostCalls,
  { sessionId, messageId, text, from, note, shownLine, reply }: HostPrompt,
  turn: Exclude<HostPrompt["turn"], string>,
): Promise<HostValue<void>> {
  const path = sessionPath(sessionId);
  const { agent, model, system } = turn;
  const metadata = metadataOf(note);
  const body = {
    messageID: messageId,
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model: { providerID: model.providerId, modelID: model.modelId } }),
    ...(model?.variant !== undefined && { variant: model.variant }),
    ...(system !== undefined && { system }),
    parts: [
      ...(shownLine === undefined ? [] : [{ type: "text", text: shownLine, ignored: true }]),
      { type: "text", text, ...(from === "program" && { synthetic: true }), metadata },
    ],
  };
  // Last of all, since OpenCode deletes what was taken back before it stores a message.
  const session = await calls.call("GET", path);
  if (session.status === "failed") return failureOf(session);
  if (asObject(session.body).revert !== undefined) return REVERTED;
  if (reply === "none") return done(await calls.call("POST", `${path}/message`, { ...body, noReply: true }));
  const answer = await calls.call("POST", `${path}/prompt_async`, body);
  if (answer.status === "failed") return failureOf(answer);
  for (let look = 0; look < STORED_LOOKS; look++) {
    const stored = await calls.call("GET", `${path}/message/${messageId}`);
    if (stored.status === "ok") return { status: "ok", value: undefined };
    await sleep(STORED_LOOK_MS);
  }
  return { status: "failed", code: "no-answer", reason: "the host took the prompt and did not store it" };
}

const REVERTED = {
  status: "failed",
  code: "reverted",
  reason: "the user has taken messages back and may restore them",
} as const;

const STORED_LOOKS = 60;
const STORED_LOOK_MS = 250;

function metadataOf({ promptKey, inheritedBy }: HostPrompt["note"]): UnknownObject {
  if (promptKey !== undefined) return { carryover: { prompt: promptKey } };
  return inheritedBy === undefined ? OWN_METADATA : { carryover: { inherited: inheritedBy } };
}

/** A new message id in OpenCode's own form, which sorts by time. */
export function createMessageId(nowMs: number): string {
  counter = nowMs === lastMs ? counter + 1 : 1;
  lastMs = nowMs;
  const time = (BigInt(nowMs) * 0x1000n + BigInt(counter)) & 0xffff_ffff_ffffn;
  return `msg_${time.toString(16).padStart(12, "0")}${randomText(14)}`;
}

let lastMs = 0;

let counter = 0;

/** OpenCode's HTTP routes over the transport that it gave to the plugin; nothing of it leaves the process. Never throws. */
export interface HostCalls {
  /** The answer's body, or why there is none. A rejected request and a lost connection are both failures. */
  call(method: HttpMethod, path: string, body?: unknown): Promise<HostAnswer>;
}

type HttpMethod = "GET" | "POST" | "PATCH" | "DELETE";

export type HostAnswer =
  | { readonly status: "ok"; readonly body: unknown }
  | { readonly status: "failed"; readonly code: number | "no-answer"; readonly reason: string };

/**
 * Makes the calls from the client of the plugin. Its typed methods lack routes that the server has (metadata, permissions),
 * and the address that it names does not listen in `opencode run`: only its own fetch reaches the host there.
 */
export function createHostCalls({ client, directory }: HostCallsOptions): HostCalls | undefined {
  const config = transportOf(client);
  if (config === undefined) return undefined;
  return {
    async call(method, path, body) {
      const ask = async (): Promise<HostAnswer> => {
        const url = new URL(path, config.baseUrl);
        url.searchParams.set("directory", directory);
        const request = new Request(url, {
          method,
          headers: { ...config.headers, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const response = await config.fetch(request);
        const text = await response.text();
        if (!response.ok) return { status: "failed", code: response.status, reason: text.slice(0, 500) };
        return { status: "ok", body: text === "" ? undefined : JSON.parse(text) };
      };
      try {
        // The host's own fetch cannot be aborted, so it is left alone.
        return await inTime(ask(), HOST_CALL_MS);
      } catch (cause) {
        return { status: "failed", code: "no-answer", reason: String(cause).slice(0, 500) };
      }
    },
  };
}

/** A failed answer as the plugin takes it. */
export function failureOf({ code, reason }: Extract<HostAnswer, { readonly status: "failed" }>): HostFailure {
  const kind = code === 404 ? "missing" : code === "no-answer" ? code : "refused";
  return { status: "failed", code: kind, reason };
}

type HostFailure = Extract<HostValue<never>, { readonly status: "failed" }>;

/** The route of one session. */
export function sessionPath(sessionId: string): string {
  return `/session/${encodeURIComponent(sessionId)}`;
}

interface HostCallsOptions {
  readonly client: unknown;
  readonly directory: string;
}

interface Transport {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  fetch(request: Request): Promise<Response>;
}

function transportOf(client: unknown): Transport | undefined {
  const inner = (client as { readonly _client?: { getConfig?(): unknown } } | undefined)?._client;
  const config = inner?.getConfig?.() as
    | { readonly baseUrl?: unknown; readonly fetch?: unknown; readonly headers?: unknown }
    | undefined;
  if (typeof config?.baseUrl !== "string" || typeof config.fetch !== "function") return undefined;
  const headers: Record<string, string> = {};
  new Headers((config.headers ?? {}) as Record<string, string>).forEach((value, name) => {
    headers[name] = value;
  });
  const send = config.fetch as (request: Request) => Promise<Response>;
  return { baseUrl: config.baseUrl, headers, fetch: (request) => send(request) };
}

/** An error of OpenCode by the class of the provider's error. */
export function readError(error: unknown): ForkError | undefined {
  if (error === undefined || error === null) return undefined;
  const { name, data } = asObject(error);
  if (name === "MessageAbortedError") return { kind: "aborted", message: "it was stopped" };
  const { message, responseHeaders } = asObject(data);
  const retryAfterS = Number(asObject(responseHeaders)["retry-after"]);
  return {
    kind: classifyProviderError(data ?? error).class,
    message: (asString(message) ?? asString(name) ?? "unknown error").slice(0, MAX_MESSAGE_CHARS),
    ...(retryAfterS > 0 ? { retryAfterMs: retryAfterS * 1_000 } : {}),
  };
}

const MAX_MESSAGE_CHARS = 1_000;
