import type { ComponentClass, RefObject, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatUSD } from "../../../text/format-number.ts";
import { KINDS } from "../../view/kinds.ts";
import type { KindTokens, WindowOverTime, WindowPoint } from "../../view/types.ts";
import { memo } from "../elements/memo.tsx";
import type { PageAction } from "../state/page-state.ts";
import { short } from "../words/numbers.ts";

/**
 * The window at every request as a stacked area, with the model's limit and a cliff at every compaction. It is painted
 * once; while the time slider moves, only the cover over later requests is redrawn.
 */
export function AreaChart(props: AreaChartProps): VNode {
  const { overTime, windowTokens, messages, upTo, costs, dispatch } = props;
  return (
    <div class="chart">
      <Areas overTime={overTime} windowTokens={windowTokens} messages={messages} costs={costs} />
      <div class="plot">
        <div class="curtain" style={{ transform: `scaleX(${1 - placeOf(upTo, messages)})` }} />
      </div>
      <Cliffs overTime={overTime} messages={messages} costs={costs} dispatch={dispatch} />
    </div>
  );
}

interface AreaChartProps extends AreasProps, Pick<CliffsProps, "dispatch"> {
  readonly upTo: number;
}

/** What was spent after each message, and where the cache was missed. */
export interface ChartCosts {
  readonly spent: readonly { readonly index: number; readonly costUSD: number }[];
  readonly misses: readonly { readonly index: number; readonly words: string }[];
}

interface AreasProps {
  readonly costs: ChartCosts;
  readonly overTime: WindowOverTime;
  readonly windowTokens: number;
  readonly messages: number;
}

/** Where a moment lies, from 0 to 1: the first message is at the left end, all of them at the right. */
function placeOf(upTo: number, messages: number): number {
  return messages <= 1 ? 1 : Math.min(1, Math.max(0, (upTo - 1) / (messages - 1)));
}

/** The compactions, each with its figures where there is room. */
const Cliffs: ComponentClass<CliffsProps> = memo(function Cliffs({ overTime, messages, costs, dispatch }) {
  const plot = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(plot);
  let freeFromPx = 0;
  return (
    <div class="plot cliffs" ref={plot}>
      {overTime.compactions.map(({ index, tokensBefore, tokensAfter }) => {
        const place = placeOf(index + 1, messages);
        const atPx = place * widthPx;
        const isAtEnd = atPx + LABEL_PX > widthPx;
        const labelPx = isAtEnd ? atPx - LABEL_PX : atPx;
        const isLabelled = labelPx >= freeFromPx;
        if (isLabelled) freeFromPx = labelPx + LABEL_PX;
        const [before, after] = [tokensBefore, tokensAfter].map((tokens) =>
          tokens === undefined ? "?" : short(tokens),
        );
        const words = `compaction ${before} → ${after}`;
        return (
          <button
            key={index}
            type="button"
            class={isAtEnd ? "cliff end" : "cliff"}
            style={{ left: `${100 * place}%` }}
            title={words}
            aria-label={words}
            onClick={() => {
              dispatch({ type: "scrub", upTo: index + 1, messages });
              dispatch({ type: "show-tab", tab: "lost" });
            }}
          >
            {isLabelled && <span>{words}</span>}
          </button>
        );
      })}
      {costs.misses.slice(0, MAX_MARKS).map(({ index, words }) => (
        <button
          key={`miss ${index}`}
          type="button"
          class="mark"
          style={{ left: `${100 * placeOf(index + 1, messages)}%` }}
          title={words}
          aria-label={words}
          onClick={() => {
            dispatch({ type: "scrub", upTo: index + 1, messages });
            dispatch({ type: "show-tab", tab: "cost" });
          }}
        >
          ▲
        </button>
      ))}
    </div>
  );
});

interface CliffsProps extends Pick<AreasProps, "overTime" | "messages" | "costs"> {
  readonly dispatch: (action: PageAction) => void;
}

const MAX_MARKS = 200;

/** How much room a label takes. */
const LABEL_PX = 165;

/** The width of an element, also after it changes. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [widthPx, setWidthPx] = useState(0);
  useEffect(() => {
    const observed = element.current;
    if (observed === null) return;
    const observer = new ResizeObserver(() => setWidthPx(observed.clientWidth));
    observer.observe(observed);
    return () => observer.disconnect();
  }, []);
  return widthPx;
}

const Areas: ComponentClass<AreasProps> = memo(function Areas({ overTime, windowTokens, messages, costs }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const look = useLook();
  const widthPx = useWidth(canvas);
  useEffect(() => {
    if (canvas.current !== null && widthPx > 0)
      paint(canvas.current, { overTime, windowTokens, messages, costs });
  }, [overTime, windowTokens, messages, costs, widthPx, look]);
  const last = overTime.points.at(-1);
  const label = `The window over time: ${overTime.points.length} requests, the last with ${last?.tokens ?? 0} tokens of ${windowTokens}`;
  return <canvas ref={canvas} role="img" aria-label={label} />;
});

/** Changes with the theme and for print, where the picture must be painted in other colours. */
function useLook(): string {
  const [look, setLook] = useState("");
  useEffect(() => {
    const print = matchMedia("print");
    const read = (): void => setLook(`${document.documentElement.dataset.theme ?? ""} ${print.matches}`);
    read();
    const observer = new MutationObserver(read);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    print.addEventListener("change", read);
    return () => {
      observer.disconnect();
      print.removeEventListener("change", read);
    };
  }, []);
  return look;
}

function paint(canvas: HTMLCanvasElement, { overTime, windowTokens, messages, costs }: AreasProps): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const ratio = devicePixelRatio;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.scale(ratio, ratio);
  const most = overTime.points.reduce((tokens, point) => Math.max(tokens, point.tokens), 0);
  const topTokens =
    most * LIMIT_IN_VIEW < windowTokens ? most * HEADROOM : Math.max(most, windowTokens) * HEADROOM;
  const plotPx = width - AXIS_PX;
  const color = colorsOf(canvas);
  const yOf = (tokens: number): number =>
    height - BASE_PX - (tokens / topTokens) * (height - BASE_PX - TOP_PX);
  paintGrid(context, { topTokens, width, yOf, color });
  const styles = new Map(KINDS.map((kind) => [kind, patternOf(context, kind, color)]));
  for (const { point, fromPx, toPx } of columnsOf(overTime.points, messages, plotPx)) {
    let bottom = yOf(0);
    let sum = 0;
    for (const kind of KINDS) {
      if (point.kinds[kind] <= 0) continue;
      sum += point.kinds[kind];
      const top = yOf(sum);
      context.fillStyle = styles.get(kind) ?? "";
      context.fillRect(AXIS_PX + fromPx, top, toPx - fromPx, bottom - top);
      bottom = top;
    }
  }
  if (topTokens >= windowTokens) paintLimit(context, { width, yPx: yOf(windowTokens), color });
  paintCosts(context, { costs, messages, plotPx, topPx: yOf(topTokens / HEADROOM), groundPx: yOf(0), color });
}

interface Limit extends Pick<Grid, "width" | "color"> {
  readonly yPx: number;
}

function paintLimit(context: CanvasRenderingContext2D, { width, yPx, color }: Limit): void {
  context.strokeStyle = color("ink");
  context.lineWidth = 1.5;
  context.setLineDash([6, 3]);
  line(context, AXIS_PX, width, yPx);
  context.setLineDash([]);
  context.fillStyle = color("ink");
  context.textAlign = "left";
  context.fillText("the model's window", AXIS_PX + 4, yPx + 9);
}

interface CostLine extends Pick<AreasProps, "costs" | "messages"> {
  readonly plotPx: number;
  readonly topPx: number;
  readonly groundPx: number;
  readonly color: (name: string) => string;
}

/** Draws the cost so far as a line, scaled to the height of the plot. */
function paintCosts(context: CanvasRenderingContext2D, line: CostLine): void {
  const { costs, messages, plotPx, topPx, groundPx, color } = line;
  const totalUSD = costs.spent.at(-1)?.costUSD ?? 0;
  if (totalUSD <= 0) return;
  context.beginPath();
  for (const { index, costUSD } of costs.spent)
    context.lineTo(
      AXIS_PX + placeOf(index + 1, messages) * plotPx,
      groundPx - (costUSD / totalUSD) * (groundPx - topPx) * COST_HEIGHT,
    );
  context.lineWidth = 3.5;
  context.strokeStyle = color("paper");
  context.stroke();
  context.lineWidth = 1.5;
  context.strokeStyle = color("cleared");
  context.stroke();
  context.fillStyle = color("cleared");
  context.textAlign = "right";
  const y = groundPx - (groundPx - topPx) * COST_HEIGHT;
  const words = `${formatUSD(totalUSD)} so far`;
  // Outlined, because the limit line may cross the text.
  context.lineWidth = 4;
  context.strokeStyle = color("paper");
  context.strokeText(words, AXIS_PX + plotPx - 4, y - 8);
  context.fillText(words, AXIS_PX + plotPx - 4, y - 8);
}

/** How high the cost line ends, so that it does not run into the limit. */
const COST_HEIGHT = 0.86;

/** The limit is in view when it is at most this multiple of the largest window; and the headroom. */
const LIMIT_IN_VIEW = 2.5;
const HEADROOM = 1.12;
/** Room for the figures at the left, the labels above and the ground below. */
const AXIS_PX = 44;
const BASE_PX = 14;
const TOP_PX = 12;

interface Grid {
  readonly topTokens: number;
  readonly width: number;
  readonly yOf: (tokens: number) => number;
  readonly color: (name: string) => string;
}

function paintGrid(context: CanvasRenderingContext2D, { topTokens, width, yOf, color }: Grid): void {
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "right";
  const step = niceStep(topTokens / 4);
  for (let tokens = 0; tokens < topTokens; tokens += step) {
    context.strokeStyle = color("rule");
    context.lineWidth = 1;
    line(context, AXIS_PX, width, Math.round(yOf(tokens)) + 0.5);
    context.fillStyle = color("dim");
    context.fillText(short(tokens), AXIS_PX - 6, Math.max(7, yOf(tokens) - (tokens === 0 ? 4 : 0)));
  }
}

function line(context: CanvasRenderingContext2D, fromPx: number, toPx: number, yPx: number): void {
  context.beginPath();
  context.moveTo(fromPx, yPx);
  context.lineTo(toPx, yPx);
  context.stroke();
}

/** The next of 1, 2, 5, 10, 20 … that is at least this. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return (([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power) | 0;
}

/** The points as columns between answers; of points on the same pixel the largest is drawn. */
function columnsOf(points: readonly WindowPoint[], messages: number, widthPx: number): readonly Column[] {
  const columns: Column[] = [];
  for (const [at, point] of points.entries()) {
    const next = points[at + 1];
    const fromPx = Math.floor(placeOf(point.index + 1, messages) * widthPx);
    const toPx = next === undefined ? widthPx : Math.floor(placeOf(next.index + 1, messages) * widthPx);
    const last = columns.at(-1);
    if (last !== undefined && last.fromPx === fromPx) {
      const larger = last.point.tokens >= point.tokens ? last.point : point;
      columns[columns.length - 1] = { point: larger, fromPx, toPx: Math.max(toPx, fromPx + 1) };
    } else columns.push({ point, fromPx, toPx: Math.max(toPx, fromPx + 1) });
  }
  return columns;
}

interface Column {
  readonly point: WindowPoint;
  readonly fromPx: number;
  readonly toPx: number;
}

/** The stylesheet's colours, resolved for a canvas. */
function colorsOf(canvas: HTMLCanvasElement): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const color = known.get(name);
    if (color !== undefined) return color;
    canvas.style.color = `var(--${name})`;
    const resolved = getComputedStyle(canvas).color;
    canvas.style.color = "";
    known.set(name, resolved);
    return resolved;
  };
}

/** Colour and texture of a kind, so that colour is not the only sign. */
function patternOf(
  context: CanvasRenderingContext2D,
  kind: keyof KindTokens,
  color: (name: string) => string,
): CanvasPattern | string {
  const fill = color(`kind-${kind.replace(" ", "-")}`);
  const draw = TEXTURES[kind];
  if (draw === undefined) return fill;
  const tile = document.createElement("canvas");
  tile.width = TILE_PX;
  tile.height = TILE_PX;
  const brush = tile.getContext("2d");
  if (brush === null) return fill;
  brush.fillStyle = fill;
  brush.fillRect(0, 0, TILE_PX, TILE_PX);
  brush.globalAlpha = 0.55;
  brush.strokeStyle = color("paper");
  brush.fillStyle = color("paper");
  draw(brush);
  return context.createPattern(tile, "repeat") ?? fill;
}

const TILE_PX = 8;

/**
 * Textures for all kinds except two that are easy to tell apart by color: what the user typed (the darkest) and
 * outputs.
 */
const TEXTURES: Readonly<Partial<Record<keyof KindTokens, (brush: CanvasRenderingContext2D) => void>>> = {
  system: (brush) => brush.fillRect(3, 0, 1, TILE_PX),
  summary: (brush) => brush.fillRect(0, 3, TILE_PX, 1),
  agent: (brush) => drawDiagonals(brush, [-1, TILE_PX + 1]),
  reasoning: (brush) => brush.fillRect(2, 2, 2, 2),
  "tool input": (brush) => drawDiagonals(brush, [TILE_PX + 1, -1]),
  other: (brush) => {
    brush.fillRect(0, 0, 1, TILE_PX);
    brush.fillRect(0, 0, TILE_PX, 1);
  },
};

/** Lines from one side of a tile to the other, between two heights. */
function drawDiagonals(
  brush: CanvasRenderingContext2D,
  [left, right]: readonly [leftPx: number, rightPx: number],
): void {
  brush.beginPath();
  for (const shift of [-TILE_PX, 0, TILE_PX]) {
    brush.moveTo(shift - 1, left);
    brush.lineTo(shift + TILE_PX + 1, right);
  }
  brush.stroke();
}
