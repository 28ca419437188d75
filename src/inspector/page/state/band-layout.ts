import { groupBy } from "../../../text/group-by.ts";
import { kindOf } from "../../view/kinds.ts";
import type { Fate, InsertedRow, ItemRow, MessageRow, WindowView } from "../../view/types.ts";

/** Lays out one band per item, all of the same height: oldest on top, or in the chosen order. */
export function layoutBands(a: WindowView, options: LayoutOptions): BandLayout {
  const { list } = options;
  return list !== undefined && (list.sort !== "time" || Object.keys(list.filter).length > 0)
    ? layoutChosen(a, { ...options, list })
    : layoutAll(a, options);
}

function layoutAll(a: WindowView, { b, windowTokens, last, list }: LayoutOptions): BandLayout {
  const bands: Band[] = [];
  const folded = foldedRows(a, list);
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
  let mostTokens = 1;
  let optionCount = 0;
  const push = (band: Band): void => {
    if (band.type !== "line") optionCount += 1;
    if (band.type === "item") mostTokens = Math.max(mostTokens, band.item.tokens);
    if (band.type === "inserted") mostTokens = Math.max(mostTokens, band.inserted.tokens);
    bands.push(band);
    topPx += band.heightPx;
  };
  const pushBetween = (index: number): void => {
    for (const { row, side } of inserted.get(index) ?? []) {
      const heightPx = ROW_PX + GAP_PX;
      push({ type: "inserted", key: `${side}:${row.id}`, topPx, heightPx, side, inserted: row });
    }
    const here = lines.get(index);
    if (here !== undefined && index >= folded.length)
      push({ type: "line", key: `line:${index}`, topPx, heightPx: LINE_PX, lines: here });
  };
  if (folded.length > 0) push({ ...foldedBand(folded), topPx, heightPx: LINE_PX });
  a.rows.forEach((row, index) => {
    pushBetween(index);
    rowTopsPx.push(topPx);
    rowPlaces.push(bands.length);
    if (index < folded.length) return;
    const { items } = row;
    const others = b?.rows[index]?.items;
    if (items.length === 0)
      push({ type: "empty", key: `message:${row.id}`, topPx, heightPx: ROW_PX + GAP_PX, row });
    const lastPlace = last?.rowPlaces[index] ?? 0;
    items.forEach((item, at) => {
      const itemB = others?.[at];
      const known = last?.bands[lastPlace + at];
      if (known !== undefined && isSameBand(known, { row, item, itemB, topPx })) {
        push(known);
        return;
      }
      const heightPx = ROW_PX + (at === items.length - 1 ? GAP_PX : 0);
      push({ type: "item", key: item.key, topPx, heightPx, row, item, itemB, isFirst: at === 0 });
    });
  });
  pushBetween(a.rows.length);
  rowTopsPx.push(topPx);
  return withPlaces({
    bands,
    optionCount,
    rowTopsPx,
    rowPlaces,
    mostTokens,
    heightPx: topPx,
    cached: cachedSpan(a, rowTopsPx),
  });
}

/** Computed lazily: while a slider moves, most layouts are never asked for a place. */
function withPlaces(layout: Omit<BandLayout, "places">): BandLayout {
  let places: ReadonlyMap<string, number> | undefined;
  return {
    ...layout,
    get places() {
      places ??= placesOf(layout.bands);
      return places;
    },
  };
}

/** Only the items that the filter lets through, the largest first when asked for. */
function layoutChosen(a: WindowView, options: LayoutOptions & { readonly list: ListChoice }): BandLayout {
  const { b, list, requestsWith = () => 1 } = options;
  const folded = foldedRows(a, list);
  const found: BandContent[] = [];
  for (const row of a.rows.slice(folded.length))
    row.items.forEach((item, at) => {
      const itemB = b?.rows[row.index]?.items[at];
      const wants = (side: ItemRow): boolean => isWanted(side, row.index, list.filter);
      if (wants(item) || (itemB !== undefined && wants(itemB)))
        found.push({ type: "item", key: item.key, row, item, itemB, isFirst: true });
    });
  const { kind, ...others } = list.filter;
  if ((kind ?? "summary") === "summary" && Object.keys(others).length === 0)
    for (const [side, view] of [["a", a] as const, ["b", b] as const])
      for (const inserted of view?.inserted ?? [])
        found.push({ type: "inserted", key: `${side}:${inserted.id}`, side, inserted });
  const weight = (content: BandContent): number =>
    tokensOf(content) *
    (list.sort === "cost" && content.type === "item" ? requestsWith(content.row.index) : 1);
  if (list.sort !== "time") found.sort((one, other) => weight(other) - weight(one));
  const hidden = folded.filter(({ items, index }) =>
    items.some((item) => isWanted(item, index, list.filter)),
  );
  if (hidden.length > 0) found.unshift(foldedBand(hidden));
  let topPx = 0;
  const bands = found.map((content): Band => {
    const band = { ...content, topPx, heightPx: content.type === "folded" ? LINE_PX : ROW_PX + GAP_PX };
    topPx += band.heightPx;
    return band;
  });
  const mostTokens = found.reduce((most, content) => Math.max(most, tokensOf(content)), 1);
  return withPlaces({
    bands,
    optionCount: bands.length,
    rowTopsPx: [],
    rowPlaces: [],
    mostTokens,
    heightPx: topPx,
    cached: undefined,
  });
}

function tokensOf(content: BandContent): number {
  return content.type === "item"
    ? content.item.tokens
    : content.type === "inserted"
      ? content.inserted.tokens
      : 0;
}

/** Whether an item of the message with this index is what every field of the filter names. */
function isWanted(item: ItemRow, index: number, filter: ListFilter): boolean {
  const { kind, tool, file, fate, reason, messages, handle } = filter;
  return (
    (messages === undefined || isInRanges(index, messages)) &&
    (handle === undefined || item.handle === handle) &&
    (kind === undefined || kindOf(item) === kind) &&
    (tool === undefined || item.tool === tool) &&
    (file === undefined || item.path === file) &&
    (fate === undefined || item.fate === fate) &&
    (reason === undefined || reasonKey({ ...item, reason: item.reasonId ?? "" }) === reason)
  );
}

/** Messages for the filter, by their indexes: `3-7,12-12`. */
export function messageRanges(ranges: readonly (readonly [from: number, to: number])[]): string {
  return ranges.map(([from, to]) => `${from}-${to}`).join(",");
}

function isInRanges(index: number, messages: string): boolean {
  return messages.split(",").some((range) => {
    const [from = 0, to = -1] = range.split("-").map(Number);
    return index >= from && index <= to;
  });
}

/** Names a row of the table of reasons, for the filter. */
export function reasonKey(row: Pick<ItemRow, "stage" | "reason" | "fate">): string {
  return `${row.stage ?? ""}/${row.reason ?? ""}/${row.fate}`;
}

/** The messages before the window when they are folded into one line. */
function foldedRows(view: WindowView, list: ListChoice | undefined): readonly MessageRow[] {
  return list?.earlier === "folded" ? view.rows.slice(0, firstSent(view) ?? 0) : [];
}

function foldedBand(rows: readonly MessageRow[]): Extract<BandContent, { readonly type: "folded" }> {
  const tokens = new Map<Fate, number>();
  for (const row of rows) tokens.set(row.fate, (tokens.get(row.fate) ?? 0) + row.tokens);
  const [most] = [...tokens].sort((one, other) => other[1] - one[1]);
  return {
    type: "folded",
    key: EARLIER_KEY,
    messages: rows.length,
    chars: rows.reduce((sum, { items }) => sum + items.reduce((own, { chars }) => own + chars, 0), 0),
    fate: most?.[0] ?? "hidden",
  };
}

/** The key of the line that stands for everything before the window. */
export const EARLIER_KEY = "earlier";

/** True when nothing drawn has changed, so that the band can stay the same object. */
function isSameBand(
  known: Band,
  { row, item, itemB, topPx }: Pick<ItemBand, "row" | "item" | "itemB" | "topPx">,
): boolean {
  if (known.type !== "item" || known.item !== item || known.row !== row) return false;
  return known.itemB === itemB && known.topPx === topPx && known.isFirst === (row.items[0] === item);
}

function placesOf(bands: readonly Band[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [place, { type, key }] of bands.entries()) if (type !== "line") places.set(key, place);
  return places;
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
  /** What of the list is shown; everything, oldest first, when unset. */
  readonly list?: ListChoice;
  /** How many requests had the message with this index in them, for the order by cost. */
  readonly requestsWith?: (index: number) => number;
}

/** What of the list is shown, and in which order. */
export interface ListChoice {
  /** Whether the messages before the window are one line. */
  readonly earlier: "folded" | "open";
  readonly sort: "time" | "size" | "cost";
  /** As rows, or as areas by tool and file. */
  readonly shape: "rows" | "treemap";
  readonly filter: ListFilter;
}

/** What an item must be; an empty one lets everything through. */
export type ListFilter = Readonly<
  Partial<Record<"kind" | "tool" | "file" | "fate" | "reason" | "messages" | "handle", string>>
>;

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
  /** The tokens of the largest band, whose bar is the longest. */
  readonly mostTokens: number;
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
  | {
      readonly type: "folded";
      readonly key: string;
      readonly messages: number;
      readonly chars: number;
      /** The fate of most of their tokens. */
      readonly fate: Fate;
    }
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

const ROW_PX = 19;
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
