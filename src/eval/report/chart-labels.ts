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

/** A label that belongs to a point of a chart. */
export interface ChartLabel extends ChartSpot {
  readonly name: string;
}

/** A place in a chart. */
export interface ChartSpot {
  readonly left: number;
  readonly top: number;
}

/** A label with the box of its text. */
export type PlacedLabel<T extends ChartLabel> = T & { readonly box: ChartBox };

export interface ChartBox extends ChartSpot {
  readonly width: number;
  readonly height: number;
}

interface LabelSurroundings {
  /** Points and lines that labels must not cover. */
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
