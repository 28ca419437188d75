import type { HidePart, ReplacePart } from "../../../transcript/edit.ts";
import type { Message } from "../../../transcript/message.ts";
import type { Part } from "../../../transcript/part.ts";
import { fateOfReason, type Why } from "./explain-reason.ts";
import { inputText, mediaIn, outputText, partTexts } from "./part-texts.ts";
import { gone, MEDIA_TOKENS, type RecordedRows, withLeft } from "./recorded-rows.ts";
import type { Fate, ItemRow, ItemSide } from "./types.ts";

/** An edit of one part. */
export type PartEdit = HidePart | ReplacePart;

/** A message that is still sent, and what was done to its parts. */
export interface ChangedMessage {
  readonly before: Message;
  readonly after: Message;
  readonly edits: readonly PartEdit[];
}

/** Gives an item after edits of its message; the same object as long as the same happens to it. */
export function changedItem(recorded: RecordedRows): (item: ItemRow, changed: ChangedMessage) => ItemRow {
  const items = new WeakMap<ItemRow, Remembered>();

  function remembered(item: ItemRow, { text, why, fate }: Omit<Remembered, "row">): ItemRow {
    const known = items.get(item);
    const last = known !== undefined && known.text === text ? known : undefined;
    if (last?.fate === fate && last.why.stage === why.stage && last.why.reason === why.reason)
      return last.row;
    const row =
      text === undefined
        ? withLeft(item, gone(why))
        : withLeft(item, {
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
      return withLeft(item, { fate, why, chars: 0, tokens: media * MEDIA_TOKENS });
    return remembered(item, { text: textOf(after, partAfter, item.side), why, fate });
  };
}

interface Remembered {
  /** Undefined when nothing is left. */
  readonly text: string | undefined;
  readonly why: Why;
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

function whyOf(edit: PartEdit | undefined): Why {
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
