import type { ChildNotes, NotedChild } from "../../agents/child-notes.ts";
import { inTime } from "../../agents/in-time.ts";
import { readSession as readOpencodeSession } from "../../agents/opencode/read-facts.ts";
import {
  HOST_CALL_MS,
  type HostPrompt,
  type HostSessions,
  type HostValue,
  type SessionFacts,
  type SessionStatus,
  type StoredSession,
} from "../../plugin/host/agent-host.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { asObject, asString, omitUndefined, type UnknownObject } from "../../text/unknown-value.ts";
import type { SetupContext } from "./abilities.ts";
import { inheritedMessageId, ownMessageId } from "./own-ids.ts";
import type { SessionReader } from "./session-reader.ts";

/** The sessions of OpenCode 2 over the calls of its context. What the host does not keep of a child, `notes` does. */
export function createSessions(setup: SessionsSetup): Sessions {
  const { context, notes, reader, now = Date.now } = setup;
  const { session: calls } = context;
  const running = createLruMap<string, SessionStatus>(MAX_SESSIONS);
  const asks = createLruMap<string, string>(MAX_SESSIONS);
  const refusing = new Set<string>();
  const offered = createLruMap<string, ReadonlySet<string>>(MAX_SESSIONS);

  async function info(sessionId: string): Promise<HostValue<UnknownObject>> {
    return ask(async () => asObject(await calls.get({ sessionID: sessionId })));
  }

  async function factsOf(found: UnknownObject): Promise<SessionFacts> {
    return readSession(found, await notes.of(asString(found.id) ?? ""));
  }

  async function get(sessionId: string): Promise<HostValue<SessionFacts>> {
    const found = await info(sessionId);
    return found.status === "failed" ? found : { status: "ok", value: await factsOf(found.value) };
  }

  /** Those of the noted children that the host still has. */
  async function noted(
    isWanted: (child: NotedChild) => boolean,
  ): Promise<HostValue<readonly SessionFacts[]>> {
    const listed = await notes.list();
    const found: SessionFacts[] = [];
    for (const child of listed.filter(isWanted)) {
      const facts = await get(child.sessionId);
      if (facts.status === "ok") found.push(facts.value);
      else if (facts.code !== "missing") return facts;
    }
    return { status: "ok", value: found };
  }

  async function prompt(message: HostPrompt): Promise<HostValue<void>> {
    const { sessionId: sessionID, text, from, note, shownLine, reply } = message;
    const session = await info(sessionID);
    if (session.status === "failed") return session;
    if (session.value.revert !== undefined) return REVERTED;
    const { inheritedBy, promptKey } = note;
    const id = inheritedBy === undefined ? message.messageId : inheritedMessageId(inheritedBy, 0);
    const item = { sessionID, id, text, delivery: "steer", resume: reply === "wanted" };
    const metadata = { carryover: promptKey === undefined ? true : { prompt: promptKey } };
    const sent = await ask(() =>
      from === "user"
        ? calls.prompt({ ...item, metadata })
        : calls.synthetic({ ...item, metadata, ...(shownLine !== undefined && { description: shownLine }) }),
    );
    // The same id with another text: what was sent first is there, and that is what counts.
    if (sent.status === "failed" && !sent.reason.includes("ConflictError")) return sent;
    return DONE;
  }

  return {
    get,
    list: ({ sinceMs }) => noted(({ atMs }) => atMs >= sinceMs - NOTE_AGE_MS),
    children: (sessionId) => noted(({ rootSessionId }) => rootSessionId === sessionId),
    async read(sessionId) {
      const session = await info(sessionId);
      if (session.status === "failed") return session;
      const messages = await ask(() => reader.read(sessionId));
      if (messages.status === "failed") return messages;
      return {
        status: "ok",
        value: partAtRevert(messages.value, asString(asObject(session.value.revert).messageID)),
      };
    },
    async status(sessionId) {
      const known = running.get(sessionId);
      if (known !== undefined) return known;
      // Nothing was heard of it since the start: it rests, unless it was started before we listened.
      const rests = await inTime(calls.wait({ sessionID: sessionId }), LOOK_MS).then(
        () => true,
        () => false,
      );
      return rests ? "idle" : undefined;
    },
    hasTool: async (sessionId, tool) => offered.get(sessionId)?.has(tool) ?? true,
    setNote: async (sessionId, note) => notes.set(sessionId, { note }),
    newMessageId: (from) => ownMessageId(from ?? { atMs: now() }),
    prompt,
    stop: (sessionId) => ask(async () => void (await calls.interrupt({ sessionID: sessionId }))),
    async rejectAsk({ askId, reason }) {
      const sessionId = asks.get(askId);
      const { permission } = context;
      if (permission?.reply !== undefined)
        return ask(
          async () =>
            void (await permission.reply?.({
              requestID: askId,
              reply: "reject",
              message: reason,
              sessionID: sessionId,
            })),
        );
      if (sessionId === undefined) return { status: "failed", code: "missing", reason: "no such question" };
      // Nobody can answer here, so the call that asks is ended, and with it whatever else its answer asks; the child goes on
      // with the reason, which it reads once.
      for (const each of asks.keys()) if (asks.get(each) === sessionId) asks.delete(each);
      refusing.add(sessionId);
      const stopped = await ask(async () => void (await calls.interrupt({ sessionID: sessionId })));
      if (stopped.status === "failed") return stopped;
      const messageId = ownMessageId({ atMs: now() });
      return prompt({
        sessionId,
        messageId,
        text: reason,
        from: "program",
        note: {},
        turn: "last-user-turn",
        reply: "wanted",
      });
    },
    async directoryOf(sessionId) {
      const found = await info(sessionId);
      return found.status === "ok" ? asString(asObject(found.value.location).directory) : undefined;
    },
    setStatus: (sessionId, status) => running.set(sessionId, status),
    setTools: (sessionId, tools) => offered.set(sessionId, new Set(tools)),
    asked: (askId, sessionId) => asks.set(askId, sessionId),
    wasRefused: (sessionId) => refusing.delete(sessionId),
    forget: (sessionId) => {
      running.delete(sessionId);
      offered.delete(sessionId);
      return notes.remove(sessionId);
    },
  };
}

interface SessionsSetup {
  readonly context: SetupContext;
  readonly notes: ChildNotes;
  readonly reader: SessionReader;
  readonly now?: () => number;
}

/** The sessions, and what the events of the host say about them. */
export interface Sessions extends Omit<HostSessions, "createChild" | "limitChild" | "isForbidden"> {
  /** The folder of a session; undefined where the host has none such. */
  directoryOf(sessionId: string): Promise<string | undefined>;
  setStatus(sessionId: string, status: SessionStatus): void;
  /** The tools of a request that is about to be sent. */
  setTools(sessionId: string, tools: readonly string[]): void;
  asked(askId: string, sessionId: string): void;
  /** Whether a session was interrupted only to answer what it asked; true once. */
  wasRefused(sessionId: string): boolean;
  forget(sessionId: string): Promise<void>;
}

const MAX_SESSIONS = 4_096;
/** How long a call that answers when a session rests may take to say so. */
const LOOK_MS = 500;
/** A child is noted when it is made, and may be used for long. */
const NOTE_AGE_MS = 14 * 24 * 3_600_000;
const DONE = { status: "ok", value: undefined } as const;
const REVERTED = {
  status: "failed",
  code: "reverted",
  reason: "the user has taken messages back and may restore them",
} as const;

/** What a call of the host brought, in time, or why it did not. */
export async function ask<Value>(call: () => Promise<Value>): Promise<HostValue<Awaited<Value>>> {
  try {
    return { status: "ok", value: await inTime(call(), HOST_CALL_MS) };
  } catch (cause) {
    const kind = asString(asObject(cause)._tag);
    const code = kind?.includes("NotFound") ? "missing" : kind === undefined ? "no-answer" : "refused";
    const said = cause instanceof Error ? cause.message : "";
    return { status: "failed", code, reason: `${kind ?? ""} ${said}`.trim().slice(0, 500) || String(cause) };
  }
}

/** A session as OpenCode 2 describes it. Where it does not name the parent or our note, what was kept of the child does. */
export function readSession(info: UnknownObject, child: KeptChild | undefined): SessionFacts {
  const facts = readOpencodeSession({ id: "", ...info }) as SessionFacts;
  return omitUndefined({
    ...facts,
    parentId: facts.parentId ?? child?.rootSessionId,
    note: facts.note ?? child?.note,
  });
}

interface KeptChild {
  readonly rootSessionId: string;
  readonly note: unknown;
}

/** What stands of a session, and what the user has taken back and may restore. */
function partAtRevert(messages: readonly UnknownObject[], revertedFrom: string | undefined): StoredSession {
  if (revertedFrom === undefined) return { messages, isPartial: true };
  const index = messages.findIndex(({ id }) => id === revertedFrom);
  return index === -1
    ? { messages, undone: [], isPartial: true }
    : { messages: messages.slice(0, index), undone: messages.slice(index), isPartial: true };
}
