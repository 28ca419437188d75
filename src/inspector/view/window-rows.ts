import { compactionPart } from "../../stages/boundary.ts";
import type { Edit, HideMessage, HidePart, InsertMessage, ReplacePart } from "../../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { type EditReason, explainReason, fateOfReason } from "./explain-reason.ts";
import { inputText, mediaIn, outputText, partTexts } from "./part-texts.ts";
import type { PolicyRun } from "./policies.ts";
import {
  fateOfItems,
  isCompactionSummary,
  MEDIA_TOKENS,
  nothingKept,
  type RecordedRows,
  withRemainder,
} from "./recorded-rows.ts";
import type { Fate, InsertedRow, ItemRow, ItemSide, MessageRow } from "./types.ts";

/** Makes the rows of one policy. A row to which the same happened as the last time is the same object. */
export interface WindowRows {
  rowsOf(run: PolicyRun): readonly MessageRow[];
}

/** Knows no row at first. */
export function createWindowRows(recorded: RecordedRows): WindowRows {
  const goneRows = new Map<string, WeakMap<MessageRow, MessageRow>>();
  const changedRows = new WeakMap<MessageRow, MessageRow>();
  const changeItem = createItemUpdater(recorded);

  /** Rows of which nothing is left, each made once for a reason. */
  function goneRowsOf({ stage, reason }: EditReason): (row: MessageRow) => MessageRow {
    const name = `${stage}/${reason}`;
    const known = goneRows.get(name) ?? new WeakMap<MessageRow, MessageRow>();
    goneRows.set(name, known);
    return (row) => {
      let made = known.get(row);
      if (made === undefined) {
        const items = row.items.map((item) =>
          isGone(item) ? item : withRemainder(item, nothingKept({ stage, reason })),
        );
        made = withItems(row, items);
        known.set(row, made);
      }
      return made;
    };
  }

  function changedRow(row: MessageRow, items: readonly ItemRow[]): MessageRow {
    const last = changedRows.get(row);
    if (last?.items.every((item, index) => item === items[index])) return last;
    const made = withItems(row, items);
    changedRows.set(row, made);
    return made;
  }

  return {
    rowsOf({ source, left, edits }) {
      const rows = source.map((message, index) => recorded.rowOf(message, index));
      if (edits.length === 0) return rows;
      const leftById = new Map(left.map((message) => [message.id, message]));
      const { hides, parts } = indexEdits(edits, leftById);
      let why: EditReason = { stage: "", reason: "" };
      let goneRow = goneRowsOf(why);
      return rows.map((row, index) => {
        const before = source[index] as Message;
        const after = leftById.get(before.id);
        if (after === before) return row;
        if (after !== undefined) {
          const own = parts.get(before.id) ?? [];
          return changedRow(
            row,
            row.items.map((item) => changeItem(item, { before, after, edits: own })),
          );
        }
        const hide = hides.get(before.id);
        if (hide === undefined) return row;
        if (hide.stage !== why.stage || hide.reason !== why.reason) {
          why = hide;
          goneRow = goneRowsOf(hide);
        }
        return goneRow(row);
      });
    },
  };
}

/** True for what was hidden already when it was recorded: it stays hidden for that reason. */
function isGone({ fate, keptTokens }: ItemRow): boolean {
  return fate === "hidden" && keptTokens === 0;
}

interface EditIndex {
  readonly hides: ReadonlyMap<MessageId, HideMessage>;
  readonly parts: ReadonlyMap<MessageId, readonly PartEdit[]>;
}

/** Edits of parts matter only where something is left. */
function indexEdits(edits: readonly Edit[], leftById: ReadonlyMap<MessageId, Message>): EditIndex {
  const hides = new Map<MessageId, HideMessage>();
  const parts = new Map<MessageId, PartEdit[]>();
  for (const edit of edits) {
    if (edit.type === "hide-message") hides.set(edit.messageId, edit);
    if (edit.type !== "hide-part" && edit.type !== "replace-part") continue;
    if (!leftById.has(edit.messageId)) continue;
    const known = parts.get(edit.messageId);
    if (known === undefined) parts.set(edit.messageId, [edit]);
    else known.push(edit);
  }
  return { hides, parts };
}

function withItems(row: MessageRow, items: readonly ItemRow[]): MessageRow {
  return {
    ...row,
    items,
    keptTokens: items.reduce((sum, { keptTokens }) => sum + keptTokens, 0),
    fate: fateOfItems(items),
  };
}

/** An edit of one part. */
type PartEdit = HidePart | ReplacePart;

/** A message that is still sent, and what was done to its parts. */
interface ChangedMessage {
  readonly before: Message;
  readonly after: Message;
  readonly edits: readonly PartEdit[];
}

/** Gives an item after edits of its message; the same object as long as the same happens to it. */
function createItemUpdater(recorded: RecordedRows): (item: ItemRow, changed: ChangedMessage) => ItemRow {
  const items = new WeakMap<ItemRow, Remembered>();

  function remembered(item: ItemRow, { text, why, fate }: Omit<Remembered, "row">): ItemRow {
    const known = items.get(item);
    const last = known !== undefined && known.text === text ? known : undefined;
    if (last?.fate === fate && last.why.stage === why.stage && last.why.reason === why.reason)
      return last.row;
    const row =
      text === undefined
        ? withRemainder(item, nothingKept(why))
        : withRemainder(item, {
            fate,
            why,
            chars: text.length,
            // Measuring is what costs; the same text may come back for another reason.
            tokens: last?.row.keptTokens ?? recorded.tokensOf(text),
          });
    items.set(item, { text, why, fate, row });
    return row;
  }

  return (item, { before, after, edits }) => {
    const partBefore = before.parts[item.partIndex];
    const partAfter = after.parts[item.partIndex];
    if (partBefore === undefined || partAfter === undefined || partBefore === partAfter) return item;
    const own = edits.length === 1 ? edits : edits.filter(({ partIndex }) => partIndex === item.partIndex);
    if (partAfter.agentVisible === false) {
      if (partBefore.agentVisible === false) return item;
      return remembered(item, { text: undefined, why: whyOf(own.findLast(isHide)), fate: "hidden" });
    }
    if (isSameSide(partBefore, partAfter, item.side)) return item;
    const edit = lastChange(partBefore, own, item.side);
    const why = whyOf(edit);
    const fate = edit?.type === "hide-part" ? "cleared" : fateOfReason(why.reason, "some");
    const media = mediaIn(partAfter, "shown");
    if (item.side === "media" && (media > 0 || partAfter.type === "tool"))
      return withRemainder(item, { fate, why, chars: 0, tokens: media * MEDIA_TOKENS });
    return remembered(item, { text: textOf(after, partAfter, item.side), why, fate });
  };
}

interface Remembered {
  /** Undefined when nothing is left. */
  readonly text: string | undefined;
  readonly why: EditReason;
  readonly fate: Fate;
  readonly row: ItemRow;
}

function textOf(message: Message, part: Part, side: ItemSide): string {
  if (part.type === "tool") return side === "input" ? inputText(part, "shown") : outputText(part, "shown");
  return partTexts(message, part, "shown")[0]?.text ?? "";
}

function isHide(edit: PartEdit): boolean {
  return edit.type === "hide-part" && edit.what === "part";
}

function whyOf(edit: PartEdit | undefined): EditReason {
  return edit === undefined
    ? { stage: "unknown", reason: "unknown" }
    : { stage: edit.stage, reason: edit.reason };
}

/** The last edit that changed one side of a part; one edit may change both. */
function lastChange(before: Part, edits: readonly PartEdit[], side: ItemSide): PartEdit | undefined {
  if (edits.length <= 1) return edits[0];
  let current = before;
  let last = edits.at(-1);
  for (const edit of edits) {
    const next = edit.type === "replace-part" ? edit.part : cleared(current);
    if (!isSameSide(current, next, side)) last = edit;
    current = next;
  }
  return last;
}

function cleared(part: Part): Part {
  return part.type === "tool" && part.clearedAt === undefined ? { ...part, clearedAt: 0 } : part;
}

function isSameSide(before: Part, after: Part, side: ItemSide): boolean {
  if (side === "media") return mediaIn(before, "shown") === mediaIn(after, "shown");
  if (before.type === "text" && after.type === "text") return before.text === after.text;
  if (before.type !== "tool" || after.type !== "tool") return before === after;
  // How an input reads may have been noted anew while the input itself is the same.
  if (side === "input") return before.input === after.input;
  return before.outcome === after.outcome && before.clearedAt === after.clearedAt;
}

/** The messages that a policy put in, each with the place at which it stands among the recorded ones. */
export function insertedRows(
  { source, left, edits }: PolicyRun,
  { tokensOf }: RecordedRows,
): readonly InsertedRow[] {
  const inserts = edits.filter((edit) => edit.type === "insert-message");
  if (inserts.length === 0) return [];
  const places = placesOf(left, source);
  return inserts.map((edit) => rowOf(edit, { beforeIndex: places.get(edit.message.id) ?? 0, tokensOf }));
}

interface RowInput {
  readonly beforeIndex: number;
  readonly tokensOf: (text: string) => number;
}

function rowOf({ message, stage, reason }: InsertMessage, { beforeIndex, tokensOf }: RowInput): InsertedRow {
  const text = message.parts
    .flatMap((part) => partTexts(message, part, "shown"))
    .map((each) => each.text)
    .join("\n");
  return {
    beforeIndex,
    id: message.id,
    role: message.role,
    kind: kindOf(message),
    text,
    chars: text.length,
    tokens: tokensOf(text),
    stage,
    reason,
    about: explainReason({ stage, reason }),
  };
}

function kindOf(message: Message): InsertedRow["kind"] {
  if (isCompactionSummary(message) || message.metadata?.kind === "tool_summary") return "summary";
  return compactionPart(message) === undefined ? "other" : "marker";
}

/** Before which recorded message each of the others stands. */
function placesOf(left: Transcript, source: Transcript): ReadonlyMap<MessageId, number> {
  const indexes = new Map(source.map(({ id }, index) => [id, index]));
  const places = new Map<MessageId, number>();
  let next = source.length;
  for (const { id } of left.toReversed()) {
    const index = indexes.get(id);
    if (index === undefined) places.set(id, next);
    else next = index;
  }
  return places;
}
