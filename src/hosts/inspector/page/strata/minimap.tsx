import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { FATES } from "../words/fates.ts";
import type { BandLayout } from "./lay-bands.ts";
import { minimapRows } from "./minimap-rows.ts";

/** The whole session in one small column, whatever its length; a press or a drag goes there. */
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
  readonly scroller: { readonly current: HTMLDivElement | null };
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
    context.fillStyle = colors.get(row.color) ?? "";
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

/** The stylesheet's colours as a canvas takes them. */
function colorsOf(canvas: HTMLCanvasElement): ReadonlyMap<string, string> {
  const names = [...FATES.map(({ fate }) => fate), "inserted", "match", "ink"];
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
