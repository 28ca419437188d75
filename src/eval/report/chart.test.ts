import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ChartBox, nearestEdge, placeLabels, stackLabels } from "./chart-labels.ts";

const PICTURE: ChartBox = { left: 0, top: 0, width: 720, height: 400 };
const overlaps = (one: ChartBox, other: ChartBox): boolean =>
  one.left < other.left + other.width &&
  other.left < one.left + one.width &&
  one.top < other.top + other.height &&
  other.top < one.top + one.height;
const countOverlaps = (boxes: readonly ChartBox[]): number =>
  boxes.flatMap((box, index) => boxes.slice(index + 1).filter((other) => overlaps(box, other))).length;

describe("placeLabels", () => {
  it("writes a name beside its point", () => {
    const [label] = placeLabels([{ name: "alone", left: 100, top: 100 }], {
      obstacles: [{ left: 100, top: 100 }],
      within: PICTURE,
    });
    expect(label?.box.left).toBeGreaterThan(105);
    expect(label?.box.left).toBeLessThan(115);
    expect((label?.box.top ?? 0) + (label?.box.height ?? 0) / 2).toBe(100);
  });

  it("writes no name over another, over a point, or outside the picture", () => {
    const spot = fc.record({
      left: fc.integer({ min: 60, max: 640 }),
      top: fc.integer({ min: 30, max: 370 }),
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(spot, { maxLength: 8, selector: ({ left }) => Math.floor(left / 20) }),
        (spots) => {
          const labels = placeLabels(
            spots.map((each, index) => ({ ...each, name: `policy-${index}` })),
            { obstacles: spots, within: PICTURE },
          );
          const boxes = labels.map(({ box }) => box);
          expect(countOverlaps(boxes)).toBe(0);
          for (const { left, top, width, height } of boxes) {
            expect(Math.min(left, top)).toBeGreaterThanOrEqual(0);
            expect(left + width).toBeLessThanOrEqual(720);
            expect(top + height).toBeLessThanOrEqual(400);
            for (const each of spots)
              expect(overlaps({ left, top, width, height }, { ...each, width: 1, height: 1 })).toBe(false);
          }
        },
      ),
    );
  });

  it("writes a name beside its point even where there is no room", () => {
    const within = { left: 0, top: 0, width: 20, height: 20 };
    expect(placeLabels([{ name: "too long", left: 5, top: 5 }], { obstacles: [], within })).toHaveLength(1);
  });
});

describe("stackLabels", () => {
  it("moves names down as far as needed to be read", () => {
    const labels = stackLabels([20, 22, 21, 300].map((top) => ({ name: `at ${top}`, left: 600, top })));
    expect(labels.map(({ name }) => name)).toEqual(["at 20", "at 21", "at 22", "at 300"]);
    expect(countOverlaps(labels.map(({ box }) => box))).toBe(0);
    expect(labels[3]?.box.top).toBe(292.5);
  });
});

describe("nearestEdge", () => {
  const box = { left: 10, top: 10, width: 40, height: 20 };
  it.each([
    { from: { left: 0, top: 0 }, to: { left: 10, top: 10 } },
    { from: { left: 30, top: 90 }, to: { left: 30, top: 30 } },
    { from: { left: 99, top: 15 }, to: { left: 50, top: 15 } },
  ])("from $from.left,$from.top is $to.left,$to.top", ({ from, to }) => {
    expect(nearestEdge(from, box)).toEqual(to);
  });
});
