import type { Transcript } from "../../../../transcript/message.ts";
import type { ItemRow, WindowView } from "../../view/types.ts";
import { itemLabel } from "./item-label.ts";
import { short } from "./numbers.ts";

/** A window in one line: what was said, what is sent, and what made the difference. */
export function verdictOf(view: WindowView, transcript: Transcript): string {
  if (view.rows.length === 0) return "Nothing was said yet.";
  const sizes = `${short(view.charsBefore)} chars seen, ${short(view.charsAfter)} sent`;
  const largest = largestOf(view, view.charsBefore > view.charsAfter ? "savedChars" : "chars");
  if (largest === undefined) return sizes;
  const { what, detail } = itemLabel(transcript[largest.index], largest.item);
  const isLeft = largest.item.savedChars > 0;
  const name =
    detail === ""
      ? what
      : `${what} of ${detail.length > NAME_CHARS ? `${detail.slice(0, NAME_CHARS)}…` : detail}`;
  const chars = isLeft ? largest.item.savedChars : largest.item.chars;
  return `${sizes}; ${isLeft ? "most that left" : "largest"}: ${name}, ${short(chars)}`;
}

const NAME_CHARS = 40;

function largestOf({ rows }: WindowView, measure: "chars" | "savedChars"): Largest | undefined {
  let largest: Largest | undefined;
  for (const { index, items } of rows) {
    for (const item of items) {
      if (item[measure] > (largest?.item[measure] ?? 0)) largest = { index, item };
    }
  }
  return largest;
}

interface Largest {
  readonly index: number;
  readonly item: ItemRow;
}
