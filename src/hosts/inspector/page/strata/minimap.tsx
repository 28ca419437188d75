import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { FATES } from "../words/fates.ts";
import type { BandLayout } from "./lay-bands.ts";

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
  const scale = layout.heightPx > 0 ? 100 / layout.heightPx : 0;
  const go = (event: PointerEvent): void => {
    const element = canvas.current;
    if (element === null || scroller.current === null || event.buttons === 0) return;
    const box = element.getBoundingClientRect();
    scroller.current.scrollTop = ((event.clientY - box.top) / box.height) * layout.heightPx - heightPx / 2;
  };
  return (
    <div class="minimap" aria-hidden="true" onPointerDown={go} onPointerMove={go}>
      <canvas ref={canvas} />
      <div class="lens" style={{ top: `${topPx * scale}%`, height: `${Math.min(100, heightPx * scale)}%` }} />
    </div>
  );
}

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
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  canvas.width = width;
  canvas.height = height;
  if (layout.heightPx === 0) return;
  const colors = colorsOf(canvas);
  const scale = height / layout.heightPx;
  const barWidth = width - 5 * ratio;
  for (const band of layout.bands) {
    const y = band.topPx * scale;
    const size = Math.max(1, band.heightPx * scale - (band.heightPx * scale > 3 ? 1 : 0));
    if (band.type === "line") {
      context.globalAlpha = 1;
      context.fillStyle = colors.get("ink") ?? "";
      context.fillRect(0, y, width, Math.max(1, ratio));
      continue;
    }
    if (band.type === "empty") continue;
    const isItem = band.type === "item";
    context.fillStyle = colors.get(isItem ? band.item.fate : "inserted") ?? "";
    const share = isItem && band.item.tokens > 0 ? band.item.keptTokens / band.item.tokens : 1;
    context.globalAlpha = 0.25;
    context.fillRect(0, y, barWidth, size);
    context.globalAlpha = 1;
    context.fillRect(0, y, barWidth * Math.min(1, share), size);
    if (!matches.has(band.key)) continue;
    context.fillStyle = colors.get("match") ?? "";
    context.fillRect(width - 4 * ratio, y - ratio, 4 * ratio, Math.max(3 * ratio, size));
  }
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
