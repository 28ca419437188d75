import { describe, expect, it } from "vitest";
import { createSession, type EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import { answer, conversation, SUMMARY, step, user, words } from "../../test/rig/session.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "../compaction/trigger/compaction-settings.ts";
import { estimateContextTokens } from "../transcript/estimate-context.ts";
import type { Transcript } from "../transcript/message.ts";
import { CLEARED_PLACEHOLDER } from "../transcript/part.ts";
import { readSessionOptions } from "./options.ts";
import type { Session } from "./session.ts";

const LIMITS = { contextTokens: 200_000, outputTokens: 8_000 };
const PROFILES = ["default", "documented"] as const;

function open(options: EngineOptions = {}, summarizer = createFakeSummarizer(SUMMARY)): Session {
  return createSession({ clock: createFakeClock(), summarizer }, { limits: LIMITS, ...options });
}

describe("the defaults of a profile", () => {
  it("are those that the hosts use, unless the documented ones are asked for", () => {
    expect(open().status().settings).toEqual({
      ...DEFAULT_COMPACTION_SETTINGS,
      toolSummaryStrategy: "off",
      toolSummaryMode: "background",
    });
    expect(open({ profile: "documented" }).status().settings).toEqual(DEFAULT_COMPACTION_SETTINGS);
  });

  it("leave what is given as it is", () => {
    for (const profile of PROFILES) {
      const compaction = { toolSummaryStrategy: "heuristic", toolCallCutoff: 3 } as const;
      expect(open({ profile, compaction }).status().settings).toMatchObject(compaction);
      expect(readSessionOptions({ profile, estimator: "calibrated" }).estimator).toBe("calibrated");
    }
  });

  it("count a quarter of the characters and trim outputs to fixed limits where they are documented", async () => {
    const transcript = conversation(3);
    const documented = open({ profile: "documented" });
    documented.observe(transcript);
    expect(documented.status().tokens).toBe(
      estimateContextTokens(transcript, { estimator: "documented" }).tokens,
    );
    expect(readSessionOptions({ profile: "documented" })).toMatchObject({
      outputLimits: { maxLines: 2_000, maxBytes: 51_200, maxChars: 204_800 },
    });
    const big = [user("u", "go"), step("s", "a line of the output\n".repeat(9_000))];
    const small = { limits: { contextTokens: 24_000, outputTokens: 1_000 } };
    const sizes = PROFILES.map(async (profile) => {
      const session = open({ profile, ...small });
      session.observe(big);
      await session.prepare();
      return JSON.stringify(session.messages()).length;
    });
    const [shared = 0, fixed = 0] = await Promise.all(sizes);
    expect(shared).toBeLessThan(fixed);
  });
});

/** What a compaction by hand leaves of a conversation of 90,000 tokens, in messages of 1,500. */
async function windowAfter(options: EngineOptions): Promise<{ messages: number; tokens: number }> {
  // The documented estimate, so that all windows are counted alike.
  const session = open({ estimator: "documented", ...options });
  session.observe(conversation(60, 850));
  await session.prepare({ demand: "manual" });
  return { messages: session.messages().length, tokens: session.status().tokens };
}

describe.each(PROFILES)("what stays after a compaction in the profile %s", (profile) => {
  describe.each(["pivot", "user-summary"] as const)("as a %s", (representation) => {
    it("is what keepRecentTokens says", async () => {
      for (const keepRecentTokens of [2_000, 20_000, 60_000]) {
        const { tokens } = await windowAfter({ profile, representation, compaction: { keepRecentTokens } });
        expect(tokens).toBeGreaterThan(keepRecentTokens * 0.6);
        expect(tokens).toBeLessThan(keepRecentTokens + 2_500);
      }
    });

    it("is at most half of the limit", async () => {
      const limits = { contextTokens: 60_000, outputTokens: 8_000 };
      const session = open({ profile, representation, limits, compaction: { keepRecentTokens: 60_000 } });
      session.observe(conversation(30, 1_500));
      await session.prepare();
      expect(session.status().tokens).toBeLessThan((session.status().limitTokens ?? 0) * 0.6);
    });

    it("is so many messages when no tokens are asked for", async () => {
      const counts = await Promise.all(
        [{ keepRecent: 4 }, { keepRecent: 4, keepRecentTokens: 0 }, { keepRecent: 9 }].map((compaction) =>
          windowAfter({ profile, representation, compaction }),
        ),
      );
      const [four, same, nine] = counts.map(({ messages }) => messages);
      expect(same).toBe(four);
      expect((nine ?? 0) - (four ?? 0)).toBe(5);
    });
  });
});

describe("keepTokens", () => {
  it("is a tail of so many tokens, or none", async () => {
    const [none, some, usual] = await Promise.all(
      [{ keepTokens: 0 }, { keepTokens: 5_000 }, {}].map((tail) => windowAfter(tail)),
    );
    expect(none?.messages).toBeLessThanOrEqual(3);
    expect(some?.tokens).toBeLessThan(7_000);
    expect(usual?.tokens).toBeGreaterThan(13_000);
  });
});

describe("tool summaries", () => {
  const loop = [
    user("u", "go"),
    ...Array.from({ length: 30 }, (_, at) => step(`s${at}`, `line ${at}`)),
    answer("a", "done"),
  ];

  it("are asked for by the documented profile, one a result, and by no other", async () => {
    const calls = PROFILES.map(async (profile) => {
      const summarizer = createFakeSummarizer("It went well.");
      const session = open({ profile }, summarizer);
      session.observe(loop);
      await session.prepare();
      return summarizer.calls.length;
    });
    expect(await Promise.all(calls)).toEqual([0, 20]);
  });

  it.each([
    { toolSummaryStrategy: "llm", mostChars: 1_200 },
    { toolSummaryStrategy: "", mostChars: 1_200 },
    { toolSummaryStrategy: "heuristic", mostChars: 800 },
  ] as const)("$toolSummaryStrategy leaves $mostChars characters of a result", async (given) => {
    const summarizer = createFakeSummarizer(words(900, "said"));
    const { toolSummaryStrategy, mostChars } = given;
    const session = open({ profile: "documented", compaction: { toolSummaryStrategy } }, summarizer);
    session.observe(
      loop.map((message) => (message.id === "s0" ? step("s0", words(9_000, "printed")) : message)),
    );
    await session.prepare();
    const summaries = session.messages().filter(({ metadata }) => metadata?.kind === "tool_summary");
    // All but the newest ten, each on its own.
    expect(summaries).toHaveLength(20);
    const [first] = summaries.flatMap(({ parts }) => parts);
    const said = first?.type === "text" ? first.text.split("\n\n").slice(1).join("\n\n") : "";
    const length = [...said.replace("\n</tool_summary>", "")].length;
    expect(length).toBeLessThanOrEqual(mostChars);
    expect(length).toBeGreaterThan(mostChars - 60);
    const sent = summarizer.calls[0]?.request.prompt ?? "";
    if (toolSummaryStrategy !== "heuristic") expect(sent.length).toBeGreaterThan(11_900);
    expect(sent.length).toBeLessThan(12_600);
  });
});

it.each(PROFILES)("003: a summary is written by the agent compaction (%s)", async (profile) => {
  const options = { profile, limits: { contextTokens: 40_000, outputTokens: 2_000 } } as const;
  const session = open(options);
  const transcript = [...conversation(40), user("last", "what about the tests?")];
  session.observe(transcript);
  await session.prepare();
  const agents = (of: Session) => of.messages().flatMap(({ agent = [] }) => agent);
  expect(agents(session)).toEqual(["compaction"]);
  const again = open(options);
  await again.restore(transcript, JSON.parse(JSON.stringify(session.toJSON())));
  expect(agents(again)).toEqual(["compaction"]);
});

it.each(PROFILES)(
  "004: an archived result has the kind for that, until it is taken back (%s)",
  async (profile) => {
    const compaction = { toolCallCutoff: 3, toolSummaryStrategy: "heuristic" } as const;
    const session = open({ profile, compaction });
    const steps = Array.from({ length: 5 }, (_, at) => step(`s${at}`, words(200)));
    session.observe([user("u1", "go"), ...steps]);
    await session.prepare();
    const archived = (of: Session) =>
      of.transcript().flatMap(({ id, metadata }) => (metadata?.kind === "tool_result_archived" ? [id] : []));
    expect(archived(session)).toEqual(["s0", "s1"]);
    const again = open({ profile, compaction });
    await again.restore([user("u1", "go"), ...steps], JSON.parse(JSON.stringify(session.toJSON())));
    expect(archived(again)).toEqual(["s0", "s1"]);
    await session.undo();
    expect(archived(session)).toEqual([]);
  },
);

describe("pruning in the documented profile", () => {
  const results = (chars: number): Transcript => [
    user("u1", "first"),
    step("s1", "x".repeat(chars)),
    step("s2", "y".repeat(160_000)),
    user("u2", "second"),
    answer("a2", "done"),
    user("u3", "third"),
    answer("a3", "done"),
  ];
  const isCleared = (session: Session): boolean =>
    JSON.stringify(session.messages()).includes(CLEARED_PLACEHOLDER);

  it.each([
    { chars: 80_000, cleared: false },
    { chars: 80_004, cleared: true },
  ])("clears by size alone: $chars", async ({ chars, cleared }) => {
    // Outputs as large as these would be trimmed first.
    const session = open({ profile: "documented", toolOutput: "off" });
    session.observe(results(chars));
    await session.prepare({ moment: "after-turn" });
    expect(isCleared(session)).toBe(cleared);
  });

  it("leaves the last two turns alone, which the default profile does not have to", async () => {
    const loop = [user("u1", "go"), ...Array.from({ length: 30 }, (_, at) => step(`s${at}`, words(3_000)))];
    const session = open({ profile: "documented", compaction: { toolSummaryStrategy: "off" } });
    session.observe(loop);
    await session.prepare({ moment: "after-turn" });
    expect(session.status().batches).toEqual([]);
  });
});
