import { callWithin } from "../compaction/ports/call-within.ts";
import { COOL_DOWN_TURNS } from "../compaction/trigger/should-compact.ts";
import { omitUndefined } from "../text/json.ts";
import { handleOf } from "../transcript/tool-results.ts";
import type { SessionCore } from "./core.ts";
import type { EditBatch } from "./history.ts";
import type { JournalContent } from "./journal.ts";
import { batchOf, readRecord, readSessionState } from "./log.ts";
import { type PendingSummary, pendingKey } from "./pending-summaries.ts";

/** Applies the batches of a state, and those of the journal that were neither undone nor dropped, in their order. */
export async function restoreBatches(core: SessionCore, state: unknown): Promise<Restored> {
  const { history, log, memory } = core;
  const content = await readJournal(core);
  const kept = readSessionState(state);
  const batches = new Map<string, EditBatch>(kept.batches.map((batch) => [batch.id, batch]));
  let unreadable = content.problems.length + kept.unreadable;
  const summaries = new Map<string, PendingSummary>(
    kept.pendingSummaries.map((each) => [pendingKey(each), each]),
  );
  let undoneAt: number | undefined;
  for (const { value } of content.entries) {
    const record = readRecord(value);
    if (record === undefined) unreadable++;
    else if (record.type === "batch") {
      batches.set(record.id, batchOf(record));
      const { step, reason, at, tokensBefore, tokensAfter, degraded, summaryUsage } = record;
      const figures = { tokensBefore, tokensAfter, ...omitUndefined({ degraded, summaryUsage }) };
      core.enter({ step, reason, at, outcome: "applied", ...figures });
    } else if (record.type === "pending-summary") {
      const { results, answer = summaries.get(pendingKey(record))?.answer } = record;
      summaries.set(pendingKey(record), { results, ...omitUndefined({ answer }) });
    } else if (record.type === "step") {
      const { v: _, type: __, ...entry } = record;
      core.enter(entry);
    } else {
      if (record.type === "undo") undoneAt = record.at;
      batches.delete(record.batchId);
    }
  }
  const known = new Set(history.batches().map(({ id }) => id));
  let dropped = 0;
  for (const batch of batches.values()) {
    if (known.has(batch.id)) continue;
    if (!history.add(batch)) dropped++;
  }
  core.changed("restore", "journal");
  const counted = new Set(
    core.countedResults().map(({ message, partIndex }) => handleOf(message, partIndex)),
  );
  core.pending.restore([...summaries.values()], (handle) => counted.has(handle));
  if (undoneAt !== undefined) memory.pausedThroughTurn = answersUntil(core, undoneAt) + COOL_DOWN_TURNS;
  if (unreadable > 0) log.warn("journal-damaged", `${unreadable} records of what was done cannot be read.`);
  if (dropped > 0) log.warn("edits-dropped", `${dropped} recorded steps edited messages that are gone.`);
  return { batches: history.batches().length, dropped, unreadable };
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
