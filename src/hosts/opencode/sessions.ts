import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionMessage } from "../../formats/wires/opencode/session-message.ts";
import type {
  HostPrompt,
  HostSessions,
  HostValue,
  NewChild,
  SessionFacts,
} from "../../plugin/host/agent-host.ts";
import { asObject, asString, type UnknownObject } from "../../text/json.ts";
import { failureOf, type HostAnswer, type HostCalls, sessionPath } from "./calls.ts";
import { lastUserTurn, OWN_METADATA } from "./messages.ts";
import { readError, readSession } from "./signals.ts";

/** The sessions of OpenCode over its routes. */
export function createSessions(calls: HostCalls, now: () => number = Date.now): HostSessions {
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
      const messages = await readMessages(sessionId);
      if (messages.status === "failed") return messages;
      const failed = messages.value.findLast(({ info }) => info.role === "assistant")?.info.error;
      const lastError = readError(failed);
      return { status: "ok", value: { messages: messages.value, ...(lastError && { lastError }) } };
    },
    async status(sessionId) {
      const answer = await calls.call("GET", "/session/status");
      if (answer.status === "failed") return undefined;
      // Only those are listed that are not idle.
      const { type } = asObject(asObject(answer.body)[sessionId]);
      return type === "busy" || type === "retry" ? type : "idle";
    },
    createChild: (child) => createChild(calls, child),
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

/** Makes a session under the root, since OpenCode hides permission asks of anything deeper, with the rules of the parent. */
async function createChild(
  calls: HostCalls,
  { rootSessionId, parentSessionId, title, note }: NewChild,
): Promise<HostValue<string>> {
  const parent = await calls.call("GET", sessionPath(parentSessionId));
  if (parent.status === "failed") return failureOf(parent);
  const { permission: rules } = asObject(parent.body);
  const answer = await calls.call("POST", "/session", {
    parentID: rootSessionId,
    title,
    permission: [...(Array.isArray(rules) ? rules : []), ...CHILD_RULES],
    metadata: { carryover: note },
  });
  if (answer.status === "failed") return failureOf(answer);
  const id = asString(asObject(answer.body).id);
  return id === undefined
    ? { status: "failed", code: "no-answer", reason: "the host named no session" }
    : { status: "ok", value: id };
}

/** Refused at execution: the pattern `*` would hide the tool, which changes the request and loses the provider's cached prefix. */
const CHILD_RULES = ["question", "task"].map((permission) => ({ permission, pattern: "**", action: "deny" }));

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

function randomText(length: number): string {
  return Array.from(randomBytes(length), (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
