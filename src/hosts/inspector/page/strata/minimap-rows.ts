import type { Fate } from "../../view/types.ts";
import type { Band, BandLayout } from "./lay-bands.ts";
import { sentShare } from "./sent-share.ts";

/** The strata drawn into so many rows: each row has the colour of what takes most of it. */
export function minimapRows(layout: BandLayout, { rowCount, matches }: MinimapOptions): MinimapRows {
  const rows: (MinimapRow | undefined)[] = new Array<undefined>(rowCount).fill(undefined);
  const lines = new Set<number>();
  const matched = new Set<number>();
  const scale = layout.heightPx > 0 ? rowCount / layout.heightPx : 0;
  let crowd: Band[] = [];
  let crowdRow = -1;
  const settle = (): void => {
    if (crowdRow >= 0 && crowdRow < rowCount && crowd.length > 0) rows[crowdRow] = rowOf(crowd);
    crowd = [];
  };
  for (const band of layout.bands) {
    const first = Math.floor(band.topPx * scale);
    if (band.type === "line") lines.add(first);
    if (matches.has(band.key)) matched.add(first);
    if (band.type === "line" || band.type === "empty") continue;
    const end = Math.floor((band.topPx + band.heightPx) * scale);
    if (first !== crowdRow) {
      settle();
      crowdRow = first;
    }
    crowd.push(band);
    if (end <= first) continue;
    settle();
    // A gap of one row is left under what is high enough to spare it.
    const last = end - first > 3 ? end - 1 : end;
    const own = rowOf([band]);
    for (let row = first + 1; row < Math.min(last, rowCount); row++) rows[row] = own;
    crowdRow = end;
  }
  settle();
  return { rows, marks: { lines: [...lines], matches: [...matched] } };
}

interface MinimapOptions {
  readonly rowCount: number;
  readonly matches: ReadonlySet<string>;
}

export interface MinimapRows {
  /** A row without anything in it is undefined. */
  readonly rows: readonly (MinimapRow | undefined)[];
  readonly marks: { readonly lines: readonly number[]; readonly matches: readonly number[] };
}

export interface MinimapRow {
  readonly color: Fate | "inserted";
  /** How much of it is sent, from 0 to 1. */
  readonly share: number;
}

function rowOf(bands: readonly Band[]): MinimapRow {
  const tokensByColor = new Map<MinimapRow["color"], number>();
  let tokens = 0;
  let keptTokens = 0;
  for (const band of bands) {
    const size = sizeOf(band);
    if (size === undefined) continue;
    tokensByColor.set(size.color, (tokensByColor.get(size.color) ?? 0) + size.tokens);
    tokens += size.tokens;
    keptTokens += size.tokens * size.share;
  }
  let color: MinimapRow["color"] = "kept";
  let most = -1;
  for (const [each, sum] of tokensByColor) if (sum > most) [color, most] = [each, sum];
  return { color, share: keptTokens / tokens };
}

/** What has no tokens is drawn all the same, so it counts as one. */
function sizeOf(band: Band): (MinimapRow & { readonly tokens: number }) | undefined {
  if (band.type === "inserted")
    return { color: "inserted", share: 1, tokens: Math.max(1, band.inserted.tokens) };
  if (band.type !== "item") return undefined;
  return { color: band.item.fate, share: sentShare(band.item), tokens: Math.max(1, band.item.tokens) };
}
