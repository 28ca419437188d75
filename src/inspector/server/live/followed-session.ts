import { opencode } from "../../../formats/wires/opencode/opencode.ts";
import type { SessionExport } from "../../../formats/wires/opencode/session-message.ts";
import { batchesInForce, type PluginEntry } from "../../../plugin/stores/journal.ts";
import type { EditBatch } from "../../../session/history.ts";
import { type BatchRecord, batchOf } from "../../../session/log.ts";
import { createRedactor } from "../../../stages/redact.ts";
import { deepEqual, mapStrings } from "../../../text/json.ts";
import type { Message, Transcript } from "../../../transcript/message.ts";
import type {
  LiveActivity,
  LiveEntry,
  LiveEvent,
  LiveFork,
  MessagesEvent,
  SessionHead,
} from "../../view/protocol.ts";
import {
  countSecrets,
  createInspectedSession,
  type LiveSource,
  type SecretsChoice,
  type SessionSource,
} from "../session-source.ts";
import { type FollowedFork, liveEntry, liveFork } from "./live-entry.ts";

/** What is known of a session that runs, and everybody who wants to hear of it. */
export interface FollowedSession extends SessionSource {
  readonly live: LiveSource;
  /** The session as it is stored now. True when anything is new. */
  takeMessages(stored: SessionExport): boolean;
  /** Everything in the journal, and the forks. True when anything is new. */
  takeJournal(entries: readonly PluginEntry[], forks: readonly FollowedFork[]): boolean;
  takeActivity(activity: LiveActivity): void;
  /** What could not be read, for the page to say. */
  takeProblems(problems: readonly string[]): void;
}

/** Nothing is known yet but the id. */
export function createFollowedSession({ sessionId, secrets, windowTokens }: FollowOptions): FollowedSession {
  const listeners = new Set<(event: LiveEvent) => void>();
  const messages = createShownMessages(secrets);
  const { text } = createRedactor();
  const redact = (before: string): string => (secrets === "redacted" ? text(before) : before);
  const shownBatch = (record: BatchRecord): EditBatch => mapStrings(batchOf(record), redact) as EditBatch;
  let stored: SessionExport = { info: { id: sessionId }, messages: [] };
  let transcript: Transcript = [];
  let batches: readonly EditBatch[] = [];
  let read: readonly PluginEntry[] = [];
  let entries: readonly LiveEntry[] = [];
  let forks: readonly LiveFork[] = [];
  let activity: LiveActivity = "quiet";
  let problems: readonly string[] = [];
  let said = "";

  const head = (): SessionHead => {
    const { title, directory } = stored.info;
    const { transcript: _, ...rest } = createInspectedSession(
      {
        name: `OpenCode ${sessionId}`,
        format: "opencode",
        sessionId,
        transcript: [],
        problems,
        ...(typeof title === "string" && title !== "" && { title }),
        ...(typeof directory === "string" && directory !== "" && { workingDirectory: directory }),
        ...(windowTokens !== undefined && { windowTokens }),
      },
      secrets,
    );
    const model = messages.transcript().findLast((message) => message.model !== undefined)?.model;
    return {
      ...rest,
      ...(model && { model: `${model.provider}/${model.id}` }),
      redactedSecrets: rest.redactedSecrets + messages.redactedSecrets(),
    };
  };
  const sessionEvent = (): LiveEvent => ({ type: "session", session: head(), activity, forks });
  const say = (event: LiveEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const saySession = (): boolean => {
    const event = sessionEvent();
    const text = JSON.stringify(event);
    if (text === said) return false;
    said = text;
    say(event);
    return true;
  };
  const showMessages = (): boolean => {
    const before = messages.revision();
    if (!messages.take(transcript)) return false;
    for (const event of messages.changesSince(before)) say(event);
    saySession();
    return true;
  };

  return {
    head,
    transcript: messages.transcript,
    live: {
      revision: messages.revision,
      listen(listener, sinceRevision) {
        for (const event of messages.changesSince(sinceRevision)) listener(event);
        for (const event of journalEvents(entries, "start")) listener(event);
        listener({ type: "batches", batches });
        listener(sessionEvent());
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    takeMessages(now) {
      stored = now;
      transcript = opencode.decode(now);
      return showMessages() || saySession();
    },
    takeJournal(all, followed) {
      // Two writers can put an entry before one that was there: then everything is said again.
      const isLonger = deepEqual(all[read.length - 1], read.at(-1));
      const fresh = liveEntries(isLonger ? all.slice(read.length) : all, redact);
      read = all;
      entries = isLonger ? [...entries, ...fresh] : fresh;
      for (const event of journalEvents(fresh, isLonger ? "more" : "start")) say(event);
      forks = followed
        .filter(({ record }) => record.rootSessionId === sessionId)
        .map((fork) => liveFork(fork, redact));
      const inForce = batchesInForce(all).flatMap((each) =>
        each.sessionId === sessionId ? [shownBatch(each.batch)] : [],
      );
      const isChanged = !deepEqual(inForce, batches);
      batches = inForce;
      if (isChanged) say({ type: "batches", batches });
      return saySession() || isChanged || fresh.length > 0;
    },
    takeActivity(now) {
      activity = now;
      saySession();
    },
    takeProblems(now) {
      problems = now;
      saySession();
    },
  };
}

interface FollowOptions {
  readonly sessionId: string;
  readonly secrets: SecretsChoice;
  readonly windowTokens?: number;
}

function liveEntries(
  entries: readonly PluginEntry[],
  redact: (text: string) => string,
): readonly LiveEntry[] {
  return entries.flatMap((entry) => liveEntry(entry, redact) ?? []);
}

/** In pieces, so that no line of the stream is endless. */
function journalEvents(entries: readonly LiveEntry[], from: "start" | "more"): readonly LiveEvent[] {
  const events: LiveEvent[] =
    from === "start" && entries.length === 0 ? [{ type: "journal", entries, start: true }] : [];
  for (let at = 0; at < entries.length; at += MAX_ENTRIES) {
    const piece = entries.slice(at, at + MAX_ENTRIES);
    events.push({ type: "journal", entries: piece, ...(from === "start" && at === 0 && { start: true }) });
  }
  return events;
}

const MAX_ENTRIES = 500;

/** The messages as the page has them, and since when each is as it is. */
interface ShownMessages {
  /** Takes what the session is now. True when anything is different. */
  take(transcript: Transcript): boolean;
  transcript(): Transcript;
  revision(): number;
  redactedSecrets(): number;
  /** What somebody who knows that revision has missed, in pieces. */
  changesSince(revision: number): readonly MessagesEvent[];
}

/** No messages yet. Each is redacted once, when it has changed. */
function createShownMessages(secrets: SecretsChoice): ShownMessages {
  let shown: readonly Shown[] = [];
  let revision = 0;
  return {
    take(transcript) {
      const next = revision + 1;
      const isSame = (message: Message, index: number): boolean => deepEqual(shown[index]?.source, message);
      const taken = transcript.map((message, index) =>
        isSame(message, index) ? (shown[index] as Shown) : show(message, next, secrets),
      );
      const isChanged = taken.length !== shown.length || taken.some((item) => item.revision === next);
      shown = taken;
      if (isChanged) revision = next;
      return isChanged;
    },
    transcript: () => shown.map(({ message }) => message),
    revision: () => revision,
    redactedSecrets: () => shown.reduce((total, { redactedSecrets }) => total + redactedSecrets, 0),
    changesSince(known) {
      const changes = shown.flatMap((item, index) =>
        item.revision > known ? [{ index, message: item.message }] : [],
      );
      const events: MessagesEvent[] = [];
      for (let start = 0; start === 0 || start < changes.length; start += MAX_CHANGES) {
        const piece = changes.slice(start, start + MAX_CHANGES);
        // Whoever loses the connection in between gets the rest again.
        const isLast = start + MAX_CHANGES >= changes.length;
        const upTo = isLast ? revision : Math.min(known, revision);
        events.push({ type: "messages", revision: upTo, count: shown.length, changes: piece });
      }
      return events;
    },
  };
}

/** Few in one event, so that no line of the stream is endless. */
const MAX_CHANGES = 50;

interface Shown {
  /** As it was read, to see a change. */
  readonly source: Message;
  readonly message: Message;
  readonly revision: number;
  readonly redactedSecrets: number;
}

function show(source: Message, revision: number, secrets: SecretsChoice): Shown {
  if (secrets === "shown") return { source, message: source, revision, redactedSecrets: 0 };
  const redactor = createRedactor();
  const message = redactor.message(source);
  return { source, message, revision, redactedSecrets: countSecrets(redactor.found) };
}
