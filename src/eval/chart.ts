/** A picture of some series: figures over figures, as lines or as single points. */
export interface Chart {
  /** What a file with the picture is called. */
  readonly name: string;
  readonly title: string;
  readonly x: ChartAxis;
  readonly y: ChartAxis;
  readonly marks: "lines" | "points";
  readonly series: readonly ChartSeries[];
}

export interface ChartAxis {
  readonly label: string;
  readonly scale: "linear" | "log";
  /** Where the axis is marked; the first and the last are its ends. */
  readonly ticks: readonly ChartTick[];
}

export interface ChartTick {
  readonly at: number;
  readonly label: string;
}

export interface ChartSeries {
  readonly name: string;
  readonly points: readonly ChartPoint[];
}

export interface ChartPoint {
  readonly x: number;
  readonly y: number;
  /** The interval around `y`, drawn as a thin line. */
  readonly low?: number;
  readonly high?: number;
}

/** The picture as an SVG that needs nothing else, light or dark as the reader has it. */
export function chartSvg({ title, x, y, marks, series }: Chart): string {
  const placeX = createPlace(x, { from: LEFT, to: WIDTH - RIGHT });
  const placeY = createPlace(y, { from: HEIGHT - BOTTOM, to: TOP });
  const drawn = series.map(({ name, points }, index) => ({
    name,
    color: COLORS[index % COLORS.length] ?? "currentColor",
    points: points.map((point) => ({ ...point, left: placeX(point.x), top: placeY(point.y) })),
  }));
  const labels = spread(
    drawn.flatMap(({ name, color, points }) => {
      const last = points.at(-1);
      return last === undefined ? [] : [{ name, color, left: last.left, top: last.top }];
    }),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" class="chart" aria-label="${escapeMarkup(title)}">`,
    `<style>${STYLE}</style>`,
    `<rect class="paper" width="${WIDTH}" height="${HEIGHT}"/>`,
    `<text class="title" x="${LEFT}" y="24">${escapeMarkup(title)}</text>`,
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
    ...drawn.flatMap(({ color, points }) => [
      ...(marks === "lines" ? [line(points, color)] : []),
      ...points.map((point) => {
        const [left, top] = [round(point.left), round(point.top)];
        const whisker =
          Number.isFinite(point.low) && Number.isFinite(point.high)
            ? `<line stroke="${color}" opacity="0.45" x1="${left}" x2="${left}" y1="${round(placeY(point.low ?? 0))}" y2="${round(placeY(point.high ?? 0))}"/>`
            : "";
        return `${whisker}<circle fill="${color}" cx="${left}" cy="${top}" r="${marks === "lines" ? 3 : 5}"/>`;
      }),
    ]),
    ...labels.map(
      ({ name, color, left, top, labelTop }) =>
        `<line stroke="${color}" opacity="0.5" x1="${round(left + 6)}" y1="${round(top)}" x2="${round(left + 16)}" y2="${round(labelTop)}"/><text class="name" fill="${color}" x="${round(left + 19)}" y="${round(labelTop + 4)}">${escapeMarkup(name)}</text>`,
    ),
    "</svg>",
  ].join("\n");
}

/** Text that markup can hold. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Marks at equal distances. */
export function linearTicks({ from, to, step }: TickRange): readonly ChartTick[] {
  const count = Math.round((to - from) / step);
  const digits = String(step).split(".")[1]?.length ?? 0;
  return Array.from({ length: count + 1 }, (_, index) => {
    const at = from + index * step;
    return { at, label: at.toFixed(digits) };
  });
}

export interface TickRange {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

const WIDTH = 720;
const HEIGHT = 400;
const LEFT = 64;
const RIGHT = 150;
const TOP = 44;
const BOTTOM = 52;
const LABEL_CHARS_HEIGHT = 15;
/** Told apart by people who see few colours, on light and on dark paper. */
const COLORS = [
  "#0072b2",
  "#d55e00",
  "#009e73",
  "#cc79a7",
  "#b8860b",
  "#56a4d9",
  "#7f7f7f",
  "#8a63d2",
] as const;
const STYLE =
  ".chart{font:13px system-ui,sans-serif}.chart .paper{fill:#fff}.chart .title{font-weight:600;font-size:15px;fill:#1b1b1b}.chart .tick,.chart .axis{fill:#555}.chart .grid{stroke:#0001}.chart .name{font-weight:600}@media (prefers-color-scheme:dark){.chart .paper{fill:#16181c}.chart .title{fill:#eee}.chart .tick,.chart .axis{fill:#aaa}.chart .grid{stroke:#fff2}}";

function createPlace(
  { scale, ticks }: ChartAxis,
  { from, to }: { readonly from: number; readonly to: number },
): (value: number) => number {
  const position = scale === "log" ? Math.log : (value: number): number => value;
  const low = position(ticks[0]?.at ?? 0);
  const high = position(ticks.at(-1)?.at ?? 1);
  return (value) => from + ((position(value) - low) / (high - low || 1)) * (to - from);
}

interface Placed {
  readonly left: number;
  readonly top: number;
}

function line(points: readonly Placed[], color: string): string {
  const path = points.map(({ left, top }) => `${round(left)},${round(top)}`).join(" ");
  return `<polyline fill="none" stroke="${color}" stroke-width="2" points="${path}"/>`;
}

/** Names beside their last point, moved apart as far as needed to be read. */
function spread<T extends Placed>(labels: readonly T[]): readonly (T & { readonly labelTop: number })[] {
  const placed: (T & { readonly labelTop: number })[] = [];
  for (const label of labels.toSorted((one, other) => one.top - other.top)) {
    const crowd = placed.filter(({ left }) => Math.abs(left - label.left) < RIGHT);
    const lowest = crowd.reduce((top, other) => Math.max(top, other.labelTop), Number.NEGATIVE_INFINITY);
    placed.push({ ...label, labelTop: Math.max(label.top, lowest + LABEL_CHARS_HEIGHT) });
  }
  return placed;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
