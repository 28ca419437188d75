import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calibrate, startCalibration, type TokenObservation } from "./estimate-message.ts";

const observation = (change: Partial<TokenObservation> = {}): TokenObservation => ({
  estimatedTokens: 1000,
  usageTokens: 1400,
  epoch: 3,
  model: "m",
  ...change,
});
const start = startCalibration("m", "gpt");

describe("calibrate", () => {
  it("starts from the family's scale", () => {
    expect(startCalibration("claude-opus-4-6", "claude")).toMatchObject({ scale: 1.13, observations: 0 });
  });

  it("moves the scale towards what the provider counts, and comes to rest there", () => {
    let state = calibrate(start, observation());
    expect(state.scale).toBeGreaterThan(1);
    expect(state.scale).toBeLessThan(1.4);
    for (let round = 0; round < 60; round++) state = calibrate(state, observation());
    expect(state.scale).toBeCloseTo(1.4, 2);
    expect(state.spread).toBeLessThan(0.01);
    expect(state.observations).toBe(61);
  });

  it("is pulled only a little by a single outlier", () => {
    let state = start;
    for (let round = 0; round < 20; round++) state = calibrate(state, observation({ usageTokens: 1100 }));
    const after = calibrate(state, observation({ usageTokens: 3900 }));
    expect(after.scale / state.scale).toBeLessThan(1.03);
    expect(after.spread).toBeGreaterThan(state.spread);
  });

  it.each<{ name: string; change: Partial<TokenObservation> }>([
    { name: "an older epoch", change: { epoch: 2 } },
    { name: "another model", change: { model: "other" } },
    { name: "too little text", change: { estimatedTokens: 50 } },
    { name: "nothing estimated", change: { estimatedTokens: 0 } },
    { name: "a negative count", change: { usageTokens: -1400 } },
    { name: "five times the estimate", change: { usageTokens: 5000 } },
    { name: "a fifth of the estimate", change: { usageTokens: 200 } },
    { name: "no number", change: { usageTokens: Number.NaN } },
    { name: "no epoch", change: { epoch: Number.NaN } },
  ])("learns nothing from $name", ({ change }) => {
    const state = calibrate(start, observation());
    expect(calibrate(state, observation(change))).toBe(state);
  });

  it("keeps what it has learned when the epoch moves on", () => {
    const state = calibrate(calibrate(start, observation()), observation({ epoch: 9 }));
    expect(state).toMatchObject({ epoch: 9, observations: 2 });
  });

  it("stays between 0.5 and 2.5 and never changes its arguments, whatever it is told", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            estimatedTokens: fc.double(),
            usageTokens: fc.double(),
            epoch: fc.integer({ min: 0, max: 3 }),
            model: fc.constant("m"),
          }),
        ),
        (observations) => {
          let state = Object.freeze(start);
          for (const seen of observations) state = Object.freeze(calibrate(state, Object.freeze(seen)));
          expect(state.scale).toBeGreaterThanOrEqual(0.5);
          expect(state.scale).toBeLessThanOrEqual(2.5);
          expect(state.spread).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });

  it.each([
    { ratio: 3.9, scale: 2.5 },
    { ratio: 0.26, scale: 0.5 },
  ])("stops at $scale when the provider keeps counting $ratio times", ({ ratio, scale }) => {
    let state = start;
    for (let round = 0; round < 300; round++)
      state = calibrate(state, observation({ usageTokens: 1000 * ratio }));
    expect(state.scale).toBe(scale);
  });
});

describe("the bounds of an observation", () => {
  it.each([
    { name: "200 estimated tokens", change: { estimatedTokens: 200, usageTokens: 200 }, learns: true },
    { name: "199 estimated tokens", change: { estimatedTokens: 199, usageTokens: 199 }, learns: false },
    { name: "four times the estimate", change: { usageTokens: 4_000 }, learns: true },
    { name: "more than four times", change: { usageTokens: 4_001 }, learns: false },
    { name: "a quarter of the estimate", change: { usageTokens: 250 }, learns: true },
    { name: "less than a quarter", change: { usageTokens: 249 }, learns: false },
  ])("$name: $learns", ({ change, learns }) => {
    expect(calibrate(start, observation(change)) !== start).toBe(learns);
  });

  it("pulls by a fifth of the scale at the most, whatever the scale is", () => {
    for (const scale of [0.5, 2]) {
      const state = { ...start, scale, spread: 0 };
      const up = calibrate(state, observation({ usageTokens: 4_000 }));
      expect(up.scale).toBeCloseTo(scale * 1.1, 6);
      expect(up.spread).toBeCloseTo((0.5 * (4 - up.scale)) / up.scale, 6);
      const down = calibrate(state, observation({ usageTokens: 250 }));
      expect(down.scale).toBeCloseTo(Math.max(0.5, scale * 0.9), 6);
    }
  });
});
