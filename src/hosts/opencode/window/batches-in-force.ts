import type { Journal } from "../../../session/journal.ts";
import type { BatchRecord } from "../../../session/session-records.ts";
import type { PluginEntry } from "./read-plugin-journal.ts";

/** A batch of edits that is made in every request of a session. */
export interface BatchInForce {
  readonly sessionId: string;
  readonly batch: BatchRecord;
}

/** The batches that were neither taken back nor dropped, oldest first. */
export function batchesInForce(entries: readonly PluginEntry[]): readonly BatchInForce[] {
  const batches = new Map<string, BatchInForce>();
  for (const entry of entries) {
    if (entry.type !== "engine") continue;
    const { record, sessionId } = entry;
    if (record.type === "batch") batches.set(`${sessionId}/${record.id}`, { sessionId, batch: record });
    else if (record.type !== "step") batches.delete(`${sessionId}/${record.batchId}`);
  }
  return [...batches.values()];
}

/** Takes a batch back where no plugin runs: the next one that opens the session does without it. Gives why not, if it cannot. */
export async function undoInJournal(
  journal: Pick<Journal, "append">,
  { undone, atMs }: UndoInJournal,
): Promise<string | undefined> {
  const record = { v: 1, type: "undo", batchId: undone.batch.id, at: atMs };
  const written = await journal.append({ atMs, sessionId: undone.sessionId, type: "engine", record });
  return written.status === "failed" ? written.reason : undefined;
}

export interface UndoInJournal {
  readonly undone: BatchInForce;
  readonly atMs: number;
}
