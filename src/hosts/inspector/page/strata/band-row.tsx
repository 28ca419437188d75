import { Component, type VNode } from "preact";
import { BandCells, type BandCellsProps } from "./band-cells.tsx";
import type { Band, StrataLine } from "./lay-bands.ts";

/** One band of the strata: who, what, how much of it is sent, and how many tokens that is. */
export class BandRow extends Component<BandRowProps> {
  /** Scrolling shows the same bands again and again: only those that changed are rendered. */
  override shouldComponentUpdate(next: BandRowProps): boolean {
    const now = this.props;
    return BAND_PROPS.some((name) => next[name] !== now[name]);
  }

  override render({ band, isActive, isMatch, place, total, source, compare }: BandRowProps): VNode {
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
  }
}

/** The id of a band's element, for whoever points at it. */
export function bandElementId(place: number): string {
  return `band-${place}`;
}

export interface BandRowProps extends BandCellsProps {
  readonly isActive: boolean;
  readonly isMatch: boolean;
  /** Its number among all bands, and how many there are. */
  readonly place: number;
  readonly total: number;
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

/** From here on a label has room for a second line. */
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
