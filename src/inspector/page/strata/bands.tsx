import type { ComponentClass, VNode } from "preact";
import { kindOf } from "../../view/kinds.ts";
import type { InsertedRow, ItemRow, MessageRow } from "../../view/types.ts";
import { memo } from "../elements/memo.tsx";
import { type Band, type Side, type StrataLine, sentShare } from "../state/band-layout.ts";
import { kindClass } from "../window/window-head.tsx";
import { FateBadge } from "../words/fates.tsx";
import { itemLabel, type LabelSource, roleWord } from "../words/item-label.ts";
import { count, plural, short } from "../words/numbers.ts";
import { useTokens } from "../words/token-scale.ts";

/** One band: who said it, what it is, how much of it is sent, and its tokens. */
export const BandRow: ComponentClass<BandRowProps> = memo(function BandRow(props) {
  const { band, isActive, isMatch, place, total, source, compare, mostTokens, costOf } = props;
  if (band.type === "line") return <Line band={band} lines={band.lines} />;
  const isFirst = band.type !== "item" || band.isFirst;
  const names = [isFirst && "first", isActive && "active", isMatch && "match"];
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
      <BandCells band={band} source={source} compare={compare} mostTokens={mostTokens} costOf={costOf} />
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
function BandCells({ band, source, compare, mostTokens, costOf }: BandCellsProps): VNode | null {
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
          <Track item={band.item} mostTokens={mostTokens} />
          <Size item={band.item} cost={costOf?.(band.row, band.item)} />
          {compare === "on" && band.itemB && (
            <>
              <FateBadge fate={band.itemB.fate} />
              <Track item={band.itemB} mostTokens={mostTokens} />
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
    case "folded":
      return (
        <span class="what">
          ▸ {plural(band.messages, "earlier message")}, {short(band.chars)} characters, {band.fate}
        </span>
      );
    case "inserted":
      return <Inserted inserted={band.inserted} side={band.side} mostTokens={mostTokens} />;
    case "line":
      return null;
  }
}

interface BandCellsProps {
  readonly band: Band;
  readonly source: LabelSource;
  readonly compare: "on" | "off";
  /** The tokens that the longest bar stands for. */
  readonly mostTokens: number;
  /** What an item cost, in the order by cost. */
  readonly costOf: CostOf | undefined;
}

/** About what an item cost so far, in a few letters. */
export type CostOf = (row: MessageRow, item: ItemRow) => string;

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

/** Its colour is the kind, its length the tokens, its texture what became of it. */
function Track({ item, mostTokens }: { readonly item: ItemRow; readonly mostTokens: number }): VNode {
  return (
    <span class={`track ${kindClass(kindOf(item))} ${item.fate}`} style={lengthOf(item.tokens, mostTokens)}>
      <span class="sent" style={{ width: `${100 * sentShare(item)}%` }} />
      <span class="unseen"> {item.fate} </span>
    </span>
  );
}

function lengthOf(tokens: number, mostTokens: number): { readonly width: string } {
  return { width: `max(3px, ${(100 * tokens) / mostTokens}%)` };
}

function Size({ item, cost }: { readonly item: ItemRow; readonly cost?: string | undefined }): VNode {
  const shown = useTokens();
  if (cost !== undefined) return <span class="size">{cost}</span>;
  return (
    <span class="size">
      {shown(item.tokens)}
      {item.keptTokens !== item.tokens && (
        <>
          {" → "}
          <b>{shown(item.keptTokens)}</b>
        </>
      )}
      <span class="unseen"> tokens{item.reason !== undefined && `. ${item.reason}`}</span>
    </span>
  );
}

function Inserted({ inserted, side, mostTokens }: InsertedProps): VNode {
  const shown = useTokens();
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
      <span class="track kind-summary" style={lengthOf(inserted.tokens, mostTokens)}>
        <span class="sent" />
      </span>
      <span class="size">
        +{shown(inserted.tokens)}
        <span class="unseen"> tokens. {inserted.about}</span>
      </span>
    </>
  );
}

interface InsertedProps extends Pick<BandCellsProps, "mostTokens"> {
  readonly inserted: InsertedRow;
  readonly side: Side;
}

const EXCERPT_CHARS = 160;
