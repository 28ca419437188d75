import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { step, user } from "../../test/rig/session.ts";
import { NO_CACHE } from "../models/cache-profile.ts";
import { createMemoryJournal } from "../stores/memory.ts";
import type { Transcript } from "../transcript/message.ts";
import type { Journal } from "./journal.ts";
import type { SessionOptions } from "./options.ts";
import { type BatchRecord, readRecord } from "./record.ts";
import { createSession, type Session } from "./session.ts";

const CONVERSATION: Transcript = Array.from({ length: 4 }, (_, turn) => [
  user(`u${turn}`, `request ${turn}`),
  ...Array.from({ length: 4 }, (_, call) =>
    step(`s${turn}-${call}`, `mark-${turn}-${call} ${"steady ".repeat(3_000)}`),
  ),
]).flat();

function observing(journal: Journal, options: SessionOptions = {}): Session {
  return createSession(
    { clock: createFakeClock(), journal },
    {
      toolOutput: "off",
      prune: { protectTokens: 4_000 },
      compaction: { autoCompact: false },
      ...options,
    },
  );
}

async function recordsIn(journal: Journal): Promise<readonly BatchRecord[]> {
  const { entries } = await journal.read();
  return entries
    .map(({ value }) => readRecord(JSON.parse(JSON.stringify(value))))
    .filter((record) => record?.type === "batch");
}

describe("a batch in the journal", () => {
  it("says what it saves on every request, what it makes the provider read anew, and when that is paid", async () => {
    const journal = createMemoryJournal();
    const session = observing(journal, {
      model: { provider: "anthropic", id: "claude-sonnet-4-5" },
      limits: { contextTokens: 64_000, outputTokens: 8_000 },
    });
    session.observe(CONVERSATION);
    await session.prepare({ moment: "after-turn" });
    const [record] = await recordsIn(journal);
    const { arithmetic, edits } = record ?? {};
    expect(arithmetic?.cache).toBe("warm");
    expect(arithmetic?.savedTokensPerTurn).toBe(
      edits?.reduce((total, { savedTokens }) => total + savedTokens, 0),
    );
    expect(arithmetic?.rewrittenTokens).toBeGreaterThan(0);
    expect(arithmetic?.netBaseTokens).toBeGreaterThan(0);
    expect(arithmetic?.breakEvenTurns).toBeLessThan(arithmetic?.expectedTurns ?? 0);
  });

  it("does not count as saved what is pinned", async () => {
    const [plain, pinned] = [createMemoryJournal(), createMemoryJournal()];
    for (const [journal, options] of [
      [plain, {}],
      [pinned, { pins: [{ text: "mark-0-1 " }] }],
    ] as const) {
      const session = observing(journal, { ...options, cache: NO_CACHE });
      session.observe(CONVERSATION);
      await session.prepare({ moment: "after-turn" });
    }
    const [[all], [spared]] = [await recordsIn(plain), await recordsIn(pinned)];
    expect(spared?.edits.length).toBe((all?.edits.length ?? 0) - 1);
    expect(spared?.arithmetic?.savedTokensPerTurn).toBe(
      spared?.edits.reduce((total, { savedTokens }) => total + savedTokens, 0),
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
