import type { Fate } from "../../view/types.ts";
import type { Band, BandLayout } from "./lay-bands.ts";
import { sentShare } from "./sent-share.ts";

/** The strata drawn into so many rows: each row has the colour of what takes most of it. */
export function minimapRows(layout: BandLayout, { rowCount, matches }: MinimapOptions): MinimapRows {
  const rows: (MinimapRow | undefined)[] = new Array<undefined>(rowCount).fill(undefined);
  const lines = new Set<number>();
  const matched = new Set<number>();
  const scale = layout.heightPx > 0 ? rowCount / layout.heightPx : 0;
  const crowd = createCrowd();
  let crowdRow = -1;
  const settle = (): void => {
    const row = crowd.settle();
    if (row !== undefined && crowdRow >= 0 && crowdRow < rowCount) rows[crowdRow] = row;
  };
  for (const band of layout.bands) {
    const first = Math.floor(band.topPx * scale);
    if (band.type === "line") lines.add(first);
    if (matches.size > 0 && matches.has(band.key)) matched.add(first);
    if (band.type === "line" || band.type === "empty") continue;
    const end = Math.floor((band.topPx + band.heightPx) * scale);
    if (first !== crowdRow) {
      settle();
      crowdRow = first;
    }
    crowd.add(band);
    if (end <= first) continue;
    settle();
    // A gap of one row is left under what is high enough to spare it.
    const last = end - first > 3 ? end - 1 : end;
    crowd.add(band);
    const own = crowd.settle();
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

type Drawn = Extract<Band, { readonly type: "item" | "inserted" }>;

interface Crowd {
  add(band: Drawn): void;
  /** The row of what was added since the last one; undefined when nothing was. */
  settle(): MinimapRow | undefined;
}

/** What has no tokens is drawn all the same, so it counts as one. */
function createCrowd(): Crowd {
  const tokensByColor = new Map<MinimapRow["color"], number>();
  let tokens = 0;
  let keptTokens = 0;
  return {
    add(band) {
      const isItem = band.type === "item";
      const color = isItem ? band.item.fate : "inserted";
      const size = Math.max(1, isItem ? band.item.tokens : band.inserted.tokens);
      tokensByColor.set(color, (tokensByColor.get(color) ?? 0) + size);
      tokens += size;
      keptTokens += isItem ? size * sentShare(band.item) : size;
    },
    settle() {
      if (tokens === 0) return undefined;
      let color: MinimapRow["color"] = "kept";
      let most = -1;
      for (const [each, sum] of tokensByColor) if (sum > most) [color, most] = [each, sum];
      const share = keptTokens / tokens;
      tokensByColor.clear();
      tokens = 0;
      keptTokens = 0;
      return { color, share };
    },
  };
}
