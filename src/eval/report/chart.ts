import {
  type ChartLabel,
  type ChartSpot,
  nearestEdge,
  type PlacedLabel,
  placeLabels,
  stackLabels,
} from "./chart-labels.ts";

/** A chart of some series, as lines or as single points. */
export interface Chart {
  /** The name of a file with the chart. */
  readonly name: string;
  readonly title: string;
  readonly x: ChartAxis;
  readonly y: ChartAxis;
  readonly marks: "lines" | "points";
  readonly series: readonly ChartSeries[];
  /** A thin line behind the points, and its label. */
  readonly frontier?: { readonly label: string; readonly points: readonly ChartPoint[] };
}

export interface ChartAxis {
  readonly label: string;
  readonly scale: "linear" | "log";
  /** Where the axis is marked; the first and the last are its ends. */
  readonly ticks: readonly ChartTick[];
}

interface ChartTick {
  readonly at: number;
  readonly label: string;
}

export interface ChartSeries {
  readonly name: string;
  readonly tone: ChartTone;
  readonly points: readonly ChartPoint[];
}

export interface ChartPoint {
  readonly x: number;
  readonly y: number;
  /** The interval around `y`, drawn as a thin line. */
  readonly low?: number;
  readonly high?: number;
}

/** The subject of a chart is strong, baselines are grey, everything else has a colour of its own. */
export type ChartTone = "strong" | "second" | "grey" | "colour";

/** The chart as a self-contained SVG, light or dark as the reader prefers. */
export function chartSvg({ title, x, y, marks, series, frontier }: Chart): string {
  const placeX = createPlace(x, { from: LEFT, to: WIDTH - RIGHT });
  const placeY = createPlace(y, { from: HEIGHT - BOTTOM, to: TOP });
  const place = (point: ChartPoint): Placed => ({ ...point, left: placeX(point.x), top: placeY(point.y) });
  const drawn = series.map(({ name, tone, points }, index) => ({
    name,
    tone,
    color: colorOf(tone, index),
    points: points.map(place),
  }));
  const border = frontier?.points.map(place) ?? [];
  const names = drawn.flatMap(({ name, tone, color, points }) => {
    const last = points.at(-1);
    return last === undefined ? [] : [{ name, tone, color, left: last.left, top: last.top }];
  });
  const labels =
    marks === "lines"
      ? stackLabels(names)
      : placeLabels(names.toSorted(byTone), {
          obstacles: [...drawn.flatMap(({ points }) => points), ...spotsAlong(border)],
          within: {
            left: LEFT + 2,
            top: TOP - 14,
            width: WIDTH - LEFT - 6,
            height: HEIGHT - TOP - BOTTOM + 12,
          },
        });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" class="chart" aria-label="${escapeMarkup(title)}">`,
    `<style>${STYLE}</style>`,
    `<rect class="paper" width="${WIDTH}" height="${HEIGHT}"/>`,
    `<text class="title" x="${LEFT}" y="20">${escapeMarkup(title)}</text>`,
    ...x.ticks.map(({ at, label }) => {
      const left = round(placeX(at));
      return `<line class="grid" x1="${left}" x2="${left}" y1="${TOP}" y2="${HEIGHT - BOTTOM}"/><text class="tick" text-anchor="middle" x="${left}" y="${HEIGHT - BOTTOM + 18}">${escapeMarkup(label)}</text>`;
    }),
    ...y.ticks.map(({ at, label }) => {
      const top = round(placeY(at));
      return `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${top}" y2="${top}"/><text class="tick" text-anchor="end" x="${LEFT - 8}" y="${top + 4}">${escapeMarkup(label)}</text>`;
    }),
    `<text class="axis" text-anchor="middle" x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 8}">${escapeMarkup(x.label)}</text>`,
    `<text class="axis" text-anchor="middle" transform="translate(14 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)">${escapeMarkup(y.label)}</text>`,
    ...(frontier === undefined ? [] : [frontierMarkup(frontier.label, border)]),
    ...drawn.toSorted((one, other) => byTone(other, one)).map((each) => seriesMarkup(each, marks, placeY)),
    ...labels.map(labelMarkup),
    "</svg>",
  ].join("\n");
}

/** A text escaped for markup. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Ticks at equal distances. */
export function linearTicks({ from, to, step }: TickRange): readonly ChartTick[] {
  const count = Math.round((to - from) / step);
  const digits = String(step).split(".")[1]?.length ?? 0;
  return Array.from({ length: count + 1 }, (_, index) => {
    const at = from + index * step;
    return { at, label: at.toFixed(digits) };
  });
}

interface TickRange {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

const WIDTH = 720;
const HEIGHT = 420;
const LEFT = 64;
const RIGHT = 140;
const TOP = 56;
const BOTTOM = 52;

/** Distinguishable by colour-blind people, on light and on dark paper. */
const COLORS = ["#009e73", "#cc79a7", "#b8860b", "#56a4d9", "#8a63d2"] as const;

const TONES: Readonly<Record<Exclude<ChartTone, "colour">, string>> = {
  strong: "#1c7fc4",
  second: "#d55e00",
  grey: "#8b8b8b",
};

const TONE_ORDER: readonly ChartTone[] = ["strong", "second", "colour", "grey"];
const STYLE =
  ".chart{font:13px system-ui,sans-serif}.chart .paper{fill:#fff}.chart .title{font-weight:600;font-size:15px;fill:#1b1b1b}.chart .tick,.chart .axis{fill:#555}.chart .grid{stroke:#0001}.chart .name{font-weight:600}@media (prefers-color-scheme:dark){.chart .paper{fill:#16181c}.chart .title{fill:#eee}.chart .tick,.chart .axis{fill:#aaa}.chart .grid{stroke:#fff2}}";

function colorOf(tone: ChartTone, index: number): string {
  return tone === "colour" ? (COLORS[index % COLORS.length] ?? "currentColor") : TONES[tone];
}

function byTone(one: { readonly tone: ChartTone }, other: { readonly tone: ChartTone }): number {
  return TONE_ORDER.indexOf(one.tone) - TONE_ORDER.indexOf(other.tone);
}

function createPlace(
  { scale, ticks }: ChartAxis,
  { from, to }: { readonly from: number; readonly to: number },
): (value: number) => number {
  const position = scale === "log" ? Math.log : (value: number): number => value;
  const low = position(ticks[0]?.at ?? 0);
  const high = position(ticks.at(-1)?.at ?? 1);
  return (value) => from + ((position(value) - low) / (high - low || 1)) * (to - from);
}

interface Placed extends ChartPoint, ChartSpot {}

interface DrawnSeries {
  readonly tone: ChartTone;
  readonly color: string;
  readonly points: readonly Placed[];
}

function seriesMarkup(
  { tone, color, points }: DrawnSeries,
  marks: Chart["marks"],
  placeY: (value: number) => number,
): string {
  const isStrong = tone !== "grey";
  const line =
    marks === "lines"
      ? `<polyline fill="none" stroke="${color}" stroke-width="${isStrong ? 2.5 : 1.5}" points="${pathOf(points)}"/>`
      : "";
  const dots = points.map(({ left, top, low, high }) => {
    const whisker =
      Number.isFinite(low) && Number.isFinite(high)
        ? `<line stroke="${color}" opacity="0.45" x1="${round(left)}" x2="${round(left)}" y1="${round(placeY(low ?? 0))}" y2="${round(placeY(high ?? 0))}"/>`
        : "";
    return `${whisker}<circle fill="${color}" cx="${round(left)}" cy="${round(top)}" r="${marks === "lines" ? 3 : isStrong ? 5.5 : 4.5}"/>`;
  });
  return line + dots.join("");
}

function labelMarkup({
  name,
  color,
  left,
  top,
  box,
}: PlacedLabel<ChartLabel & { readonly color: string }>): string {
  const end = nearestEdge({ left, top }, box);
  const isNear = Math.hypot(end.left - left, end.top - top) < NEAR;
  const leader = isNear
    ? ""
    : `<line stroke="${color}" opacity="0.5" x1="${round(left)}" y1="${round(top)}" x2="${round(end.left)}" y2="${round(end.top)}"/>`;
  // Anchored towards its point, so that another font's width does not change the distance to it.
  const [anchor, textLeft] =
    box.left >= left
      ? ["start", box.left]
      : box.left + box.width <= left
        ? ["end", box.left + box.width]
        : ["middle", box.left + box.width / 2];
  return `${leader}<text class="name" text-anchor="${anchor}" fill="${color}" x="${round(textLeft)}" y="${round(box.top + box.height - 3.5)}">${escapeMarkup(name)}</text>`;
}

const NEAR = 14;

function frontierMarkup(label: string, points: readonly Placed[]): string {
  return `<polyline fill="none" stroke="${TONES.strong}" opacity="0.6" stroke-width="1.5" stroke-dasharray="5 4" points="${pathOf(points)}"/><text class="tick" x="${LEFT}" y="40"><tspan fill="${TONES.strong}">- - -</tspan> ${escapeMarkup(label)}</text>`;
}

function pathOf(points: readonly ChartSpot[]): string {
  return points.map(({ left, top }) => `${round(left)},${round(top)}`).join(" ");
}

/** Points along a line, so close together that no label fits between them. */
function spotsAlong(points: readonly ChartSpot[]): readonly ChartSpot[] {
  return points.flatMap((from, index) => {
    const to = points[index + 1] ?? from;
    const count = Math.ceil(Math.hypot(to.left - from.left, to.top - from.top) / SPOT_DISTANCE);
    return Array.from({ length: count }, (_, spot) => ({
      left: from.left + ((to.left - from.left) * spot) / count,
      top: from.top + ((to.top - from.top) * spot) / count,
    }));
  });
}

const SPOT_DISTANCE = 8;

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
