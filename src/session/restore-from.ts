import { callWithin } from "../compaction/compact-call.ts";
import { COOL_DOWN_TURNS } from "../compaction/should-compact-trigger-state.ts";
import type { EditBatch } from "./edit-batch.ts";
import type { JournalContent } from "./journal.ts";
import type { SessionCore } from "./session-core.ts";
import { batchOf, readRecord } from "./session-records.ts";
import { readSessionState } from "./session-state.ts";

/** Puts the batches of a state, and those of a journal that were neither undone nor dropped, in force in their order. */
export async function restoreFrom(core: SessionCore, state: unknown): Promise<Restored> {
  const { line, ledger, log, memory } = core;
  const content = await readJournal(core);
  const kept = readSessionState(state);
  const batches = new Map<string, EditBatch>(kept.batches.map((batch) => [batch.id, batch]));
  let unreadable = content.problems.length + kept.unreadable;
  let undoneAt: number | undefined;
  for (const { value } of content.entries) {
    const record = readRecord(value);
    if (record === undefined) unreadable++;
    else if (record.type === "batch") {
      batches.set(record.id, batchOf(record));
      const { step, reason, at, tokensBefore, tokensAfter, degraded } = record;
      const figures = { tokensBefore, tokensAfter, ...(degraded && { degraded }) };
      ledger.enter({ step, reason, at, outcome: "applied", ...figures });
    } else if (record.type === "step") {
      const { v: _, type: __, ...entry } = record;
      ledger.enter(entry);
    } else {
      if (record.type === "undo") undoneAt = record.at;
      batches.delete(record.batchId);
    }
  }
  const known = new Set(line.batches().map(({ id }) => id));
  let dropped = 0;
  for (const batch of batches.values()) {
    if (known.has(batch.id)) continue;
    if (!line.add(batch)) dropped++;
  }
  core.changed("restore", "journal");
  if (undoneAt !== undefined) memory.heldThroughTurn = answersUntil(core, undoneAt) + COOL_DOWN_TURNS;
  if (unreadable > 0) log.warn("journal-damaged", `${unreadable} records of what was done cannot be read.`);
  if (dropped > 0) log.warn("edits-dropped", `${dropped} recorded steps speak of messages that are gone.`);
  return { batches: line.batches().length, dropped, unreadable };
}

/** Whoever has taken something back does not want it done again at once: the wait goes on after a restart. */
function answersUntil({ line, memory }: SessionCore, at: number): number {
  return line.base().filter(({ id, createdAt = 0 }) => memory.answers.has(id) && createdAt <= at).length;
}

export interface Restored {
  /** Batches in force now. */
  readonly batches: number;
  /** Batches whose messages are gone. */
  readonly dropped: number;
  readonly unreadable: number;
}

async function readJournal({ ports }: SessionCore): Promise<JournalContent> {
  const { journal, clock } = ports;
  if (journal === undefined) return NOTHING;
  const result = await callWithin({
    start: () => journal.read(),
    limitMs: READ_LIMIT_MS,
    clock,
    signal: undefined,
  });
  if (result.status === "done" && Array.isArray(result.value?.entries)) return result.value;
  const problem = {
    type: "failed",
    place: "journal",
    code: result.status,
    reason: "could not be read",
  } as const;
  return { entries: [], problems: [problem] };
}

const READ_LIMIT_MS = 30_000;
const NOTHING: JournalContent = { entries: [], problems: [] };
