import type { Edit, HideMessage, HidePart, ReplacePart } from "../../../transcript/edit.ts";
import type { Message, MessageId } from "../../../transcript/message.ts";
import type { Part } from "../../../transcript/part.ts";
import { fateOfReason, type Why } from "./explain-reason.ts";
import { mediaIn, partTexts } from "./part-texts.ts";
import type { PolicyRun } from "./policy-run.ts";
import { fateOfItems, gone, MEDIA_TOKENS, type RecordedRows, withLeft } from "./recorded-rows.ts";
import type { ItemRow, MessageRow } from "./types.ts";

/** Makes rows out of edits. Rows of messages to which the same happened are the same objects each time. */
export interface WindowRows {
  rowsOf(run: PolicyRun): readonly MessageRow[];
}

/** Knows no row at first. */
export function createWindowRows(recorded: RecordedRows): WindowRows {
  const goneRows = new Map<string, WeakMap<MessageRow, MessageRow>>();

  /** Rows without a message, each made once for a reason. */
  function goneRowsOf(why: Why): (row: MessageRow) => MessageRow {
    const name = `${why.stage}/${why.reason}`;
    const known = goneRows.get(name) ?? new WeakMap<MessageRow, MessageRow>();
    goneRows.set(name, known);
    return (row) => {
      let made = known.get(row);
      if (made === undefined) {
        made = withItems(
          row,
          row.items.map((item) => leave(item, why)),
        );
        known.set(row, made);
      }
      return made;
    };
  }

  return {
    rowsOf({ source, left, edits }) {
      const rows = source.map((message, index) => recorded.rowOf(message, index));
      if (edits.length === 0) return rows;
      const leftById = new Map(left.map((message) => [message.id, message]));
      const { hides, parts } = indexEdits(edits, leftById);
      let why: Why = { stage: "", reason: "" };
      let goneRow = goneRowsOf(why);
      return rows.map((row, index) => {
        const message = source[index] as Message;
        const rest = leftById.get(message.id);
        if (rest === message) return row;
        if (rest !== undefined)
          return withItems(
            row,
            changedItems({ row, message, left: rest, edits: parts.get(message.id) ?? [], recorded }),
          );
        const hide = hides.get(message.id);
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

type PartEdit = HidePart | ReplacePart;

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

interface ChangedMessage {
  readonly row: MessageRow;
  readonly message: Message;
  readonly left: Message;
  readonly edits: readonly PartEdit[];
  readonly recorded: RecordedRows;
}

function changedItems({ row, message, left, edits, recorded }: ChangedMessage): readonly ItemRow[] {
  return row.items.map((item) => {
    const before = message.parts[item.partIndex];
    const after = left.parts[item.partIndex];
    if (before === undefined || after === undefined || before === after) return item;
    const own = edits.filter(({ partIndex }) => partIndex === item.partIndex);
    if (after.agentVisible === false) return leave(item, whyOf(own.findLast(isHide) ?? own.at(-1)));
    if (isSameSide(before, after, item.side)) return item;
    const why = whyOf(lastChange(before, own, item.side));
    const { chars, tokens } = leftOf(item, { left, after, recorded });
    const fate = isHiddenOutput(own, item) ? "cleared" : fateOfReason(why.reason, "some");
    return withLeft(item, { fate, why, chars, tokens });
  });
}

/** What was gone already when it was recorded stays gone for that reason. */
function leave(item: ItemRow, why: Why): ItemRow {
  return item.keptTokens === 0 && item.fate === "hidden" ? item : withLeft(item, gone(why));
}

function isHide(edit: PartEdit): boolean {
  return edit.type === "hide-part" && edit.what === "part";
}

function isHiddenOutput(edits: readonly PartEdit[], { side }: ItemRow): boolean {
  const last = edits.at(-1);
  return side !== "input" && last?.type === "hide-part" && last.what === "output";
}

function whyOf(edit: PartEdit | undefined): Why {
  return edit === undefined
    ? { stage: "unknown", reason: "unknown" }
    : { stage: edit.stage, reason: edit.reason };
}

/** The last edit that changed one side of a part; one edit may change both. */
function lastChange(before: Part, edits: readonly PartEdit[], side: ItemRow["side"]): PartEdit | undefined {
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
  return part.type === "tool" ? { ...part, clearedAt: part.clearedAt ?? 0 } : part;
}

function isSameSide(before: Part, after: Part, side: ItemRow["side"]): boolean {
  if (before.type === "text" && after.type === "text") return before.text === after.text;
  if (before.type !== "tool" || after.type !== "tool") return before === after;
  if (side === "input") return before.input === after.input && before.inputCut === after.inputCut;
  return before.outcome === after.outcome && before.clearedAt === after.clearedAt;
}

interface LeftInput {
  readonly left: Message;
  readonly after: Part;
  readonly recorded: RecordedRows;
}

function leftOf(
  item: ItemRow,
  { left, after, recorded }: LeftInput,
): { readonly chars: number; readonly tokens: number } {
  const media = mediaIn(after, "shown");
  if (item.side === "media" && (media > 0 || after.type === "tool"))
    return { chars: 0, tokens: media * MEDIA_TOKENS };
  const texts = partTexts(left, after, "shown");
  const text = (texts.find(({ side }) => side === item.side) ?? texts[0])?.text ?? "";
  return { chars: text.length, tokens: recorded.tokensOf(text) };
}
