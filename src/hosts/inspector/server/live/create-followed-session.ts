import { opencode } from "../../../../formats/opencode/opencode.ts";
import type { SessionExport } from "../../../../formats/opencode/session-message.ts";
import type { EditBatch } from "../../../../session/edit-batch.ts";
import { sameValue } from "../../../../session/same-value.ts";
import { type BatchRecord, batchOf } from "../../../../session/session-records.ts";
import { mapStrings } from "../../../../text/map-strings.ts";
import type { Transcript } from "../../../../transcript/message.ts";
import { batchesInForce } from "../../../opencode/window/batches-in-force.ts";
import type { PluginEntry } from "../../../opencode/window/read-plugin-journal.ts";
import type { LiveActivity, LiveEntry, LiveEvent, LiveFork, SessionHead } from "../../view/live.ts";
import { inspectedSession, type SecretsChoice } from "../inspected-session.ts";
import { createRedaction } from "../redact-session.ts";
import type { LiveSource, SessionSource } from "../session-source.ts";
import { liveEntry } from "./live-entry.ts";
import { type FollowedFork, liveFork } from "./live-fork.ts";
import { createShownMessages } from "./shown-messages.ts";

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
  const redact = secrets === "redacted" ? createRedaction().text : (text: string) => text;
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
    const { transcript: _, ...rest } = inspectedSession(
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
      const isLonger = sameValue(all[read.length - 1], read.at(-1));
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
      const isChanged = !sameValue(inForce, batches);
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

export interface FollowOptions {
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
