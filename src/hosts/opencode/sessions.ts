import { setTimeout as sleep } from "node:timers/promises";
import { readSession } from "../../agents/opencode/read-facts.ts";
import { type SessionMessage, withoutShown } from "../../formats/wires/opencode/decode-messages.ts";
import type { HostPrompt, HostSessions, HostValue, SessionFacts } from "../../plugin/host/agent-host.ts";
import { asObject, type UnknownObject } from "../../text/unknown-value.ts";
import { failureOf, type HostAnswer, type HostCalls, sessionPath } from "./host-calls.ts";
import { createMessageId } from "./message-id.ts";
import { lastUserTurn, OWN_METADATA } from "./messages.ts";
import { readError } from "./read-error.ts";

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
