import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import {
  anyOverheadShare,
  anyProfile,
  anyTurns,
  anyWindow,
  playAgainst,
  prose,
  type Turn,
} from "../../test/rig/real-window.ts";
import { runs } from "../../test/rig/runs.ts";
import { SUMMARY } from "../../test/rig/session.ts";
import type { SessionOptions } from "./options.ts";
import { createSession, type Session } from "./session.ts";

const CHARS_PER_TOKEN = 4;

function open(options: SessionOptions): Session {
  return createSession({ clock: createFakeClock(), summarizer: createFakeSummarizer(SUMMARY) }, options);
}

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
      { numRuns: runs(60, 20) },
    );
  });
});
