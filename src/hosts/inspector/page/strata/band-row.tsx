import { Component, type VNode } from "preact";
import type { ItemRow, MessageRow } from "../../view/types.ts";
import { itemLabel, type LabelSource } from "../words/item-label.ts";
import { count } from "../words/numbers.ts";
import { FateBadge } from "./fate-badge.tsx";
import type { Band, StrataLine } from "./lay-bands.ts";

/** One band of the strata: who, what, how much of it is sent, and how many tokens that is. */
export class BandRow extends Component<BandRowProps> {
  /** Scrolling shows the same bands again and again: only those that changed are rendered. */
  override shouldComponentUpdate(next: BandRowProps): boolean {
    const now = this.props;
    return BAND_PROPS.some((name) => next[name] !== now[name]);
  }

  override render(props: BandRowProps): VNode {
    const { band, isActive, isMatch, place, total } = props;
    if (band.type === "line") return <Line band={band} lines={band.lines} />;
    const isFirst = band.type !== "item" || band.isFirst;
    const names = [
      isFirst && "first",
      isActive && "active",
      isMatch && "match",
      band.heightPx >= TALL_PX && "tall",
    ];
    return (
      <div
        id={bandElementId(band.key)}
        data-key={band.key}
        class={["band", band.type, ...names.filter((name) => name !== false)].join(" ")}
        role="option"
        tabIndex={-1}
        aria-selected={isActive}
        aria-setsize={total}
        aria-posinset={place + 1}
        aria-label={describe(props)}
        style={{ top: `${band.topPx}px`, height: `${band.heightPx}px` }}
      >
        {content(props)}
      </div>
    );
  }
}

/** From here on a label has room for a second line. */
const TALL_PX = 42;

/** The id of a band's element, for whoever points at it. */
export function bandElementId(key: string): string {
  return `band-${key}`;
}

export interface BandRowProps {
  readonly band: Band;
  readonly source: LabelSource;
  readonly isActive: boolean;
  readonly isMatch: boolean;
  /** Its number among all bands, and how many there are. */
  readonly place: number;
  readonly total: number;
  readonly compare: "on" | "off";
}

const BAND_PROPS: readonly (keyof BandRowProps)[] = [
  "band",
  "source",
  "isActive",
  "isMatch",
  "place",
  "total",
  "compare",
];

function content({ band, source, compare }: BandRowProps): VNode | null {
  switch (band.type) {
    case "item": {
      const { what, detail } = itemLabel(source, band.row, band.item);
      return (
        <>
          <span class="who">{band.isFirst && <Who row={band.row} />}</span>
          <FateBadge fate={band.item.fate} />
          <span class="what">
            <b>{what}</b> {detail}
          </span>
          <Track item={band.item} />
          <Size item={band.item} />
          {compare === "on" && band.itemB && (
            <>
              <FateBadge fate={band.itemB.fate} />
              <Track item={band.itemB} />
              <Size item={band.itemB} />
            </>
          )}
        </>
      );
    }
    case "empty":
      return (
        <>
          <span class="who">
            <Who row={band.row} />
          </span>
          <span />
          <span class="what">nothing that takes room</span>
        </>
      );
    case "inserted": {
      const { inserted, side } = band;
      const own = (
        <>
          <span class="track">
            <span class="sent inserted" />
          </span>
          <span class="size">+{count(inserted.tokens)}</span>
        </>
      );
      return (
        <>
          <span class="who">new</span>
          <span class="badge inserted">+</span>
          <span class="what">
            <b>{inserted.kind === "other" ? inserted.role : inserted.kind}</b> {inserted.text.slice(0, 120)}
          </span>
          {side === "b" && (
            <>
              <span />
              <span />
              <span />
            </>
          )}
          {own}
        </>
      );
    }
    case "line":
      return null;
  }
}

function Who({ row }: { readonly row: MessageRow }): VNode {
  return (
    <>
      <i>{count(row.index + 1)}</i> {row.role === "assistant" ? "agent" : row.role.slice(0, 8)}
    </>
  );
}

function Track({ item }: { readonly item: ItemRow }): VNode {
  const share = item.tokens > 0 ? item.keptTokens / item.tokens : item.fate === "kept" ? 1 : 0;
  return (
    <span class={`track ${item.fate}`}>
      <span class="sent" style={{ width: `${Math.min(100, 100 * share)}%` }} />
    </span>
  );
}

function Size({ item }: { readonly item: ItemRow }): VNode {
  if (item.keptTokens === item.tokens) return <span class="size">{count(item.tokens)}</span>;
  return (
    <span class="size">
      {count(item.tokens)} → <b>{count(item.keptTokens)}</b>
    </span>
  );
}

function Line({ band, lines }: { readonly band: Band; readonly lines: readonly StrataLine[] }): VNode {
  return (
    <div class="line" role="presentation" style={{ top: `${band.topPx}px`, height: `${band.heightPx}px` }}>
      {lines.map((line) => (
        <span key={line} class={line}>
          {LINE_TEXTS[line]}
        </span>
      ))}
    </div>
  );
}

const LINE_TEXTS: Readonly<Record<StrataLine, string>> = {
  compaction: "compaction",
  window: "the window begins here",
  full: "the window is full here: what is above does not fit",
};

function describe({ band, source }: BandRowProps): string {
  if (band.type === "inserted") return `${band.inserted.kind}, put in: ${band.inserted.about}`;
  if (band.type !== "item")
    return band.type === "empty" ? `message ${band.row.index + 1}, nothing in it` : "";
  const { item, row } = band;
  const { what, detail } = itemLabel(source, row, item);
  const size =
    item.keptTokens === item.tokens
      ? `${count(item.tokens)} tokens`
      : `${count(item.keptTokens)} of ${count(item.tokens)} tokens sent`;
  return `message ${row.index + 1}, ${row.role}, ${what} ${detail.slice(0, 60)}, ${item.fate}, ${size}${item.reason === undefined ? "" : `, ${item.reason}`}`;
}
