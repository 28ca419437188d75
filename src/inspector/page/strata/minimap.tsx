import type { RefObject, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { KINDS, kindOf } from "../../view/kinds.ts";
import type { KindTokens } from "../../view/types.ts";
import { type Band, type BandLayout, sentShare } from "../state/band-layout.ts";
import { kindClass } from "../window/window-head.tsx";

/** The whole session in one small column; pressing or dragging scrolls there. */
export function Minimap({ layout, matches, topPx, heightPx, scroller }: MinimapProps): VNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const paintedTheme = useThemeName();
  const [sizePx, setSizePx] = useState(0);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setSizePx(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current !== null) paint(canvas.current, layout, matches);
  }, [layout, matches, paintedTheme, sizePx]);
  const scale = layout.heightPx > 0 ? Math.min(1, sizePx / layout.heightPx) : 0;
  const go = (event: PointerEvent): void => {
    const element = canvas.current;
    if (element === null || scroller.current === null || event.buttons === 0) return;
    const box = element.getBoundingClientRect();
    scroller.current.scrollTop = (event.clientY - box.top) / scale - heightPx / 2;
  };
  return (
    <div class="minimap" aria-hidden="true" onPointerDown={go} onPointerMove={go}>
      <canvas ref={canvas} />
      <div
        class="lens"
        style={{
          transform: `translateY(${topPx * scale}px)`,
          height: `${Math.min(sizePx, Math.max(MIN_LENS_PX, heightPx * scale))}px`,
        }}
      />
    </div>
  );
}

const MIN_LENS_PX = 6;

interface MinimapProps {
  readonly layout: BandLayout;
  readonly matches: ReadonlySet<string>;
  readonly topPx: number;
  readonly heightPx: number;
  readonly scroller: RefObject<HTMLDivElement | null>;
}

function paint(canvas: HTMLCanvasElement, layout: BandLayout, matches: ReadonlySet<string>): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const ratio = devicePixelRatio;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  const colors = colorsOf(canvas);
  const barWidth = canvas.width - 5 * ratio;
  const { rows, marks } = minimapRows(layout, {
    rowCount: Math.min(canvas.height, Math.round(layout.heightPx * ratio)),
    matches,
  });
  for (const [y, row] of rows.entries()) {
    if (row === undefined) continue;
    context.fillStyle = colors.get(kindClass(row.kind)) ?? "";
    context.globalAlpha = 0.25;
    context.fillRect(0, y, barWidth, 1);
    context.globalAlpha = 1;
    context.fillRect(0, y, barWidth * row.share, 1);
  }
  context.fillStyle = colors.get("ink") ?? "";
  for (const y of marks.lines) context.fillRect(0, y, canvas.width, ratio);
  context.fillStyle = colors.get("match") ?? "";
  for (const y of marks.matches) context.fillRect(canvas.width - 4 * ratio, y - ratio, 4 * ratio, 3 * ratio);
}

/** The stylesheet's colours, resolved for a canvas. */
function colorsOf(canvas: HTMLCanvasElement): ReadonlyMap<string, string> {
  const names = [...KINDS.map(kindClass), "match", "ink"];
  const colors = new Map<string, string>();
  for (const name of names) {
    canvas.style.color = `var(--${name})`;
    colors.set(name, getComputedStyle(canvas).color);
  }
  canvas.style.color = "";
  return colors;
}

function useThemeName(): string {
  const [name, setName] = useState("");
  useEffect(() => {
    const read = (): void => setName(document.documentElement.dataset.theme ?? "");
    read();
    const observer = new MutationObserver(read);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => observer.disconnect();
  }, []);
  return name;
}

/** The bands reduced to a number of pixel rows; each row has the kind of what takes most of it. */
export function minimapRows(
  layout: BandLayout,
  { rowCount, matches }: { readonly rowCount: number; readonly matches: ReadonlySet<string> },
): MinimapRows {
  const rows: (MinimapRow | undefined)[] = new Array<undefined>(rowCount).fill(undefined);
  const lines = new Set<number>();
  const matched = new Set<number>();
  const scale = layout.heightPx > 0 ? rowCount / layout.heightPx : 0;
  const tally = createRowTally();
  let tallyRow = -1;
  const take = (): void => {
    const row = tally.take();
    if (row !== undefined && tallyRow >= 0 && tallyRow < rowCount) rows[tallyRow] = row;
  };
  for (const band of layout.bands) {
    const first = Math.floor(band.topPx * scale);
    if (band.type === "line") lines.add(first);
    if (matches.size > 0 && matches.has(band.key)) matched.add(first);
    if (band.type !== "item" && band.type !== "inserted") continue;
    const end = Math.floor((band.topPx + band.heightPx) * scale);
    if (first !== tallyRow) {
      take();
      tallyRow = first;
    }
    tally.add(band);
    if (end <= first) continue;
    take();
    // A band of more than three rows leaves a gap of one row under it.
    const last = end - first > 3 ? end - 1 : end;
    tally.add(band);
    const own = tally.take();
    for (let row = first + 1; row < Math.min(last, rowCount); row++) rows[row] = own;
    tallyRow = end;
  }
  take();
  return { rows, marks: { lines: [...lines], matches: [...matched] } };
}

interface MinimapRows {
  /** Undefined for an empty row. */
  readonly rows: readonly (MinimapRow | undefined)[];
  readonly marks: { readonly lines: readonly number[]; readonly matches: readonly number[] };
}

interface MinimapRow {
  readonly kind: keyof KindTokens;
  /** How much of it is sent, from 0 to 1. */
  readonly share: number;
}

type Drawn = Extract<Band, { readonly type: "item" | "inserted" }>;

interface RowTally {
  add(band: Drawn): void;
  /** The row of what was added since the last call; undefined when nothing was. */
  take(): MinimapRow | undefined;
}

/** Collects the bands of one pixel row. A band without tokens counts as one token, so that it is drawn. */
function createRowTally(): RowTally {
  const tokensByKind = new Map<MinimapRow["kind"], number>();
  let tokens = 0;
  let keptTokens = 0;
  return {
    add(band) {
      const isItem = band.type === "item";
      const kind = isItem ? kindOf(band.item) : "summary";
      const size = Math.max(1, isItem ? band.item.tokens : band.inserted.tokens);
      tokensByKind.set(kind, (tokensByKind.get(kind) ?? 0) + size);
      tokens += size;
      keptTokens += isItem ? size * sentShare(band.item) : size;
    },
    take() {
      if (tokens === 0) return undefined;
      let kind: MinimapRow["kind"] = "other";
      let most = -1;
      for (const [each, sum] of tokensByKind) if (sum > most) [kind, most] = [each, sum];
      const share = keptTokens / tokens;
      tokensByKind.clear();
      tokens = 0;
      keptTokens = 0;
      return { kind, share };
    },
  };
}
