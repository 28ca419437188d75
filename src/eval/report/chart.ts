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

/** Spots along a line, so close that no label fits between them. */
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

/** A label that belongs to a point of a chart. */
interface ChartLabel extends ChartSpot {
  readonly name: string;
}

/** A place in a chart. */
interface ChartSpot {
  readonly left: number;
  readonly top: number;
}

/** A label with the box of its text. */
type PlacedLabel<T extends ChartLabel> = T & { readonly box: ChartBox };

export interface ChartBox extends ChartSpot {
  readonly width: number;
  readonly height: number;
}

/** Places labels near their points without covering another label, a point or a line; the first ones get the nearest places. */
export function placeLabels<T extends ChartLabel>(
  labels: readonly T[],
  { obstacles, within }: LabelSurroundings,
): readonly PlacedLabel<T>[] {
  const placed: PlacedLabel<T>[] = [];
  for (const label of labels) {
    const isFree = (box: ChartBox): boolean =>
      isInside(box, within) &&
      !placed.some((other) => overlaps(box, other.box)) &&
      !obstacles.some((spot) => overlaps(box, around(spot))) &&
      !placed.some((other) => crosses(label, box, other.box));
    const box = boxesAround(label).find(isFree) ?? boxBeside(label);
    placed.push({ ...label, box });
  }
  return placed;
}

interface LabelSurroundings {
  /** What no label may cover. */
  readonly obstacles: readonly ChartSpot[];
  readonly within: ChartBox;
}

/** Places labels beside their last points at the right edge, moved down where they would overlap. */
export function stackLabels<T extends ChartLabel>(labels: readonly T[]): readonly PlacedLabel<T>[] {
  const placed: PlacedLabel<T>[] = [];
  let lowest = Number.NEGATIVE_INFINITY;
  for (const label of labels.toSorted((one, other) => one.top - other.top)) {
    const beside = boxBeside(label);
    const box = { ...beside, top: Math.max(beside.top, lowest) };
    lowest = box.top + box.height;
    placed.push({ ...label, box });
  }
  return placed;
}

/** The point of a box nearest to its spot, where the line to the label ends. */
export function nearestEdge({ left, top }: ChartSpot, box: ChartBox): ChartSpot {
  const clamp = (value: number, low: number, length: number): number =>
    Math.min(Math.max(value, low), low + length);
  return { left: clamp(left, box.left, box.width), top: clamp(top, box.top, box.height) };
}

/** The average width of a bold letter at 13 pixels, rounded up. */
const LETTER_WIDTH = 7.8;
const LINE_HEIGHT = 15;
const POINT_RADIUS = 6;
const GAP = 11;
const DISTANCES: readonly number[] = [GAP, 20, 30, 44, 60, 78, 98, 120];
const DIRECTIONS = 16;

function boxBeside({ name, left, top }: ChartLabel): ChartBox {
  const width = name.length * LETTER_WIDTH;
  return { left: left + GAP * 2 + 2, top: top - LINE_HEIGHT / 2, width, height: LINE_HEIGHT };
}

/** Boxes around a point, the right side first, at growing distances. */
function boxesAround({ name, left, top }: ChartLabel): readonly ChartBox[] {
  const width = name.length * LETTER_WIDTH;
  return DISTANCES.flatMap((distance) =>
    Array.from({ length: DIRECTIONS }, (_, turn) => {
      const step = turn % 2 === 0 ? turn / 2 : -(turn + 1) / 2;
      const angle = (2 * Math.PI * step) / DIRECTIONS;
      const [across, down] = [Math.cos(angle), Math.sin(angle)];
      return {
        left: left + across * distance - (width * (1 - across)) / 2,
        top: top + down * distance - (LINE_HEIGHT * (1 - down)) / 2,
        width,
        height: LINE_HEIGHT,
      };
    }),
  );
}

function around({ left, top }: ChartSpot): ChartBox {
  return {
    left: left - POINT_RADIUS,
    top: top - POINT_RADIUS,
    width: 2 * POINT_RADIUS,
    height: 2 * POINT_RADIUS,
  };
}

function overlaps(one: ChartBox, other: ChartBox): boolean {
  return (
    one.left < other.left + other.width &&
    other.left < one.left + one.width &&
    one.top < other.top + other.height &&
    other.top < one.top + one.height
  );
}

function isInside(box: ChartBox, within: ChartBox): boolean {
  return (
    box.left >= within.left &&
    box.top >= within.top &&
    box.left + box.width <= within.left + within.width &&
    box.top + box.height <= within.top + within.height
  );
}

const SAMPLES = 12;

/** True when the line from a point to its label would cross another label. */
function crosses({ left, top }: ChartSpot, box: ChartBox, other: ChartBox): boolean {
  const [toLeft, toTop] = [box.left + box.width / 2, box.top + box.height / 2];
  return Array.from({ length: SAMPLES }, (_, sample) => sample / SAMPLES).some((share) =>
    overlaps(
      { left: left + (toLeft - left) * share, top: top + (toTop - top) * share, width: 1, height: 1 },
      other,
    ),
  );
}
