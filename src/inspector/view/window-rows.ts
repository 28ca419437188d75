import { groupBy } from "../../text/group-by.ts";
import type { Edit, HideMessage, HidePart, ReplacePart } from "../../transcript/edit.ts";
import type { Message } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { type EditReason, fateOfReason } from "./explain-reason.ts";
import { countMedia, inputText, MEDIA_TOKENS, outputText, partTexts } from "./part-texts.ts";
import type { PolicyRun } from "./policies.ts";
import { fateOfItems, nothingKept, type RecordedRows, withRemainder } from "./recorded-rows.ts";
import type { Fate, ItemRow, ItemSide, MessageRow } from "./types.ts";

export function createWindowRows(recorded: RecordedRows): WindowRows {
  const hiddenRows = new WeakMap<MessageRow, { readonly hide: HideMessage; readonly row: MessageRow }>();
  const changedRows = new WeakMap<MessageRow, MessageRow>();
  const updateItem = createItemUpdater(recorded);

  function hiddenRow(row: MessageRow, hide: HideMessage): MessageRow {
    const { stage, reason } = hide;
    const last = hiddenRows.get(row);
    if (last?.hide.stage === stage && last.hide.reason === reason) return last.row;
    const items = row.items.map((item) =>
      isHidden(item) ? item : withRemainder(item, nothingKept({ stage, reason })),
    );
    const made = withItems(row, items);
    hiddenRows.set(row, { hide, row: made });
    return made;
  }

  function changedRow(row: MessageRow, items: readonly ItemRow[]): MessageRow {
    const last = changedRows.get(row);
    if (last?.items.every((item, index) => item === items[index])) return last;
    const made = withItems(row, items);
    changedRows.set(row, made);
    return made;
  }

  return ({ source, left, edits }) => {
    const rows = source.map((message, index) => recorded.rowOf(message, index));
    if (edits.length === 0) return rows;
    const leftById = new Map(left.map((message) => [message.id, message]));
    const hides = new Map(
      edits.flatMap((edit) => (edit.type === "hide-message" ? [[edit.messageId, edit] as const] : [])),
    );
    // Edits of parts count only where the message is still sent.
    const parts = groupBy(
      edits.filter(isPartEdit).filter((edit) => leftById.has(edit.messageId)),
      ({ messageId }) => messageId,
    );
    return rows.map((row, index) => {
      const before = source[index] as Message;
      const after = leftById.get(before.id);
      if (after === before) return row;
      if (after !== undefined) {
        const own = parts.get(before.id) ?? [];
        return changedRow(
          row,
          row.items.map((item) => updateItem(item, { before, after, edits: own })),
        );
      }
      const hide = hides.get(before.id);
      return hide === undefined ? row : hiddenRow(row, hide);
    });
  };
}

/** Makes the rows of one policy's run. A row whose message has the same edits as in the run before is the same object. */
export type WindowRows = (run: PolicyRun) => readonly MessageRow[];

/** True for what was already hidden when it was recorded; it keeps that reason. */
function isHidden({ fate, keptTokens }: ItemRow): boolean {
  return fate === "hidden" && keptTokens === 0;
}

function isPartEdit(edit: Edit): edit is PartEdit {
  return edit.type === "hide-part" || edit.type === "replace-part";
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

/** A message that is still sent, with the edits of its parts. */
interface ChangedMessage {
  readonly before: Message;
  readonly after: Message;
  readonly edits: readonly PartEdit[];
}

/** Gives an item after the edits of its message; the same object as long as text, reason and fate stay the same. */
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
            // The same text may return with another reason; measuring it again would be the expensive part.
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
    const media = countMedia(partAfter, "shown");
    if (item.side === "media" && (media > 0 || partAfter.type === "tool"))
      return withRemainder(item, { fate, why, chars: 0, tokens: media * MEDIA_TOKENS });
    return remembered(item, { text: shownText(after, partAfter, item.side), why, fate });
  };
}

interface Remembered {
  /** Undefined when nothing is left. */
  readonly text: string | undefined;
  readonly why: EditReason;
  readonly fate: Fate;
  readonly row: ItemRow;
}

function shownText(message: Message, part: Part, side: ItemSide): string {
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

/** The last edit that changed this side of a part; one edit may change both. */
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
  if (side === "media") return countMedia(before, "shown") === countMedia(after, "shown");
  if (before.type === "text" && after.type === "text") return before.text === after.text;
  if (before.type !== "tool" || after.type !== "tool") return before === after;
  // The note about a cut may be rewritten while the input itself stays the same.
  if (side === "input") return before.input === after.input;
  return before.outcome === after.outcome && before.clearedAt === after.clearedAt;
}
