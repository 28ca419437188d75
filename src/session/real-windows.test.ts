import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import { playAgainst, prose, type Turn } from "../../test/rig/real-window.ts";
import { runs } from "../../test/rig/runs.ts";
import { SUMMARY } from "../../test/rig/session.ts";
import type { SessionOptions } from "./options.ts";
import { createSession, type Session } from "./session.ts";

const CHARS_PER_TOKEN = 4;

function open(options: SessionOptions): Session {
  return createSession({ clock: createFakeClock(), summarizer: createFakeSummarizer(SUMMARY) }, options);
}

/** From 1,000 to 2,000,000, as many small ones as large ones. */
const anyWindow = fc
  .double({ min: 3, max: Math.log10(2_000_000), noNaN: true })
  .map((power) => Math.round(10 ** power));
const anyOverheadShare = fc.double({ min: 0, max: 0.95, noNaN: true });
const anyTurns = fc.array(
  fc.record({ share: fc.double({ min: 0.01, max: 0.3, noNaN: true }), seed: fc.nat(9_000) }),
  { minLength: 4, maxLength: 10 },
);
const anyProfile = fc.constantFrom("default" as const, "documented" as const);

/** Turns that take shares of what is free: the request a tenth of it at most, the answer the rest. */
const turnsWithin = (freeTokens: number, turns: readonly { share: number; seed: number }[]): Turn[] =>
  turns.map(({ share, seed }) => ({
    request: prose(Math.floor((freeTokens * share) / 4), seed),
    answer: prose(Math.floor(freeTokens * share), seed + 1),
  }));

describe("a conversation that the provider accepts", () => {
  it("is never given up, whatever the window and the system prompt", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyWindow,
        anyOverheadShare,
        anyTurns,
        anyProfile,
        async (windowTokens, share, turns, profile) => {
          const overheadTokens = Math.floor(windowTokens * share);
          const session = open({
            profile,
            limits: { contextTokens: windowTokens, outputTokens: 4_096 },
            systemChars: overheadTokens * CHARS_PER_TOKEN,
          });
          const played = await playAgainst(session, turnsWithin(windowTokens - overheadTokens, turns), {
            windowTokens,
            overheadTokens,
            refuse: () => ({ status: 400, message: "prompt is too long" }),
          });
          expect(played).toMatchObject({ answered: turns.length });
          expect(played).not.toHaveProperty("gaveUp");
        },
      ),
      { numRuns: runs(60) },
    );
  });
});
