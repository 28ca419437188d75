import type { ComponentClass, VNode } from "preact";
import type { InsertedRow, ItemRow, MessageRow } from "../../view/types.ts";
import { type Band, type Side, type StrataLine, sentShare } from "../state/band-layout.ts";
import { count, FateBadge, itemLabel, type LabelSource, memo, roleWord } from "../words/words.tsx";

/** One band: who said it, what it is, how much of it is sent, and its tokens. */
export const BandRow: ComponentClass<BandRowProps> = memo(function BandRow(props) {
  const { band, isActive, isMatch, place, total, source, compare } = props;
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
      id={bandElementId(place)}
      data-key={band.key}
      class={["band", band.type, ...names.filter((name) => name !== false)].join(" ")}
      role="option"
      tabIndex={-1}
      aria-selected={isActive}
      aria-setsize={total}
      aria-posinset={place + 1}
      style={{ top: `${band.topPx}px`, height: `${band.heightPx}px` }}
    >
      <BandCells band={band} source={source} compare={compare} />
    </div>
  );
});

/** The id of a band's element, for `aria-activedescendant`. */
export function bandElementId(place: number): string {
  return `band-${place}`;
}

interface BandRowProps extends BandCellsProps {
  readonly isActive: boolean;
  readonly isMatch: boolean;
  /** Its number among all bands, and how many there are. */
  readonly place: number;
  readonly total: number;
}

/** From this height on a label has room for a second line. */
const TALL_PX = 42;

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

/** The cells of a band; what colour and position show is also there as text for screen readers. */
function BandCells({ band, source, compare }: BandCellsProps): VNode | null {
  switch (band.type) {
    case "item": {
      const { what, detail } = itemLabel(source, band.row, band.item);
      return (
        <>
          <Who row={band.row} isFirst={band.isFirst} />
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
          <Who row={band.row} isFirst />
          <span />
          <span class="what">nothing that takes room</span>
        </>
      );
    case "inserted":
      return <Inserted inserted={band.inserted} side={band.side} />;
    case "line":
      return null;
  }
}

interface BandCellsProps {
  readonly band: Band;
  readonly source: LabelSource;
  readonly compare: "on" | "off";
}

function Who({ row, isFirst }: { readonly row: MessageRow; readonly isFirst: boolean }): VNode {
  const role = roleWord(row.role);
  if (!isFirst) {
    return (
      <span class="who">
        <span class="unseen">{`message ${count(row.index + 1)} ${role} `}</span>
      </span>
    );
  }
  return (
    <span class="who">
      <span class="unseen">message </span>
      <i>{count(row.index + 1)}</i> {role}
    </span>
  );
}

function Track({ item }: { readonly item: ItemRow }): VNode {
  return (
    <span class={`track ${item.fate}`}>
      <span class="sent" style={{ width: `${100 * sentShare(item)}%` }} />
      <span class="unseen"> {item.fate} </span>
    </span>
  );
}

function Size({ item }: { readonly item: ItemRow }): VNode {
  return (
    <span class="size">
      {count(item.tokens)}
      {item.keptTokens !== item.tokens && (
        <>
          {" → "}
          <b>{count(item.keptTokens)}</b>
        </>
      )}
      <span class="unseen"> tokens{item.reason !== undefined && `. ${item.reason}`}</span>
    </span>
  );
}

function Inserted({ inserted, side }: { readonly inserted: InsertedRow; readonly side: Side }): VNode {
  return (
    <>
      <span class="who">new</span>
      <span class="badge inserted" aria-hidden="true">
        +
      </span>
      <span class="what">
        <b>{inserted.kind === "other" ? inserted.role : inserted.kind}</b>{" "}
        {inserted.text.slice(0, EXCERPT_CHARS)}
      </span>
      {side === "b" && (
        <>
          <span />
          <span />
          <span />
        </>
      )}
      <span class="track">
        <span class="sent inserted" />
      </span>
      <span class="size">
        +{count(inserted.tokens)}
        <span class="unseen"> tokens. {inserted.about}</span>
      </span>
    </>
  );
}

const EXCERPT_CHARS = 160;
