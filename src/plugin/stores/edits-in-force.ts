import { isFolded } from "../../session/fold.ts";
import type { Journal } from "../../session/journal.ts";
import { type BatchFigures, storedBatchOf } from "../../session/record.ts";
import { editCount, type StoredBatch } from "../../session/stored-state.ts";
import type { PluginEntry } from "./journal.ts";

/** A batch of edits that is made in every request of a session. */
export interface BatchInForce {
  readonly sessionId: string;
  readonly batch: StoredBatch & Pick<BatchFigures, "tokensBefore" | "tokensAfter">;
}

/** The batches that were neither taken back nor dropped, oldest first. */
export function batchesInForce(entries: readonly PluginEntry[]): readonly BatchInForce[] {
  const batches = new Map<string, BatchInForce>();
  for (const entry of entries) {
    if (entry.type !== "engine") continue;
    const { record, sessionId } = entry;
    if (record.type === "delta") {
      const { tokensBefore, tokensAfter } = record;
      const batch = { ...storedBatchOf(record), tokensBefore, tokensAfter };
      batches.set(`${sessionId}/${record.id}`, { sessionId, batch });
    } else if (record.type === "snapshot") {
      const before = [...batches].filter(([, known]) => known.sessionId === sessionId);
      for (const [key] of before) batches.delete(key);
      const known = before.map(([, { batch }]) => batch);
      for (const batch of withFigures(record.state.batches, known))
        batches.set(`${sessionId}/${batch.id}`, { sessionId, batch });
    } else if (record.type === "undo" || record.type === "drop")
      batches.delete(`${sessionId}/${record.batchId}`);
  }
  return [...batches.values()];
}

/** The batches of a snapshot, with what they saved: one that others were folded into has what those have saved. */
function withFigures(
  batches: readonly StoredBatch[],
  known: readonly BatchInForce["batch"][],
): readonly BatchInForce["batch"][] {
  const ids = new Set(batches.map(({ id }) => id));
  return batches.map((batch) => {
    const stoodFor = known.filter(({ id }) => id === batch.id || (isFolded(batch) && !ids.has(id)));
    const savedTokens = stoodFor.reduce((sum, each) => sum + each.tokensBefore - each.tokensAfter, 0);
    const { tokensBefore = savedTokens } = stoodFor.at(-1) ?? {};
    return { ...batch, tokensBefore, tokensAfter: tokensBefore - savedTokens };
  });
}

/** Something of ours that is in force: a batch of edits, or a compaction. */
export interface EditInForce {
  readonly sessionId: string;
  readonly id: string;
  readonly step: string;
  readonly atMs: number;
  /** How many edits, or how many messages of a compaction. */
  readonly edits: number;
  readonly savedTokens: number;
  readonly type: "batch" | "compaction";
  /** False for the edits that have become one. */
  readonly canBeTakenBack: boolean;
}

/** Everything that was neither taken back nor dropped. */
export function editsInForce(entries: readonly PluginEntry[]): readonly EditInForce[] {
  const compactions = new Map<string, EditInForce>();
  for (const entry of entries) {
    const { sessionId, atMs } = entry;
    if (entry.type === "compaction-undone") compactions.delete(`${sessionId}/${entry.handle}`);
    if (entry.type !== "compaction") continue;
    const { type, handle: id, messages: edits, tokensBefore, tokensAfter } = entry;
    const savedTokens = tokensBefore - tokensAfter;
    const compaction = { sessionId, id, step: type, atMs, edits, savedTokens, type, canBeTakenBack: true };
    compactions.set(`${sessionId}/${id}`, compaction);
  }
  const batches = batchesInForce(entries).map(({ sessionId, batch }): EditInForce => {
    const { id, step, at: atMs, tokensBefore, tokensAfter } = batch;
    const edits = editCount(batch);
    const savedTokens = tokensBefore - tokensAfter;
    return { sessionId, id, step, atMs, edits, savedTokens, type: "batch", canBeTakenBack: !isFolded(batch) };
  });
  return [...batches, ...compactions.values()];
}

/** Takes an edit back where no plugin runs: the next plugin that opens the session leaves it out. Returns the reason if that fails. */
export async function undoInJournal(
  journal: Pick<Journal, "append">,
  { undone, atMs }: UndoInJournal,
): Promise<string | undefined> {
  const { id, sessionId, type } = undone;
  const written = await journal.append({
    atMs,
    sessionId,
    ...(type === "compaction"
      ? { type: "compaction-undone", handle: id }
      : { type: "engine", record: { v: 1, type: "undo", batchId: id, at: atMs } }),
  });
  return written.status === "failed" ? written.reason : undefined;
}

interface UndoInJournal {
  readonly undone: EditInForce;
  readonly atMs: number;
}
