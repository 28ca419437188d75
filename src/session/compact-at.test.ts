import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSession, type EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import { anyOverheadShare, anyWindow } from "../../test/rig/real-window.ts";
import { runs } from "../../test/rig/runs.ts";
import { SUMMARY } from "../../test/rig/session.ts";
import type { CompactAt } from "../compaction/trigger/compact-at.ts";
import { ConfigurationError } from "../text/check.ts";
import type { Session } from "./session.ts";

const limits = { contextTokens: 200_000, outputTokens: 32_000 };

function open(options: EngineOptions): Session {
  return createSession({ clock: createFakeClock(), summarizer: createFakeSummarizer(SUMMARY) }, options);
}

/** Talks until the window was compacted, and gives the estimate before and after. */
async function talk(session: Session): Promise<readonly [before: number, after: number]> {
  for (let turn = 1; turn < 2_000; turn++) {
    const before = session.status().tokens;
    session.append({ id: `u${turn}`, role: "user", parts: [{ type: "text", text: `Question ${turn}?` }] });
    const text = `Answer ${turn}: ${"the module is in order and its tests pass. ".repeat(20)}`;
    session.append({ id: `a${turn}`, role: "assistant", parts: [{ type: "text", text }], finish: "stop" });
    await session.prepare({ moment: "after-turn" });
    if (session.ledger().some(({ step }) => step === "compact")) return [before, session.status().tokens];
  }
  throw new Error("was never compacted");
}

describe("compactAt", () => {
  it.each<{ name: string; compactAt: CompactAt; at: number }>([
    { name: "a fraction of the window", compactAt: { fraction: 0.1 }, at: 20_000 },
    { name: "a number of tokens", compactAt: { tokens: 6_000 }, at: 6_000 },
    { name: "a small number of tokens", compactAt: { tokens: 2_000 }, at: 2_000 },
  ])("compacts at $name, to well below it", async ({ compactAt, at }) => {
    const session = open({ limits, compactAt });
    expect(session.status()).toMatchObject({ limitTokens: at, source: "compact_at" });
    const [before, after] = await talk(session);
    expect(before).toBeLessThan(at);
    expect(before).toBeGreaterThan(at * 0.7);
    expect(after).toBeLessThan(at * 0.7);
  });

  it("is never later than the limit that holds without it", () => {
    const anyCompactAt = fc.oneof(
      fc.record({ fraction: fc.double({ min: 0.01, max: 1, noNaN: true }) }),
      fc.record({ tokens: fc.integer({ min: 1_000, max: 2_000_000 }) }),
    );
    fc.assert(
      fc.property(
        anyCompactAt,
        fc.oneof(anyWindow, fc.constant(0)),
        anyOverheadShare,
        (compactAt, contextTokens, share) => {
          const options: EngineOptions = {
            limits: { contextTokens, outputTokens: 4_096 },
            systemChars: Math.floor(contextTokens * share) * 4,
          };
          const { limitTokens = Number.POSITIVE_INFINITY } = open(options).status();
          const { limitTokens: early = Number.POSITIVE_INFINITY } = open({ ...options, compactAt }).status();
          expect(early).toBeLessThanOrEqual(limitTokens);
          expect(early).toBeGreaterThan(0);
        },
      ),
      { numRuns: runs(200) },
    );
  });

  it("leaves a conversation room beside a system prompt that fills it", () => {
    const session = open({ limits, compactAt: { tokens: 4_000 }, systemChars: 40_000 });
    expect(session.status().limitTokens).toBeGreaterThan(10_000);
  });

  it("counts as a fraction once the window is known", () => {
    const session = open({ compactAt: { fraction: 0.5 } });
    expect(session.status().source).toBe("max_tokens");
    session.useModel({ provider: "acme", id: "one" }, limits);
    expect(session.status()).toMatchObject({ limitTokens: 100_000, source: "compact_at" });
  });

  it("is refused with everything else that is wrong", () => {
    const wrong = [0, -1, 1.5, Number.NaN, "0.5"].map((fraction) => ({ fraction }));
    const few = [0, 999, 1_000.5, Number.POSITIVE_INFINITY].map((tokens) => ({ tokens }));
    for (const compactAt of [...wrong, ...few, {}, 0.7, { fraction: 0.5, tokens: 5_000 }, { percent: 70 }]) {
      expect(problemsOf({ compactAt, systemChars: -1 })).toEqual([
        expect.stringContaining(
          'give "never", or { fraction } above 0 and up to 1, or { tokens } of 1000 or more',
        ),
        expect.stringContaining("systemChars"),
      ]);
    }
    expect(problemsOf({ compactAt: { fraction: 0.5, tokens: undefined } })).toEqual([]);
  });
});

function problemsOf(options: object): readonly string[] {
  try {
    open(options as EngineOptions);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  return [];
}
