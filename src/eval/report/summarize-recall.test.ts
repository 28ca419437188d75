import fc from "fast-check";
import { expect, it } from "vitest";
import { runs } from "../../../test/rig/runs.ts";
import { bootstrap, meanOf, quantileOf } from "./bootstrap.ts";

it("gives an interval around the mean, the same each time", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 3, maxLength: 40 }),
      (figures) => {
        const interval = bootstrap(figures);
        expect(interval.low).toBeLessThanOrEqual(interval.mean + 1e-12);
        expect(interval.high).toBeGreaterThanOrEqual(interval.mean - 1e-12);
        expect(bootstrap(figures)).toEqual(interval);
      },
    ),
    { numRuns: runs(40) },
  );
});

it("narrows as sessions are added, about by the root of their number", () => {
  const of = (sessions: number): number => {
    const { low, high } = bootstrap(Array.from({ length: sessions }, (_, index) => index % 2));
    return high - low;
  };
  expect(of(100)).toBeCloseTo(0.196, 1);
  expect(of(400) / of(100)).toBeCloseTo(0.5, 1);
});

it("has no interval for fewer than three sessions, and no mean for none", () => {
  expect(bootstrap([0.5, 1])).toEqual({ mean: 0.75, low: Number.NaN, high: Number.NaN, sessions: 2 });
  expect(meanOf([])).toBeNaN();
  expect(quantileOf([], 0.5)).toBeNaN();
  expect(quantileOf([3, 1, 2], 0.5)).toBe(2);
});
