import { callWithin } from "../compaction/ports/call-within.ts";
import { COOL_DOWN_TURNS } from "../compaction/trigger/should-compact.ts";
import { asObject, isObject, omitUndefined } from "../text/json.ts";
import { handleOf } from "../transcript/content.ts";
import type { SessionCore } from "./core.ts";
import { foldHistory } from "./fold.ts";
import type { JournalContent } from "./journal.ts";
import { type PendingSummary, pendingKey } from "./pending-summaries.ts";
import { batchOf, readRecord, type SnapshotRecord, storedBatchOf } from "./record.ts";
import { snapshotOf } from "./snapshot.ts";
import { readSessionState, restoreBatch, type StoredBatch } from "./state.ts";
import { restoreBindings } from "./thoughts.ts";

/**
 * Applies the batches of a state, and those of the journal that were neither undone nor dropped, in their order. What
 * stands before the newest snapshot of a journal does not count.
 */
export async function restoreBatches(core: SessionCore, state: unknown): Promise<Restored> {
  const { history, log, memory, believed } = core;
  const content = await readJournal(core);
  const { newer, snapshot } = sinceSnapshot(content);
  const kept = readSessionState(snapshot?.state ?? state);
  log.resume(newer.map(({ value }) => value));
  for (const entry of snapshot?.ledger ?? []) if (isObject(entry)) core.enter(entry);
  const batches = new Map<string, StoredBatch>(kept.batches.map((batch) => [batch.id, batch]));
  let unreadable = content.problems.length + kept.unreadable;
  const summaries = new Map<string, PendingSummary>(
    kept.pendingSummaries.map((each) => [pendingKey(each), each]),
  );
  let { undoneAt } = snapshot ?? {};
  let windows = snapshot?.state.windows;
  const keptThoughts = snapshot?.state.thoughts ?? asObject(state).thoughts;
  let thoughts = restoreBindings(memory.thoughts, keptThoughts);
  let isBound = keptThoughts !== undefined;
  const bind = (stored: unknown): void => {
    thoughts = restoreBindings(thoughts, stored);
    isBound ||= stored !== undefined;
  };
  for (const { value } of newer) {
    const record = readRecord(value);
    switch (record?.type) {
      case undefined:
        unreadable++;
        break;
      case "batch":
      case "delta": {
        batches.set(record.id, record.type === "batch" ? batchOf(record) : storedBatchOf(record));
        const { step, reason, at, tokensBefore, tokensAfter, degraded, summaryUsage } = record;
        const figures = { tokensBefore, tokensAfter, ...omitUndefined({ degraded, summaryUsage }) };
        core.enter({ step, reason, at, outcome: "applied", ...figures });
        bind(record.thoughts);
        break;
      }
      case "pending-summary": {
        const { results, answer = summaries.get(pendingKey(record))?.answer } = record;
        summaries.set(pendingKey(record), { results, ...omitUndefined({ answer }) });
        break;
      }
      case "step": {
        const { v: _, type: __, ...entry } = record;
        core.enter(entry);
        break;
      }
      case "windows":
        windows = record.windows;
        break;
      case "thoughts":
        bind(record.thoughts);
        break;
      case "undo":
      case "drop":
        if (record.type === "undo") {
          undoneAt = record.at;
          bind(record.thoughts);
        }
        if (record.type === "drop" && record.folded) dropThrough(batches, record.batchId);
        batches.delete(record.batchId);
        break;
      case "snapshot":
        break;
      default:
        record satisfies never;
    }
  }
  believed.restore(windows);
  memory.isRestoring = false;
  memory.thoughts = thoughts;
  // A state of an earlier version does not say which thoughts are newer than its edits: none is taken to be.
  if (batches.size > 0 && !isBound) core.bindThoughts();
  const known = new Set(history.batches().map(({ id }) => id));
  let dropped = 0;
  for (const stored of batches.values()) {
    if (known.has(stored.id)) continue;
    const before = { source: history.source(), batches: history.batches(), transcript: history.transcript() };
    const batch = restoreBatch(stored, before);
    if (batch === undefined || !history.add(batch)) dropped++;
  }
  foldHistory(history);
  core.bindThoughts();
  core.changed("restore", "journal");
  // A state from elsewhere is not in the journal, and what follows is built on it.
  if (core.ports.journal?.keeps === "state" && snapshot === undefined && kept.batches.length > 0)
    log.write(snapshotOf(core));
  const counted = new Set(
    core.countedResults().map(({ message, partIndex }) => handleOf(message, partIndex)),
  );
  core.pending.restore([...summaries.values()], (handle) => counted.has(handle));
  if (undoneAt !== undefined) {
    memory.undoneAt = undoneAt;
    memory.pausedThroughTurn = answersUntil(core, undoneAt) + COOL_DOWN_TURNS;
  }
  if (unreadable > 0) log.warn("journal-damaged", `${unreadable} records of what was done cannot be read.`);
  if (dropped > 0) log.warn("edits-dropped", `${dropped} recorded steps edited messages that are gone.`);
  return { batches: history.batches().length, dropped, unreadable };
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

/** How many answers there were at a time; what a user has undone is not done again for some turns, also after a restart. */
function answersUntil({ history, memory }: SessionCore, at: number): number {
  return history.source().filter(({ id, createdAt = 0 }) => memory.answers.has(id) && createdAt <= at).length;
}

/** What came of restoring a session. */
export interface Restored {
  /** Batches in force now. */
  readonly batches: number;
  /** Batches whose messages are gone. */
  readonly dropped: number;
  readonly unreadable: number;
}

async function readJournal({ ports }: SessionCore): Promise<JournalContent> {
  const { journal, clock } = ports;
  if (journal === undefined) return EMPTY_JOURNAL;
  const result = await callWithin({ start: () => journal.read(), limitMs: READ_LIMIT_MS, clock });
  if (result.status === "done" && Array.isArray(result.value?.entries)) return result.value;
  const where = { place: "journal", code: result.status } as const;
  return { entries: [], problems: [{ type: "failed", ...where, reason: "could not be read" }] };
}

const READ_LIMIT_MS = 30_000;
const EMPTY_JOURNAL: JournalContent = { entries: [], problems: [] };
