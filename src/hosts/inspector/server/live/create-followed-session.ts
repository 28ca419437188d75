import { opencode } from "../../../../formats/opencode/opencode.ts";
import type { SessionExport } from "../../../../formats/opencode/session-message.ts";
import { applyBatch } from "../../../../session/edit-batch.ts";
import { sameValue } from "../../../../session/same-value.ts";
import { batchOf } from "../../../../session/session-records.ts";
import type { ForkRecord } from "../../../../tasks/fork-record.ts";
import type { Transcript } from "../../../../transcript/message.ts";
import { type BatchInForce, batchesInForce } from "../../../opencode/window/batches-in-force.ts";
import type { PluginEntry } from "../../../opencode/window/read-plugin-journal.ts";
import type { LiveActivity, LiveEntry, LiveEvent, LiveFork, SessionHead } from "../../view/live.ts";
import { inspectedSession, type SecretsChoice } from "../inspected-session.ts";
import { createRedaction } from "../redact-session.ts";
import type { LiveSource, SessionSource } from "../session-source.ts";
import { liveEntry } from "./live-entry.ts";
import { liveFork } from "./live-fork.ts";
import { createShownMessages } from "./shown-messages.ts";

/** What is known of a session that runs, and everybody who wants to hear of it. */
export interface FollowedSession extends SessionSource {
  readonly live: LiveSource;
  /** The session as it is stored now. True when anything is new. */
  takeMessages(stored: SessionExport): boolean;
  /** Everything in the journal, and the forks. True when anything is new. */
  takeJournal(entries: readonly PluginEntry[], forks: readonly ForkRecord[]): boolean;
  takeActivity(activity: LiveActivity): void;
  /** What could not be read, for the page to say. */
  takeProblems(problems: readonly string[]): void;
}

/** Nothing is known yet but the id. */
export function createFollowedSession({ sessionId, secrets, windowTokens }: FollowOptions): FollowedSession {
  const listeners = new Set<(event: LiveEvent) => void>();
  const messages = createShownMessages(secrets);
  const redact = secrets === "redacted" ? createRedaction().text : (text: string) => text;
  let stored: SessionExport = { info: { id: sessionId }, messages: [] };
  let transcript: Transcript = [];
  let batches: readonly BatchInForce[] = [];
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
  /** What is sent: the stored messages with the plugin's edits in force. */
  const showMessages = (): boolean => {
    const before = messages.revision();
    if (!messages.take(batches.reduce(withBatch, transcript))) return false;
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
    takeJournal(all, records) {
      // Two writers can put an entry before one that was there: then everything is said again.
      const isLonger = sameValue(all[read.length - 1], read.at(-1));
      const fresh = liveEntries(isLonger ? all.slice(read.length) : all, redact);
      read = all;
      entries = isLonger ? [...entries, ...fresh] : fresh;
      for (const event of journalEvents(fresh, isLonger ? "more" : "start")) say(event);
      forks = records
        .filter(({ rootSessionId }) => rootSessionId === sessionId)
        .map((record) => liveFork(record, redact));
      batches = batchesInForce(all).filter((batch) => batch.sessionId === sessionId);
      const isShown = showMessages();
      return saySession() || isShown || fresh.length > 0;
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

function withBatch(transcript: Transcript, { batch }: BatchInForce): Transcript {
  return applyBatch(transcript, batchOf(batch)) ?? transcript;
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
