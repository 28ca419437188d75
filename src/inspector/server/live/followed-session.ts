import { currentRun, type ForkRecord, isLive } from "../../../fork/life/record.ts";
import { type SessionExport, withoutShown } from "../../../formats/wires/opencode/decode-messages.ts";
import { opencode } from "../../../formats/wires/opencode/opencode.ts";
import type { ModelRow } from "../../../models/model-row.ts";
import { type BatchInForce, batchesInForce } from "../../../plugin/stores/edits-in-force.ts";
import type { PluginEntry } from "../../../plugin/stores/journal.ts";
import type { EditBatch } from "../../../session/history.ts";
import type { DeltaRecord } from "../../../session/record.ts";
import { readEdits, type StoredEdit } from "../../../session/stored-state.ts";
import { createRedactor } from "../../../stages/redact.ts";
import { deepEqual } from "../../../text/deep-equal.ts";
import { mapStrings } from "../../../text/map-strings.ts";
import type { UnknownObject } from "../../../text/unknown-value.ts";
import { estimateMessageTokens } from "../../../transcript/estimate-message.ts";
import type { Message, Transcript } from "../../../transcript/message.ts";
import { modelWindowOf } from "../../../transcript/model-window.ts";
import {
  countSecrets,
  createInspectedSession,
  givenWindow,
  modelName,
  type SecretsChoice,
} from "../../view/inspected-session.ts";
import type {
  LiveActivity,
  LiveBatch,
  LiveEntry,
  LiveEvent,
  LiveFork,
  MessagesEvent,
  OmittedItem,
  SessionHead,
} from "../../view/protocol.ts";
import type { LiveSource, SessionSource } from "../session-source.ts";

/** A running session as a source for the server: receives what was read, and sends differences to its listeners. */
export interface FollowedSession extends SessionSource {
  readonly live: LiveSource;
  /** The session as it is stored now. True when anything has changed. */
  updateMessages(stored: SessionExport | StoredFile): boolean;
  /** The whole journal and the forks as they are now. True when anything has changed. */
  updateJournal(entries: readonly PluginEntry[], forks: readonly FollowedFork[]): boolean;
  updateActivity(activity: LiveActivity): void;
  /** What could not be read, for the page to show. */
  updateProblems(problems: readonly string[]): void;
}

/** A session that its agent keeps in a file. */
export interface StoredFile {
  readonly info: Readonly<Record<string, unknown>>;
  readonly transcript: Transcript;
}

export function createFollowedSession(options: FollowOptions): FollowedSession {
  const { sessionId, secrets, windowTokens, models, format = "opencode", agent = "OpenCode" } = options;
  const listeners = new Set<(event: LiveEvent) => void>();
  const messages = createShownMessages(secrets);
  const redact = secrets === "redacted" ? createRedactor().text : (text: string): string => text;
  let stored: Pick<StoredFile, "info"> = { info: { id: sessionId } };
  let inForce: readonly BatchInForce["batch"][] = [];
  let edited: EditedEvent = { type: "batches", batches: [], left: [] };
  let journal: readonly PluginEntry[] = [];
  let entries: readonly LiveEntry[] = [];
  let forks: readonly LiveFork[] = [];
  let activity: LiveActivity = "quiet";
  let problems: readonly string[] = [];
  let lastHeadJson = "";

  const head = (): SessionHead => {
    const { title, directory } = stored.info;
    const { transcript: _, ...rest } = createInspectedSession(
      {
        name: `${agent} ${sessionId}`,
        format,
        sessionId,
        transcript: [],
        problems,
        ...(typeof title === "string" && title !== "" && { title }),
        ...(typeof directory === "string" && directory !== "" && { workingDirectory: directory }),
        window:
          windowTokens === undefined
            ? modelWindowOf(messages.transcript(), { rows: models })
            : givenWindow(windowTokens),
        ...(models !== undefined && { models }),
      },
      secrets,
    );
    const model = modelName(messages.transcript());
    const redactedSecrets = rest.redactedSecrets + messages.redactedSecrets();
    return { ...rest, ...(model !== undefined && { model }), redactedSecrets };
  };
  const headEvent = (): LiveEvent => ({ type: "session", session: head(), activity, forks });
  const send = (event: LiveEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const sendHeadIfChanged = (): boolean => {
    const event = headEvent();
    const json = JSON.stringify(event);
    if (json === lastHeadJson) return false;
    lastHeadJson = json;
    send(event);
    return true;
  };
  /** Edits refer to messages, so they are sent after them. */
  const sendEditsIfChanged = (): boolean => {
    const now = editedEvent(inForce, messages.source());
    const redacted = mapStrings(now, (text) => redact(text)) as EditedEvent;
    if (deepEqual(redacted, edited)) return false;
    edited = redacted;
    send(edited);
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
        listener(edited);
        listener(headEvent());
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    updateMessages(now) {
      stored = now;
      const before = messages.revision();
      const isChanged = messages.update(
        "transcript" in now ? now.transcript : opencode.decode(withoutShown(now.messages)),
      );
      if (isChanged) for (const event of messages.changesSince(before)) send(event);
      if (isChanged) sendEditsIfChanged();
      return sendHeadIfChanged() || isChanged;
    },
    updateJournal(now, followed) {
      // Two writers can insert an entry before a known one; the journal is then sent again from its start.
      const isContinued = deepEqual(now[journal.length - 1], journal.at(-1));
      const fresh = (isContinued ? now.slice(journal.length) : now).flatMap(
        (entry) => liveEntry(entry, redact) ?? [],
      );
      journal = now;
      entries = isContinued ? [...entries, ...fresh] : fresh;
      for (const event of journalEvents(fresh, isContinued ? "more" : "start")) send(event);
      forks = followed
        .filter(({ record }) => record.rootSessionId === sessionId)
        .map((fork) => liveFork(fork, redact));
      inForce = batchesInForce(now)
        .filter((each) => each.sessionId === sessionId)
        .map(({ batch }) => batch);
      const isChanged = sendEditsIfChanged();
      return sendHeadIfChanged() || isChanged || fresh.length > 0;
    },
    updateActivity(now) {
      activity = now;
      sendHeadIfChanged();
    },
    updateProblems(now) {
      problems = now;
      sendHeadIfChanged();
    },
  };
}

interface FollowOptions {
  readonly sessionId: string;
  readonly secrets: SecretsChoice;
  readonly windowTokens?: number;
  readonly models?: readonly ModelRow[];
  /** The agent and the format of its sessions. @default OpenCode */
  readonly agent?: string;
  readonly format?: SessionHead["format"];
}

/** Splits entries over several events, so that a line of the stream stays short. */
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

/** The messages as the page has them, each with the revision at which it last changed. */
interface ShownMessages {
  /** Replaces the messages. True when anything has changed. */
  update(transcript: Transcript): boolean;
  transcript(): Transcript;
  /** The messages without redaction. */
  source(): Transcript;
  revision(): number;
  redactedSecrets(): number;
  /** What changed after that revision, split over several events. */
  changesSince(revision: number): readonly MessagesEvent[];
}

/** Each message is redacted once, when it has changed. */
function createShownMessages(secrets: SecretsChoice): ShownMessages {
  let shown: readonly ShownMessage[] = [];
  let revision = 0;
  return {
    update(transcript) {
      const next = revision + 1;
      const updated = transcript.map((message, index) => {
        const known = shown[index];
        return known !== undefined && deepEqual(known.source, message)
          ? known
          : { source: message, revision: next, ...redactFor(message, secrets) };
      });
      const isChanged = updated.length !== shown.length || updated.some((item) => item.revision === next);
      shown = updated;
      if (isChanged) revision = next;
      return isChanged;
    },
    transcript: () => shown.map(({ message }) => message),
    source: () => shown.map(({ source }) => source),
    revision: () => revision,
    redactedSecrets: () => shown.reduce((total, { redactedSecrets }) => total + redactedSecrets, 0),
    changesSince(known) {
      const changes = shown.flatMap((item, index) =>
        item.revision > known ? [{ index, message: item.message }] : [],
      );
      const events: MessagesEvent[] = [];
      for (let start = 0; start === 0 || start < changes.length; start += MAX_CHANGES) {
        const piece = changes.slice(start, start + MAX_CHANGES);
        // Only the last piece names the new revision: a client that loses the connection before gets all of it again.
        const isLast = start + MAX_CHANGES >= changes.length;
        const upTo = isLast ? revision : Math.min(known, revision);
        events.push({ type: "messages", revision: upTo, count: shown.length, changes: piece });
      }
      return events;
    },
  };
}

const MAX_CHANGES = 50;

interface ShownMessage {
  /** The unredacted message, to detect changes. */
  readonly source: Message;
  readonly message: Message;
  readonly revision: number;
  readonly redactedSecrets: number;
}

function redactFor(
  source: Message,
  secrets: SecretsChoice,
): Pick<ShownMessage, "message" | "redactedSecrets"> {
  if (secrets === "shown") return { message: source, redactedSecrets: 0 };
  const redactor = createRedactor();
  return { message: redactor.message(source), redactedSecrets: countSecrets(redactor.found) };
}

/** An entry of the plugin's journal as the page shows it; undefined for entries that only the engine needs. */
function liveEntry(entry: PluginEntry, redact: (text: string) => string): LiveEntry | undefined {
  const { atMs, sessionId } = entry;
  const moment = { atMs, sessionId };
  const note = (text: string): LiveEntry => ({ ...moment, type: "note", text });
  switch (entry.type) {
    case "request":
      return { ...entry, ...(entry.error !== undefined && { error: redact(entry.error) }) };
    case "tool-output":
      return entry;
    case "fork": {
      const { type, fork, number, state, because } = entry;
      return { ...moment, type, fork, number, state, because: redact(because) };
    }
    case "engine":
      return engineEntry(entry.record, moment);
    case "pins-kept":
      return note(`${entry.batches.length} edits taken back: they hid a pin`);
    case "compaction":
      return note(
        `compaction without a request: ${entry.messages} messages summed up, ${entry.kept} kept, ${entry.tokensBefore} → ${entry.tokensAfter} tokens`,
      );
    case "pins":
      return note(`${entry.marked.length} pins go through a compaction`);
    case "thoughts":
      return entry.leftOut === 0
        ? undefined
        : note(`${entry.leftOut} thoughts are left out: what stood before them was edited`);
    case "compaction-undone":
      return note("a compaction was taken back");
    case "hook-failed":
      return note(redact(`${entry.feature} failed in ${entry.hook}: ${entry.reason}`));
    case "other":
      return note(redact(describe(entry)));
    default:
      entry satisfies never;
      return undefined;
  }
}

function engineEntry(
  record: Extract<PluginEntry, { readonly type: "engine" }>["record"],
  moment: Pick<LiveEntry, "atMs" | "sessionId">,
): LiveEntry | undefined {
  switch (record.type) {
    case "delta":
      return { ...moment, ...batchEntry(record) };
    case "undo":
    case "drop":
      return { ...moment, type: "batch-gone", batchId: record.batchId, why: record.type };
    case "step":
    case "pending-summary":
    case "rest":
    case "windows":
    case "thoughts":
    case "snapshot":
      return undefined;
    default:
      record satisfies never;
      return undefined;
  }
}

function batchEntry({ id: batchId, step, reason, tokensBefore, tokensAfter }: DeltaRecord): LiveBatch {
  return { type: "batch", batchId, step, reason, tokensBefore, tokensAfter };
}

type EditedEvent = Extract<LiveEvent, { readonly type: "batches" }>;

/**
 * The edits in force, and what they leave out, the newest first. Where the messages lie elsewhere, most edits cannot be
 * read; what they leave out stands in what was stored.
 */
function editedEvent(inForce: readonly BatchInForce["batch"][], source: Transcript): EditedEvent {
  const batches: EditBatch[] = [];
  const left: OmittedItem[] = [];
  for (const { tokensBefore, tokensAfter, ...stored } of inForce) {
    const read = readEdits(stored, { source, batches, transcript: () => source });
    batches.push({ ...stored, edits: read.flatMap((edits) => edits ?? []) });
    const known = stored.edits.flatMap((edit, index): readonly StoredEdit[] => read[index] ?? [edit]);
    left.push(...leftOut(stored, known, tokensBefore - tokensAfter));
  }
  return { type: "batches", batches, left: left.toReversed() };
}

/** What a batch leaves out. The saved tokens are distributed among its edits by their characters. */
function leftOut(
  { id: batchId, at: atMs }: Pick<EditBatch, "id" | "at">,
  edits: readonly StoredEdit[],
  gainedTokens: number,
): readonly OmittedItem[] {
  let leftTokens = gainedTokens;
  const items: { readonly chars: number; readonly item: Omit<OmittedItem, "savedTokens"> }[] = [];
  for (const edit of edits) {
    if (edit.type === "move-message") continue;
    if (edit.type === "insert-message") {
      if ("role" in edit.message) leftTokens += estimateMessageTokens(edit.message);
      continue;
    }
    const { stage, reason } = edit;
    const place =
      edit.type === "hide-run"
        ? { messageId: edit.first, handle: edit.first, chars: sum(edit.chars ?? []) }
        : {
            messageId: edit.messageId,
            handle: edit.omitted?.handle ?? edit.messageId,
            chars: edit.omitted?.chars ?? 0,
          };
    const { chars, ...at } = place;
    items.push({ chars: 1 + Math.max(0, chars), item: { batchId, atMs, ...at, stage, reason } });
  }
  const allChars = sum(items.map(({ chars }) => chars));
  return items.map(({ chars, item }) => ({
    ...item,
    savedTokens: Math.round((Math.max(0, leftTokens) * chars) / allChars),
  }));
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

function describe({ name, value }: Extract<PluginEntry, { readonly type: "other" }>): string {
  const { atMs: _, sessionId: __, type: ___, ...rest } = value;
  const said = SENTENCES[name]?.(rest) ?? `${name} ${JSON.stringify(rest)}`;
  return said.slice(0, MAX_NOTE_CHARS);
}

const SENTENCES: Readonly<Record<string, (value: UnknownObject) => string>> = {
  "prefix-miss": ({ readTokens, parentTokens }) =>
    `a fork read ${readTokens} of its parent's ${parentTokens} tokens from the cache`,
  "fork-context-lost": ({ reason }) => `a fork runs without what it inherited: ${reason}`,
  "backup-summary": ({ chars, path, handle }) =>
    `a backup summary of a compaction was kept, ${chars} characters: ${path ?? handle}`,
  restored: ({ chars }) => `${chars} characters were restored after a compaction`,
  "compaction-facts": ({ chars }) => `${chars} characters of facts went into a compaction`,
};

const MAX_NOTE_CHARS = 300;

/** A fork's record, and whether the program that runs it still holds its lease. */
interface FollowedFork {
  readonly record: ForkRecord;
  readonly isHeld: boolean;
}

/** A fork as the page shows it. One whose program is gone counts as interrupted, whatever its record still says. */
function liveFork({ record, isHeld }: FollowedFork, redact: (text: string) => string): LiveFork {
  const run = currentRun(record);
  const { id, number, title, inherited, spent } = record;
  return {
    id,
    number,
    title: redact(title),
    state: isLive(run) && !isHeld ? "interrupted" : run.state,
    isLive: isLive(run) && isHeld,
    inherit: inherited.mode,
    calls: run.calls.total,
    tokens: spent.tokens,
    costUSD: spent.costUSD,
    ...(!isLive(run) && run.error && { error: redact(`${run.error.kind}: ${run.error.message}`) }),
  };
}
