import { callWithin } from "../compaction/ports/call-within.ts";
import { handleOfRef } from "../compaction/tool-summaries/plan-tool-summaries.ts";
import { COOL_DOWN_TURNS } from "../compaction/trigger/should-compact.ts";
import { asNumber, asObject, isObject, omitUndefined } from "../text/unknown-value.ts";
import { handleOf } from "../transcript/content.ts";
import { applyBatches } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { foldHistory } from "./fold.ts";
import {
  type EditBatch,
  EMPTY_HISTORY,
  findTargets,
  type History,
  observeMessages,
  withBatches,
} from "./history.ts";
import type { JournalContent } from "./journal.ts";
import { readWindows } from "./learned-window.ts";
import { enterStep, type LedgerEntry } from "./ledger.ts";
import { type PromptOverhead, withOverhead } from "./measure.ts";
import { type PendingSummary, pendingKey } from "./pending-summaries.ts";
import { readRecord, type SnapshotRecord, storedBatchOf } from "./record.ts";
import type { Runtime } from "./runtime.ts";
import { initialState, type SessionState } from "./state.ts";
import { readRest, type SeenPrefix, seenIn } from "./stored-rest.ts";
import { type ReadState, readStoredState, restoreBatch, type StoredBatch } from "./stored-state.ts";
import { bindThoughts, NO_BINDINGS, restoreBindings, type ThoughtBindings } from "./thoughts.ts";
import { type SessionSetup, viewOf } from "./view.ts";
import { isFinishedAnswer } from "./window.ts";

/**
 * Goes on from a state that was stored, and from what the journal holds behind it: the batches that were neither undone nor
 * dropped, in their order, and the newest rest. What stands before the newest snapshot of a journal does not count.
 */
export async function restoreSession(
  runtime: Runtime,
  transcript: Transcript,
  state: unknown,
): Promise<Restored> {
  const { log, ports } = runtime;
  // They are there at once, whatever the journal takes. Where nothing is waited for, they come in with what was stored.
  const isAtOnce = ports.journal === undefined && runtime.state().history === EMPTY_HISTORY;
  if (!isAtOnce) runtime.change({ type: "observed", transcript });
  const content = ports.journal === undefined ? EMPTY_JOURNAL : await readJournal(runtime);
  const { newer: entries, snapshot: newest } = sinceSnapshot(content);
  const { rest } = asObject(state);
  const isGivenNewer = isObject(rest) && versionOf(rest) >= newestVersion(entries, newest);
  const { newer, snapshot } = isGivenNewer
    ? { newer: [], snapshot: undefined }
    : { newer: entries, snapshot: newest };
  const stored = readStoredState(snapshot?.state ?? state);
  log.resume(
    [...(newest === undefined ? [] : [newest]), ...entries.map(({ value }) => value)],
    content.problems.find(({ type }) => type === "failed")?.reason,
  );
  const kept = withEntries({ ...stored, ...ledgerOf(snapshot) }, newer);
  const unreadable = content.problems.length + stored.unreadable + kept.unreadable;
  const { messages, batches: known } = isAtOnce
    ? observeMessages(EMPTY_HISTORY, transcript).history
    : runtime.state().history;
  const found = restoredState(kept, { messages, known, said: saidSince(runtime), setup: runtime });
  if (found !== undefined) {
    const { state: from, grown } = found;
    runtime.change({ type: "restored", from, transcript: messages, ...omitUndefined({ grown }) });
    if (found.dropped > 0)
      log.warn("edits-dropped", `${found.dropped} recorded steps edited messages that are gone.`);
    // A state from elsewhere is not in the journal, and what follows is built on it.
    if (snapshot === undefined && stored.batches.length > 0) log.writeSnapshot();
  } else if (isAtOnce) runtime.change({ type: "observed", transcript });
  if (unreadable > 0) log.warn("journal-damaged", `${unreadable} records of what was done cannot be read.`);
  const { batches } = runtime.state().history;
  return { batches: batches.length, dropped: found?.dropped ?? 0, unreadable };
}

/** The version of the newest state that a journal holds; 0 where it says none. */
function newestVersion(entries: JournalContent["entries"], snapshot: SnapshotRecord | undefined): number {
  const rests = [snapshot?.state.rest, ...entries.map(({ value }) => asObject(value).rest)];
  return Math.max(...rests.map(versionOf));
}

function versionOf(rest: unknown): number {
  return asNumber(asObject(asObject(rest).fields).version) ?? 0;
}

/** What came of restoring a session. */
export interface Restored {
  /** Batches in force now. */
  readonly batches: number;
  /** Batches whose messages are gone. */
  readonly dropped: number;
  readonly unreadable: number;
}

/** Everything that was stored, taken together. */
interface Kept {
  readonly batches: readonly StoredBatch[];
  readonly pendingSummaries: readonly PendingSummary[];
  /** Bindings of thoughts, oldest first. */
  readonly thoughts: readonly unknown[];
  readonly rest: unknown;
  readonly windows: unknown;
  readonly ledger: readonly LedgerEntry[];
  /** When a person has last undone something, where only that was recorded. */
  readonly undoneAt: number | undefined;
  readonly unreadable: number;
}

interface Ledger {
  readonly ledger: readonly LedgerEntry[];
  readonly undoneAt: number | undefined;
}

function ledgerOf(snapshot: SnapshotRecord | undefined): Ledger {
  const entries = (snapshot?.ledger ?? []).filter((entry) => isObject(entry));
  return { ledger: entries, undoneAt: snapshot?.undoneAt };
}

/** What was stored, with the entries of a journal behind it. */
function withEntries(stored: ReadState & Ledger, newer: JournalContent["entries"]): Kept {
  const batches = new Map(stored.batches.map((batch) => [batch.id, batch]));
  const summaries = new Map(stored.pendingSummaries.map((each) => [pendingKey(each), each]));
  const thoughts: unknown[] = stored.thoughts === undefined ? [] : [stored.thoughts];
  let { rest, windows, ledger, undoneAt } = stored;
  let unreadable = 0;
  for (const { value } of newer) {
    const record = readRecord(value);
    if (record?.rest !== undefined) ({ rest } = record);
    switch (record?.type) {
      case undefined:
        unreadable++;
        break;
      case "delta": {
        batches.set(record.id, storedBatchOf(record));
        const { step, reason, at, tokensBefore, tokensAfter, degraded, summaryUsage } = record;
        const figures = { tokensBefore, tokensAfter, ...omitUndefined({ degraded, summaryUsage }) };
        ledger = enterStep(ledger, { step, reason, at, outcome: "applied", ...figures });
        if (record.thoughts !== undefined) thoughts.push(record.thoughts);
        break;
      }
      case "pending-summary": {
        const { results, answer = summaries.get(pendingKey(record))?.answer, failed } = record;
        summaries.set(pendingKey(record), { results, ...omitUndefined({ answer, failed }) });
        break;
      }
      case "step": {
        const { v: _, type: __, rest: ___, ...entry } = record;
        ledger = enterStep(ledger, entry);
        break;
      }
      case "windows":
        ({ windows } = record);
        break;
      case "rest":
      case "thoughts":
        thoughts.push(record.thoughts);
        break;
      case "undo":
        undoneAt = record.at;
        if (record.thoughts !== undefined) thoughts.push(record.thoughts);
        batches.delete(record.batchId);
        break;
      case "drop":
        if (record.folded) dropThrough(batches, record.batchId);
        batches.delete(record.batchId);
        break;
      case "snapshot":
        break;
      default:
        record satisfies never;
    }
  }
  return {
    batches: [...batches.values()],
    pendingSummaries: [...summaries.values()],
    ...{ thoughts, rest, windows, ledger, undoneAt, unreadable },
  };
}

interface RestoredOn {
  /** The owner's messages as they are now. */
  readonly messages: Transcript;
  /** Batches that are in force already. */
  readonly known: readonly EditBatch[];
  /** What calls have said of this session before it was restored: it counts. */
  readonly said: Said;
  readonly setup: SessionSetup;
}

interface Said extends Partial<Omit<SessionState, "measure">> {
  readonly measure?: PromptOverhead;
}

/** What calls have said of model, settings, management and overhead. */
function saidSince(runtime: Runtime): Said {
  const { model, limits, settings, management, measure, history } = runtime.state();
  const initial = initialState(runtime.options);
  const isNamed = history.messages.some((message) => isFinishedAnswer(message) && message.model === model);
  return {
    // An answer may have named it.
    ...(model !== initial.model && !isNamed && { model }),
    ...(limits !== initial.limits && { limits }),
    ...(settings !== initial.settings && { settings }),
    ...(management !== initial.management && { management }),
    ...(withOverhead(initial.measure, measure) !== initial.measure && { measure }),
  };
}

interface FoundState {
  readonly state: SessionState;
  readonly dropped: number;
  /** The last message that it had taken in, where more of it is there now. */
  readonly grown?: Message;
}

/** The session as it was stored, on the messages that it had then; undefined where nothing was. */
function restoredState(kept: Kept, { messages, known, said, setup }: RestoredOn): FoundState | undefined {
  const { rest, ledger } = kept;
  const isOlder = rest === undefined;
  const isEmpty = kept.batches.length + kept.pendingSummaries.length + kept.thoughts.length === 0;
  if (isOlder && isEmpty && kept.windows === undefined && ledger.length === 0) return undefined;
  const seen: SeenPrefix = isOlder ? { messages, isSame: false } : seenIn(messages, rest);
  const read = readRest(rest, setup.options);
  const { measure: overhead, ...others } = said;
  const fields = {
    ...read,
    ...others,
    measure: overhead === undefined ? read.measure : withOverhead(read.measure, overhead),
  };
  const bare: History = { ...EMPTY_HISTORY, messages: seen.messages, transcript: seen.messages };
  const wanted = new Set(kept.batches.map(({ id }) => id));
  const before = withBatches(
    bare,
    known.filter(({ id }) => !wanted.has(id)),
  );
  const { history, dropped } = withStored(before.history, kept.batches);
  const state: SessionState = {
    ...fields,
    history: foldHistory(history),
    turn: isOlder ? answersIn(messages) : fields.turn,
    thoughts: thoughtsOf(kept, messages, setup),
    ledger,
    ...(isOlder && { owner: "host", ...ofOlderState(kept, messages) }),
  };
  const next = withPending(state, kept.pendingSummaries, setup);
  const { grown } = seen;
  if (seen.isSame && dropped === 0) return { state: next, dropped, ...omitUndefined({ grown }) };
  // Usage of these messages may be of a window that is gone.
  const { marked } = viewOf(next, setup).window;
  const measure = { ...next.measure, epoch: next.measure.epoch + 1, epochStart: marked.length };
  // What was refused, or due, was another window too.
  const waiting = seen.isSame ? {} : { recovery: undefined, recoveryCompactions: 0, held: undefined };
  return {
    state: { ...next, ...waiting, measure, begun: undefined },
    dropped,
    ...omitUndefined({ grown }),
  };
}

/** Puts stored batches in force, each on those before it. */
function withStored(
  before: History,
  stored: readonly StoredBatch[],
): { readonly history: History; readonly dropped: number } {
  const { messages } = before;
  const batches = [...before.batches];
  const ids = new Set(before.transcript.map(({ id }) => id));
  let { transcript } = before;
  let applied = batches.length;
  // Applying edits reads the whole transcript, so it is done for many batches at once.
  const edited = (): Transcript => {
    transcript = applyBatches(transcript, batches.slice(applied));
    applied = batches.length;
    return transcript;
  };
  const texts = new Map();
  for (const each of stored) {
    const batch = restoreBatch(each, { source: messages, batches, transcript: edited, texts });
    if (batch !== undefined && findTargets(batch.edits, ids)) batches.push(batch);
  }
  const dropped = before.batches.length + stored.length - batches.length;
  return { history: { messages, batches, transcript: edited() }, dropped };
}

function thoughtsOf({ thoughts, batches }: Kept, messages: Transcript, setup: SessionSetup): ThoughtBindings {
  const bound = thoughts.reduce<ThoughtBindings>(restoreBindings, NO_BINDINGS);
  if (thoughts.length > 0 || batches.length === 0) return bound;
  // A state of an earlier version does not say which thoughts are newer than its edits: none is taken to be.
  const history: History = { ...EMPTY_HISTORY, messages, transcript: messages };
  const { window } = viewOf({ ...initialState(setup.options), history }, setup);
  return bindThoughts(bound, { reading: window.thoughts, source: messages });
}

function ofOlderState({ windows, undoneAt }: Kept, messages: Transcript): Partial<SessionState> {
  const until = messages.filter(({ createdAt = 0 }) => createdAt <= (undoneAt ?? 0));
  return {
    windows: readWindows(windows),
    // What a user has undone is not done again for some turns, also after a restart.
    ...(undoneAt !== undefined && { pausedThroughTurn: answersIn(until) + COOL_DOWN_TURNS }),
  };
}

function answersIn(messages: Transcript): number {
  return messages.filter(isFinishedAnswer).length;
}

/** Takes up what was asked for, with the answers that were kept, for results that can still be summed up. */
function withPending(
  state: SessionState,
  pending: readonly PendingSummary[],
  setup: SessionSetup,
): SessionState {
  if (pending.length === 0) return state;
  const counted = new Set(
    viewOf(state, setup).countedResults.map(({ message, partIndex }) => handleOf(message, partIndex)),
  );
  const wanted = pending.filter(({ results }) => results.every((ref) => counted.has(handleOfRef(ref))));
  return { ...state, pending: wanted };
}

/** The newest snapshot that can be read, and the entries behind it. */
function sinceSnapshot({ entries }: JournalContent): {
  readonly snapshot: SnapshotRecord | undefined;
  readonly newer: JournalContent["entries"];
} {
  for (let index = entries.length - 1; index >= 0; index--) {
    const record = readRecord(entries[index]?.value);
    if (record?.type === "snapshot") return { snapshot: record, newer: entries.slice(index + 1) };
  }
  return { snapshot: undefined, newer: entries };
}

/** Takes out everything up to a batch that stood for all those before it. */
function dropThrough(batches: Map<string, unknown>, last: string): void {
  if (!batches.has(last)) return;
  for (const id of [...batches.keys()]) {
    batches.delete(id);
    if (id === last) return;
  }
}

async function readJournal({ ports }: Runtime): Promise<JournalContent> {
  const { journal, clock } = ports;
  if (journal === undefined) return EMPTY_JOURNAL;
  const limitMs = journal.limitMs ?? READ_LIMIT_MS;
  const result = await callWithin({ start: () => journal.read(), limitMs, clock });
  if (result.status === "done" && Array.isArray(result.value?.entries)) {
    const { entries, problems } = result.value;
    // One that somebody else wrote may give anything.
    return {
      entries: entries.map((entry) => ({ ...entry, value: asObject(entry).value ?? null })),
      problems: Array.isArray(problems) ? problems : [],
    };
  }
  const where = { place: "journal", code: result.status } as const;
  return { entries: [], problems: [{ type: "failed", ...where, reason: "could not be read" }] };
}

const READ_LIMIT_MS = 30_000;
const EMPTY_JOURNAL: JournalContent = { entries: [], problems: [] };
