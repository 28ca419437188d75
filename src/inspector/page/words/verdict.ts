import type { InspectedSession, ItemRow, MessageRow, WindowView } from "../../view/types.ts";
import { itemName } from "./item-label.ts";
import { short } from "./numbers.ts";

/** A window in one line: what was recorded, what is in the window, and the largest item that is not. */
export function verdictOf(view: WindowView, session: InspectedSession): string {
  if (view.rows.length === 0) return "Nothing was said yet.";
  const sizes = `${short(view.charsBefore)} chars seen, ${short(view.charsAfter)} in the window`;
  const measure = view.charsBefore > view.charsAfter ? "savedChars" : "chars";
  const largest = largestOf(view, measure);
  if (largest === undefined) return sizes;
  const { row, item } = largest;
  const words = measure === "savedChars" ? "most of what is not" : "largest";
  return `${sizes}; ${words}: ${itemName(session, row, item)} (${short(item[measure])})`;
}

function largestOf({ rows }: WindowView, measure: "chars" | "savedChars"): Largest | undefined {
  let largest: Largest | undefined;
  for (const row of rows) {
    for (const item of row.items) {
      if (item[measure] > (largest?.item[measure] ?? 0)) largest = { row, item };
    }
  }
  return largest;
}

interface Largest {
  readonly row: MessageRow;
  readonly item: ItemRow;
}
