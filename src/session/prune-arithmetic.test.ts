import { describe, expect, it } from "vitest";
import { createSession, type EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { step, user } from "../../test/rig/session.ts";
import { NO_CACHE } from "../models/cache-profile.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import type { Transcript } from "../transcript/message.ts";
import type { Journal } from "./journal.ts";
import type { Session } from "./session.ts";

const CONVERSATION: Transcript = Array.from({ length: 4 }, (_, turn) => [
  user(`u${turn}`, `request ${turn}`),
  ...Array.from({ length: 4 }, (_, call) =>
    step(`s${turn}-${call}`, `mark-${turn}-${call} ${"steady ".repeat(3_000)}`),
  ),
]).flat();

function observing(journal: Journal, options: EngineOptions = {}): Session {
  return createSession(
    { clock: createFakeClock(), journal },
    {
      toolOutput: "off",
      prune: { protectTokens: 4_000 },
      compactAt: "never",
      ...options,
    },
  );
}

function planOf(session: Session) {
  const action = session.nextAction({ moment: "after-turn" });
  if (action.type !== "prune") throw new Error(`It would ${action.type}.`);
  return action;
}

describe("a plan to prune", () => {
  it("says what it saves on every request, what it makes the provider read anew, and when that is paid", () => {
    const session = observing(createMemoryJournal(), {
      model: { provider: "anthropic", id: "claude-sonnet-4-5" },
      limits: { contextTokens: 64_000, outputTokens: 8_000 },
    });
    session.observe(CONVERSATION);
    const { cache, chosen, expectedTurns } = planOf(session).arithmetic;
    expect(cache).toBe("warm");
    expect(chosen.savedTokensPerTurn).toBeGreaterThan(0);
    expect(chosen.rewrittenTokens).toBeGreaterThan(0);
    expect(chosen.netBaseTokens).toBeGreaterThan(0);
    expect(chosen.breakEvenTurns).toBeLessThan(expectedTurns);
  });

  it("does not count as saved what is pinned", () => {
    const [all, spared] = [{}, { pins: [{ text: "mark-0-1 " }] }].map((options) => {
      const session = observing(createMemoryJournal(), { ...options, cache: NO_CACHE });
      session.observe(CONVERSATION);
      return planOf(session);
    });
    expect(spared?.edits.length).toBe((all?.edits.length ?? 0) - 1);
    expect(spared?.arithmetic.chosen.savedTokensPerTurn).toBeLessThan(
      all?.arithmetic.chosen.savedTokensPerTurn ?? 0,
    );
  });
});

describe("an undo in the journal", () => {
  it("holds after a restart too: the same edits are not made again at once", async () => {
    const journal = createMemoryJournal();
    const session = observing(journal);
    session.observe(CONVERSATION);
    await session.prepare({ moment: "after-turn" });
    await session.undo();
    const again = observing(journal);
    expect(await again.restore(CONVERSATION)).toMatchObject({ batches: 0 });
    await again.prepare({ moment: "after-turn" });
    expect(again.status().batches).toEqual([]);
    for (const turn of [1, 2, 3, 4]) again.append(step(`later-${turn}`, "short"));
    await again.prepare({ moment: "after-turn" });
    expect(again.status().batches).toHaveLength(1);
  });
});
