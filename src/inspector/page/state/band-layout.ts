import { groupBy } from "../../../text/json.ts";
import type { InsertedRow, ItemRow, MessageRow, WindowView } from "../../view/types.ts";

/** Lays out one band an item, oldest on top, with a height by its tokens. */
export function layoutBands(a: WindowView, { b, windowTokens, last }: LayoutOptions): BandLayout {
  const bands: Band[] = [];
  const rowPlaces: number[] = [];
  const rowTopsPx: number[] = [];
  const lines = linesOf(a, windowTokens);
  const inserted = groupBy(
    [
      ...a.inserted.map((row) => ({ row, side: "a" as const })),
      ...(b?.inserted ?? []).map((row) => ({ row, side: "b" as const })),
    ],
    ({ row }) => Math.min(row.beforeIndex, a.rows.length),
  );
  let topPx = 0;
  const push = (band: Band): void => {
    bands.push(band);
    topPx += band.heightPx;
  };
  const pushBetween = (index: number): void => {
    for (const { row, side } of inserted.get(index) ?? []) {
      const heightPx = heightOf(row.tokens) + GAP_PX;
      push({ type: "inserted", key: `${side}:${row.id}`, topPx, heightPx, side, inserted: row });
    }
    const here = lines.get(index);
    if (here !== undefined)
      push({ type: "line", key: `line:${index}`, topPx, heightPx: LINE_PX, lines: here });
  };
  a.rows.forEach((row, index) => {
    pushBetween(index);
    rowTopsPx.push(topPx);
    rowPlaces.push(bands.length);
    const { items } = row;
    const others = b?.rows[index]?.items;
    if (items.length === 0)
      push({ type: "empty", key: `message:${row.id}`, topPx, heightPx: MIN_PX + GAP_PX, row });
    const lastPlace = last?.rowPlaces[index] ?? 0;
    items.forEach((item, at) => {
      const itemB = others?.[at];
      const known = last?.bands[lastPlace + at];
      if (known !== undefined && isSameBand(known, { row, itemB, topPx })) {
        push(known);
        return;
      }
      const heightPx = heightOf(item.tokens) + (at === items.length - 1 ? GAP_PX : 0);
      push({ type: "item", key: item.key, topPx, heightPx, row, item, itemB, isFirst: at === 0 });
    });
  });
  pushBetween(a.rows.length);
  rowTopsPx.push(topPx);
  let places: ReadonlyMap<string, number> | undefined;
  return {
    bands,
    // While a slider moves most layouts are never asked for a place.
    get places() {
      places ??= placesOf(bands);
      return places;
    },
    optionCount: bands.length - lines.size,
    rowTopsPx,
    rowPlaces,
    heightPx: topPx,
    cached: cachedSpan(a, rowTopsPx),
  };
}

/** True when nothing drawn has changed, so that the band can stay the same object. */
function isSameBand(known: Band, { row, itemB, topPx }: Pick<ItemBand, "row" | "itemB" | "topPx">): boolean {
  return known.type === "item" && known.row === row && known.itemB === itemB && known.topPx === topPx;
}

function placesOf(bands: readonly Band[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [place, { type, key }] of bands.entries()) if (type !== "line") places.set(key, place);
  return places;
}

/** The height of an item grows with the square root of its tokens, so that small ones stay visible and large ones fit. */
export function heightOf(tokens: number): number {
  return Math.round(
    Math.min(MAX_PX, Math.max(MIN_PX, BASE_PX + PX_PER_ROOT_TOKEN * Math.sqrt(Math.max(0, tokens)))),
  );
}

/** The bands that are at least partly between two heights, and the index of the first. */
export function bandsBetween(
  { bands }: BandLayout,
  fromPx: number,
  toPx: number,
): { readonly first: number; readonly bands: readonly Band[] } {
  let low = 0;
  let high = bands.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const band = bands[middle];
    if (band !== undefined && band.topPx + band.heightPx <= fromPx) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < bands.length && (bands[end]?.topPx ?? 0) < toPx) end++;
  return { first: low, bands: bands.slice(low, end) };
}

export interface LayoutOptions {
  /** The view of the policy to compare with. */
  readonly b?: WindowView | undefined;
  readonly windowTokens: number;
  /** The previous layout; unchanged bands are taken from it. */
  readonly last?: BandLayout | undefined;
}

export interface BandLayout {
  readonly bands: readonly Band[];
  /** The index in `bands` of each key; lines are left out, since they cannot be selected. */
  readonly places: ReadonlyMap<string, number>;
  /** How many bands can be selected: all but lines. */
  readonly optionCount: number;
  /** Top of each message, and the bottom of the last. */
  readonly rowTopsPx: readonly number[];
  /** Where in `bands` each message begins. */
  readonly rowPlaces: readonly number[];
  readonly heightPx: number;
  /** Where the cached prefix is drawn; unset when nothing is cached. */
  readonly cached?:
    | { readonly topPx: number; readonly heightPx: number; readonly tokens: number }
    | undefined;
}

export type Band = BandContent & { readonly topPx: number; readonly heightPx: number };
export type ItemBand = Extract<Band, { readonly type: "item" }>;

type BandContent =
  | {
      readonly type: "item";
      readonly key: string;
      readonly row: MessageRow;
      readonly item: ItemRow;
      /** The same item under the other policy. */
      readonly itemB: ItemRow | undefined;
      readonly isFirst: boolean;
    }
  | { readonly type: "empty"; readonly key: string; readonly row: MessageRow }
  | { readonly type: "inserted"; readonly key: string; readonly side: Side; readonly inserted: InsertedRow }
  | { readonly type: "line"; readonly key: string; readonly lines: readonly StrataLine[] };

/** Which of two policies that are compared. */
export type Side = "a" | "b";

/** A line across the strata. */
export type StrataLine = "compaction" | "window" | "full";

function linesOf(view: WindowView, windowTokens: number): ReadonlyMap<number, readonly StrataLine[]> {
  const lines = new Map<number, StrataLine[]>();
  const add = (index: number, line: StrataLine): void => {
    lines.set(index, [...(lines.get(index) ?? []), line]);
  };
  for (const index of view.boundaries) add(index, "compaction");
  const first = firstSent(view);
  if (first !== undefined) add(first, "window");
  let sumTokens = 0;
  for (let index = view.rows.length - 1; index >= 0; index--) {
    sumTokens += view.rows[index]?.keptTokens ?? 0;
    if (sumTokens <= windowTokens) continue;
    add(index + 1, "full");
    break;
  }
  return lines;
}

function firstSent(view: WindowView): number | undefined {
  const index = view.rows.findIndex(({ keptTokens }) => keptTokens > 0);
  return index < 0 ? undefined : index;
}

function cachedSpan(view: WindowView, rowTopsPx: readonly number[]): BandLayout["cached"] {
  const { endIndex, tokens } = view.cachedPrefix;
  const first = firstSent(view);
  const topPx = first === undefined ? undefined : rowTopsPx[first];
  const bottomPx = rowTopsPx[endIndex];
  if (topPx === undefined || bottomPx === undefined || bottomPx <= topPx || tokens <= 0) return undefined;
  return { topPx, heightPx: bottomPx - topPx - GAP_PX, tokens };
}

const MIN_PX = 19;
const MAX_PX = 150;
const BASE_PX = 15;
const PX_PER_ROOT_TOKEN = 0.8;
const GAP_PX = 4;
const LINE_PX = 24;

/** The band to which a pressed key leads; undefined when it leads to none. */
export function bandAfterKeyPress(
  pressed: string,
  layout: BandLayout,
  active: string | undefined,
): string | undefined {
  const { bands } = layout;
  const from = (active === undefined ? undefined : layout.places.get(active)) ?? -1;
  switch (pressed) {
    case "ArrowDown":
      return next(layout, from, 1);
    case "ArrowUp":
      return next(layout, from < 0 ? bands.length : from, -1);
    case "PageDown":
      return (
        next(layout, Math.min(bands.length - 2, from + PAGE_BANDS - 1), 1) ?? next(layout, bands.length, -1)
      );
    case "PageUp":
      return next(layout, Math.max(1, from - PAGE_BANDS + 1), -1) ?? next(layout, -1, 1);
    case "Home":
      return next(layout, -1, 1);
    case "End":
      return next(layout, bands.length, -1);
    case "ArrowRight":
      return next(layout, from, 1, beginsMessage);
    case "ArrowLeft":
      return next(layout, from, -1, beginsMessage);
    default:
      return undefined;
  }
}

const PAGE_BANDS = 12;

function next({ bands }: BandLayout, from: number, step: 1 | -1, isWanted = isOption): string | undefined {
  const ahead = step === 1 ? bands.slice(from + 1) : bands.slice(0, Math.max(0, from)).toReversed();
  return ahead.find(isWanted)?.key;
}

function isOption({ type }: Band): boolean {
  return type !== "line";
}

/** True for the first item of a message. */
function beginsMessage(band: Band): boolean {
  return isOption(band) && (band.type !== "item" || band.isFirst);
}

/** How much of an item is sent, from 0 to 1; of one without tokens all or nothing. */
export function sentShare({ tokens, keptTokens, fate }: SizedItem): number {
  if (tokens <= 0) return fate === "kept" ? 1 : 0;
  return Math.min(1, keptTokens / tokens);
}

type SizedItem = Pick<ItemRow, "tokens" | "keptTokens" | "fate">;
