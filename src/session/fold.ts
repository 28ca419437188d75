import { deepEqual } from "../text/deep-equal.ts";
import { applyBatches, type Edit, hideMessage, type InsertMessage } from "../transcript/edit.ts";
import { isVisibleToModel, type Message, type MessageId, type Transcript } from "../transcript/message.ts";
import { type EditBatch, type History, targetsOf, withBatches } from "./history.ts";
import { isBackupBatch } from "./window.ts";

/**
 * Makes one batch of those that cannot be taken back any more, so that what is kept is bounded by the window and not by
 * the age of a conversation: the model is shown the same, and nothing is left of edits to what is hidden, nor of
 * summaries that others have replaced.
 */
export function foldHistory(history: History): History {
  const folded = foldBatches(history.messages, history.batches);
  if (folded === history.batches) return history;
  const { history: after, dropped } = withBatches(history, folded);
  // Moved messages, for one, cannot be told in this way: then everything stays as it is.
  return dropped.length === 0 && isSameToModel(after.transcript, history.transcript) ? after : history;
}

function foldBatches(source: Transcript, batches: readonly EditBatch[]): readonly EditBatch[] {
  // A backup summary is hidden, and kept for as long as the block that it stands beside.
  let edited = batches.filter((batch) => !isBackupBatch(batch));
  let isChanged = false;
  // Many that are read at once are folded where they would have been one by one, so that a restart changes nothing.
  for (;;) {
    const count = foldableCount(edited);
    const newer = edited.slice(count);
    const folded = count < 2 ? undefined : foldAll(source, { batches: edited.slice(0, count), newer });
    if (folded === undefined) return isChanged ? [...edited, ...batches.filter(isBackupBatch)] : batches;
    edited = [folded, ...newer];
    isChanged = true;
  }
}

/** True for the batch that stands for all those that cannot be taken back any more. */
export function isFolded({ step }: Pick<EditBatch, "step">): boolean {
  return step === FOLDED;
}

const FOLDED = "folded";

/** How many batches can be taken back at least. */
export const UNDO_BATCHES = 20;

/** Small batches are folded so many at once, since folding looks at the whole window. */
export const FOLDED_AT_ONCE = 60;
/** Batches of so many edits are folded earlier, `UNDO_BATCHES` at once, since they are what makes a state large. */
const FOLDED_EDITS = 200;
/** As many edits as this share of those folded before have to be there, so that all folding together costs no more than the edits. */
const FOLDED_SHARE = 0.25;

/** Those up to the compaction before the newest one, and those beyond what can be taken back. */
function foldableCount(batches: readonly EditBatch[]): number {
  const newest = batches.findLastIndex(isCompaction);
  const before = batches.findLastIndex((batch, index) => index < newest && isCompaction(batch));
  return Math.max(before + 1, surplusCount(batches));
}

/** The oldest that can be folded at once, behind the one that others were folded into. */
function surplusCount(batches: readonly EditBatch[]): number {
  const leastEdits = (batches[0]?.edits.length ?? 0) * FOLDED_SHARE;
  let edits = 0;
  for (let index = 1; index < batches.length - UNDO_BATCHES; index++) {
    edits += batches[index]?.edits.length ?? 0;
    const leastCount = edits < FOLDED_EDITS ? FOLDED_AT_ONCE : UNDO_BATCHES;
    if (index >= leastCount && edits >= leastEdits) return index + 1;
  }
  return 0;
}

const compactions = new WeakMap<EditBatch, boolean>();

/** A batch never changes, and may be large, so each is read once. */
function isCompaction(batch: EditBatch): boolean {
  const known = compactions.get(batch);
  if (known !== undefined) return known;
  const isOne = batch.edits.some(
    (edit) => edit.type === "insert-message" && edit.message.metadata?.carried !== undefined,
  );
  compactions.set(batch, isOne);
  return isOne;
}

interface FoldInput {
  readonly batches: readonly EditBatch[];
  /** Those that are built on them. */
  readonly newer: readonly EditBatch[];
}

function foldAll(source: Transcript, { batches, newer }: FoldInput): EditBatch | undefined {
  const last = batches.at(-1);
  const at = batches[0]?.at;
  if (last === undefined || at === undefined) return undefined;
  const after = applyBatches(source, batches);
  const edits = equalEdits(source, { after, batches, newer });
  return { id: last.id, step: FOLDED, reason: `${last.step} and before`, at, edits };
}

function dated(edit: InsertMessage, at: number): InsertMessage {
  return { ...edit, message: { createdAt: at, ...edit.message } };
}

/** True when the model is shown the same of both; when an output was cleared makes no difference. */
function isSameToModel(one: Transcript, other: Transcript): boolean {
  const shown = one.filter(isVisibleToModel);
  const others = other.filter(isVisibleToModel);
  return (
    shown.length === others.length &&
    shown.every((message, index) => {
      const same = others[index] as Message;
      return message === same || deepEqual(undated(message), undated(same));
    })
  );
}

function undated(message: Message): Message {
  const parts = message.parts.map((part) =>
    part.type === "tool" && part.clearedAt !== undefined ? { ...part, clearedAt: 0 } : part,
  );
  return { ...message, parts };
}

function equalEdits(
  source: Transcript,
  { after, batches, newer }: FoldInput & { readonly after: Transcript },
): readonly Edit[] {
  const visible = new Set(after.filter(isVisibleToModel).map(({ id }) => id));
  const hidden = source.filter((message) => isVisibleToModel(message) && !visible.has(message.id));
  const needed = new Set(newer.flatMap(({ edits }) => edits.flatMap(targetsOf)));
  const inserts = new Map<MessageId, InsertMessage>();
  const moved = new Set<MessageId>();
  for (const { edits, at } of batches)
    for (const edit of edits) {
      if (edit.type === "move-message") moved.add(edit.messageId);
      if (edit.type !== "insert-message" || inserts.has(edit.message.id)) continue;
      const { id } = edit.message;
      if (visible.has(id)) inserts.set(id, dated(edit, at));
      else if (needed.has(id)) inserts.set(id, { ...edit, message: placeOf(edit.message, at) });
    }
  const places = new Set(source.map(({ id }) => id).filter((id) => !moved.has(id)));
  return [
    ...hidden.map((message) => hideMessage(message, { stage: "session", reason: FOLDED })),
    ...insertEdits(inserts, after, places),
    ...lastPartEdits(batches).filter(({ messageId }) => visible.has(messageId)),
  ];
}

/** What is left of a replaced message behind which newer ones were inserted. */
function placeOf({ id, role }: Message, createdAt: number): Message {
  return { createdAt, id, role, parts: [], metadata: { agentVisible: false } };
}

/** Inserted messages, each behind what stands before it among the messages that are left. */
function insertEdits(
  inserts: ReadonlyMap<MessageId, InsertMessage>,
  after: Transcript,
  places: ReadonlySet<MessageId>,
): readonly Edit[] {
  const edits: Edit[] = [];
  let before: MessageId | null = null;
  for (const { id } of after) {
    const insert = inserts.get(id);
    if (insert !== undefined) edits.push({ ...insert, after: before });
    if (insert !== undefined || places.has(id)) before = id;
  }
  return edits;
}

type PartEdit = Extract<Edit, { readonly partIndex: number }>;

/** The edits of parts in their order, without those that a later replacement has overtaken. */
function lastPartEdits(batches: readonly EditBatch[]): readonly PartEdit[] {
  const kept: PartEdit[] = [];
  const replaced = new Set<string>();
  for (const edit of batches.flatMap(({ edits }) => edits).toReversed()) {
    if (!("partIndex" in edit)) continue;
    const key = `${edit.messageId}/${edit.partIndex}`;
    if (replaced.has(key)) continue;
    if (edit.type === "replace-part") replaced.add(key);
    kept.push(edit);
  }
  return kept.toReversed();
}
