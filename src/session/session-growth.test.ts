import { describe, expect, it } from "vitest";
import { createSession, type EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import { answer, step, user } from "../../test/rig/session.ts";
import { NO_CACHE } from "../models/cache-profile.ts";
import type { Message } from "../transcript/message.ts";

const TURNS = 400;

/** How often the content of a message of the first half is read in a turn of the second half. */
async function readsATurn(options: EngineOptions): Promise<number> {
  const session = createSession(
    { clock: createFakeClock(), summarizer: createFakeSummarizer("It went well.") },
    { limits: { contextTokens: 200_000, outputTokens: 8_000 }, ...options },
  );
  let reads = 0;
  let watched = 0;
  const watch = (message: Message): Message => {
    const { parts } = message;
    watched++;
    return {
      ...message,
      get parts() {
        reads++;
        return parts;
      },
    };
  };
  for (let turn = 0; turn < TURNS; turn++) {
    if (turn === TURNS / 2) reads = 0;
    const isOld = turn < TURNS / 2;
    if (turn % 5 === 0) session.append(isOld ? watch(user(`u${turn}`, "go on")) : user(`u${turn}`, "go on"));
    session.append(step(`s${turn}`, `line ${turn}`));
    await session.prepare({ moment: "after-turn" });
    session.messages();
  }
  return reads / watched / (TURNS / 2);
}

describe("a turn of a long session", () => {
  it.each<{ name: string; options: EngineOptions }>([
    { name: "with the defaults", options: {} },
    { name: "as documented", options: { profile: "documented" } },
    // Summaries have to be asked for in the default profile.
    { name: "with summaries in the background", options: { compaction: { toolSummaryStrategy: "llm" } } },
  ])("reads what was said long before a few times at most: $name", async ({ options }) => {
    expect(await readsATurn(options)).toBeLessThan(15);
  });
});

/** How often the oldest message was read in a turn, on average, and how often the window was edited. */
async function readsOfOldest(
  turns: number,
  options: EngineOptions,
): Promise<{ readsATurn: number; edits: number }> {
  let reads = 0;
  let edits = 0;
  const session = createSession(
    { clock: createFakeClock(), summarizer: createFakeSummarizer("") },
    {
      limits: { contextTokens: 200_000, outputTokens: 8_000 },
      ...options,
      onEvent: ({ type }) => {
        if (type === "context_changed") edits++;
      },
    },
  );
  const { parts, ...first } = user("first", "go on");
  session.append({
    ...first,
    get parts() {
      reads++;
      return parts;
    },
  });
  for (let turn = 0; turn < turns; turn++) {
    if (turn % 8 === 7) session.append(user(`u${turn}`, `request ${turn}`));
    session.append(step(`s${turn}`, `src/file-${turn}.ts: ok\n`.repeat(12)));
    await session.prepare({ moment: "after-turn" });
  }
  return { readsATurn: reads / turns, edits };
}

describe("what it costs to decide what to do next", () => {
  // A turn in which nothing is done reads it some times; a look for edits as often again.
  it.each<{ name: string; options: EngineOptions; mostReads: number }>([
    { name: "with the defaults", options: {}, mostReads: 12 },
    { name: "without a cache, where every edit is free", options: { cache: NO_CACHE }, mostReads: 12 },
    // The prices of a cache decide when edits pay.
    {
      name: "with a warm cache",
      options: { model: { provider: "anthropic", id: "claude-sonnet-4-5" } },
      mostReads: 12,
    },
    // Room is made again and again where the window is small.
    {
      name: "in a small window",
      options: { limits: { contextTokens: 32_000, outputTokens: 4_000 } },
      mostReads: 12,
    },
    // A mark that the window cannot be brought below.
    { name: "at a low mark", options: { prune: { highTokens: 2_000, lowTokens: 500 } }, mostReads: 12 },
    // It is edited at nearly every turn.
    {
      name: "as documented, with little protected",
      options: { profile: "documented", prune: { protectTokens: 500, minimumTokens: 10_000 } },
      mostReads: 30,
    },
  ])("is few looks at the old part of the window: $name", async ({ options, mostReads }) => {
    const { readsATurn, edits } = await readsOfOldest(800, options);
    expect(edits).toBeGreaterThan(3);
    expect(readsATurn).toBeLessThan(mostReads);
  });

  it("is no more while a full window waits for a summary that cannot be written", async () => {
    // Summaries of results, and nothing to prune: only a compaction makes room here, and its empty summary is refused.
    const { readsATurn } = await readsOfOldest(700, {
      profile: "documented",
      limits: { contextTokens: 32_000, outputTokens: 4_000 },
      representation: "user-summary",
      compaction: { toolSummaryStrategy: "heuristic" },
    });
    expect(readsATurn).toBeLessThan(30);
  });
});

/** 600 turns of a few words and an output of 2 KB each, in a window of 16,000 tokens. */
async function chat(options: EngineOptions = {}) {
  const editedAt: number[] = [];
  let turn = 0;
  const session = createSession(
    {
      clock: createFakeClock(),
      summarizer: createFakeSummarizer((_request, _options, part) =>
        Promise.resolve(`## Goal\nPart ${part}.`),
      ),
    },
    {
      limits: { contextTokens: 16_000, outputTokens: 1_000 },
      ...options,
      onEvent: (event) => {
        if (event.type === "context_changed") editedAt.push(turn);
      },
    },
  );
  for (; turn < 600; turn++) {
    const lines = Array.from(
      { length: 60 },
      (_, line) => `src/f${turn}.ts:${line}: value ${turn * line} of it`,
    );
    // Ids as the formats make them: a number and a hash.
    session.append(user(`m${turn * 3}-cqbo3b`, `turn ${turn}`));
    session.append(step(`m${turn * 3 + 1}-a81kz9`, lines.join("\n")));
    if (turn % 4 === 0) await session.prepare();
    session.append(answer(`m${turn * 3 + 2}-x7lw2r`, `done ${turn}`));
  }
  const between = (from: number, to: number) => editedAt.filter((at) => at >= from && at <= to).length;
  return { session, between };
}

describe("a long chat of short messages", () => {
  it.each([
    { how: "pruned, as by default", options: {} },
    // By default pruning spares most compactions.
    { how: "compacted", options: { prune: "off" } },
  ] as const)(
    "is $how as often as before, stores no more for it, and can be searched",
    async ({ options }) => {
      const { between, session } = await chat(options);
      expect(between(151, 300)).toBeGreaterThan(10);
      expect(between(451, 600)).toBeLessThanOrEqual(1.3 * between(151, 300));
      const chars = session.toJSON().batches.map((batch) => JSON.stringify(batch).length);
      expect(Math.max(...chars)).toBeLessThan(40_000);
      const shown = session
        .messages()
        .flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")));
      expect(shown.join("\n")).toMatch(
        /\(\d{3} more messages of the user not shown; a search recalls what they say\)/,
      );
      expect(await session.recall({ search: "turn 123" })).toMatchObject({
        status: "matches",
        pieces: expect.arrayContaining([
          expect.objectContaining({ handle: "m369-cqbo3b/0", lines: [{ line: 1, text: "turn 123" }] }),
        ]),
      });
    },
  );
});
