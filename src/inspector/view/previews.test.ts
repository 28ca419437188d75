import { describe, expect, it } from "vitest";
import { workingSession } from "../../../test/rig/eval-session.ts";
import { sessionOf } from "../../../test/rig/inspector/check-view.ts";
import { transcript } from "../../../test/rig/notation.ts";
import { compact } from "../../compaction/compact.ts";
import type { InheritMode } from "../../fork/context/choose-inherit-mode.ts";
import { buildForkPreamble, formatMessagesAsContext } from "../../fork/context/format.ts";
import { processMessagesForFork } from "../../fork/fork.ts";
import { renderMessage } from "../../transcript/content.ts";
import { isVisibleToModel, type Message, type Transcript } from "../../transcript/message.ts";
import { createInspection } from "./inspection.ts";
import { planFileCompaction } from "./plan-file-compaction.ts";
import type { ForkPreviewOptions } from "./types.ts";

const claude = { provider: "anthropic", id: "claude-sonnet-4" };
const long: Transcript = transcript(
  `u:300 ${"a:100(bash:9000) ".repeat(12)}u:200 ${"a:100(read:4000) ".repeat(12)}u:100 a:50`,
).map((message) => (message.role === "assistant" ? { ...message, model: claude } : message));
const inspection = createInspection(sessionOf(long, { sessionId: "ses_1", windowKnown: true }));
const fork = ({ mode = "text", ...options }: Partial<ForkPreviewOptions> & { mode?: InheritMode } = {}) =>
  inspection.previewForks({ profile: "default", budgetChars: 20_000, ...options })[mode];

describe("the preview of a fork", () => {
  it.each(["documented", "default"] as const)("as text is what the pipeline gives with %s", (profile) => {
    const options = { budgetChars: 20_000, profile, sessionId: "ses_1" };
    const { messages, stats } = processMessagesForFork(long, options);
    const formatted = formatMessagesAsContext(messages, stats, options);
    expect(fork({ profile }).text).toBe(`${buildForkPreamble(formatted.stats)}\n\n${formatted.text}`);
  });

  it("as full is every message as it was sent, read from the cache", () => {
    const { text, messages, cache } = fork({ mode: "full" });
    expect(text.startsWith(long.map(renderMessage).join(""))).toBe(true);
    expect(text).toContain("- All messages preserved");
    expect(messages).toBe(long.length);
    expect(cache.writtenTokens).toBeLessThan(500);
    expect(cache.relativeCost).toBeLessThan(1.1);
    expect(cache.pricesKnown).toBe(true);
  });

  it("as trimmed is shorter, and says from how many steps on that pays", () => {
    const full = fork({ mode: "full" });
    const trimmed = fork({ mode: "trimmed" });
    expect(trimmed.tokens).toBeLessThan(full.tokens * 0.7);
    expect(trimmed.cache.readTokens).toBe(0);
    expect(trimmed.cache.breakEvenSteps).toBeGreaterThan(0);
    expect(trimmed.chosen).toEqual(full.chosen);
  });

  it("costs more than changing nothing below the break-even, and less above", () => {
    const { cache } = fork({ mode: "trimmed" });
    const { breakEvenSteps = 0, expectedSteps, relativeCost } = cache;
    expect(relativeCost < 1).toBe(expectedSteps > breakEvenSteps);
    const { firstBaseTokens, readTokens, writtenTokens, appendOnlyBaseTokens, readMultiplier } = cache;
    const at = (steps: number) =>
      firstBaseTokens +
      (steps - 1) * (readTokens + writtenTokens) * readMultiplier -
      steps * appendOnlyBaseTokens;
    expect(at(breakEvenSteps)).toBeCloseTo(0, 5);
  });

  it("is the same whatever was looked at before", () => {
    for (const profile of ["default", "documented"] as const) {
      for (const upTo of [long.length, 9]) {
        const options = { profile, budgetChars: 9_000, upTo };
        const alone = createInspection(sessionOf(long, { sessionId: "ses_1", windowKnown: true }));
        expect(inspection.previewForks(options)).toEqual(alone.previewForks(options));
      }
    }
  });

  it("knows only what had happened by then", () => {
    const early = fork({ mode: "full", upTo: 3 });
    expect(early.messages).toBe(3);
  });

  it("never exceeds its budget as text", () => {
    const { text } = fork({ budgetChars: 1_000 });
    expect(text.slice(text.indexOf("<inherited_context")).length).toBeLessThanOrEqual(1_000);
    expect(() => fork({ budgetChars: 1 })).not.toThrow();
  });

  it("of an empty session is empty", () => {
    const empty = createInspection(sessionOf([]));
    for (const { text } of Object.values(empty.previewForks({ profile: "default", budgetChars: 1_000 })))
      expect(text).toBe("");
  });
});

describe("the preview of a compaction", () => {
  it("is what a compaction without a model leaves", async () => {
    const plan = planFileCompaction(
      { transcript: long, format: "opencode" },
      { windowTokens: 200_000, keepTokens: 3_000 },
    );
    const clock = { now: () => 0, sleep: async () => {} };
    const outcome = await compact(plan, { clock }, { at: 0 });
    const preview = inspection.previewCompaction({ keepTokens: 3_000 });
    if (outcome.status !== "compacted" || preview.status !== "planned")
      throw new Error("nothing was compacted");
    expect(preview.text).toBe(outcome.messages.filter(isVisibleToModel).map(renderMessage).join(""));
    expect(preview.summary).toBe(outcome.summary);
    expect(preview.tokensBefore).toBe(inspection.inspectWindow({ policy: "as-sent" }).size.tokens);
    const compacted = inspection.inspectWindow({ policy: "local-summary", budget: 3_000 });
    expect(preview.tokensAfter).toBe(compacted.size.tokens);
    expect(preview.replacedMessages + preview.keptMessages).toBe(long.length);
    expect(preview.firstKeptIndex).toBe(long.length - preview.keptMessages);
    expect(preview.charsAfter).toBeLessThan(preview.charsBefore);
    expect(preview.request.prompt.length).toBeGreaterThan(1_000);
  });

  it("makes the same edits as the policy of that name", () => {
    const preview = inspection.previewCompaction({ keepTokens: 3_000 });
    const { inserted } = inspection.inspectWindow({ policy: "local-summary", budget: 3_000 });
    if (preview.status !== "planned") throw new Error("nothing was compacted");
    expect(inserted.at(-1)?.text).toContain(preview.summary);
  });

  it("says why there is nothing to compact", () => {
    const little = createInspection(sessionOf(transcript("u:10 a:10")));
    expect(little.previewCompaction()).toEqual({
      status: "nothing",
      reason: "Everything is recent enough to stay word for word.",
    });
    expect(createInspection(sessionOf([])).previewCompaction()).toMatchObject({ status: "nothing" });
  });
});

describe("a budget", () => {
  const steps = Array.from({ length: 30 }, (_, at): Message[] => {
    const said = transcript(`a:${at * 20}(bash:${(at * 977) % 4_000})`)[0] as Message;
    const thought = { type: "reasoning" as const, text: "t".repeat(900) };
    return [{ ...said, id: `m${at}`, parts: [thought, ...said.parts] }];
  }).flat();
  const asked = transcript("u:300").map((message) => ({ ...message, id: "asked" }));
  const inspection = createInspection(sessionOf([...asked, ...steps]));

  it.each([2_000, 5_000, 20_000, 60_000])("of %d characters holds with reasoning too", (budget) => {
    for (const policy of ["last-n", "fill", "fixed"] as const)
      expect(inspection.inspectWindow({ policy, budget }).charsAfter).toBeLessThanOrEqual(budget);
  });

  it.each([2_000, 4_000, 8_000, 20_000])(
    "of %d tokens holds for the whole window, with every policy that may take out enough",
    (budgetTokens) => {
      for (const policy of ["session", "fill", "fixed", "lines", "local-summary", "last-n"] as const) {
        const { size } = inspection.inspectWindow({ policy, budgetTokens });
        expect(size.tokens, policy).toBeLessThanOrEqual(budgetTokens);
        expect(size.tokens, policy).toBeGreaterThan(0);
      }
      const { trimmed, text } = inspection.previewForks({ profile: "default", budgetTokens });
      expect(Math.max(trimmed.tokens, text.tokens)).toBeLessThanOrEqual(budgetTokens);
    },
  );

  it("of a window of 8,000 tokens is held by a session, also beside what is not in the messages", () => {
    const last = steps.at(-1) as Message;
    const { tokens } = inspection.inspectWindow({ policy: "as-sent" }).size;
    const usage = { inputTokens: Math.round(tokens * 1.15) + 3_000, outputTokens: 100 };
    const counted = { ...last, usage: { ...last.usage, ...usage } } as Message;
    const first = { ...(steps[0] as Message), usage: { inputTokens: 3_200, outputTokens: 10 } } as Message;
    const session = sessionOf([...asked, first, ...steps.slice(1, -1), counted], { windowTokens: 8_000 });
    const { inspectWindow } = createInspection(session);
    const { size } = inspectWindow({ policy: "session", budgetTokens: 8_000 });
    expect(size.outsideTokens).toBeGreaterThan(1_000);
    expect(size.tokens).toBeLessThanOrEqual(8_000);
  });

  it("is one for all: a child and its policy leave the same, but for the preamble", () => {
    const [budgetTokens, profile] = [6_000, "default"] as const;
    const child = inspection.previewForks({ profile, budgetTokens }).trimmed.tokens;
    const policy = inspection.inspectWindow({ policy: "fill", budgetTokens }).size.tokens;
    expect(Math.abs(child - policy)).toBeLessThan(400);
    const results = inspection.comparePolicies({ budgetTokens });
    expect(results.find(({ id }) => id === "fill")?.tokens).toBe(policy);
  });

  it("decides what each policy keeps of what was used next: all of it where nothing is taken out", () => {
    const working = createInspection(sessionOf(workingSession({ steps: 40, editsBackSteps: 12 })));
    const shares = (budgetTokens: number): Readonly<Record<string, number>> =>
      Object.fromEntries(
        working
          .keptByPolicies({ budgetTokens })
          .map(({ policy, keptCount, neededCount }) => [policy, keptCount / neededCount]),
      );
    const { fixed: _, ...whole } = shares(1_000_000);
    expect(new Set(Object.values(whole))).toEqual(new Set([1]));
    const small = shares(working.budget.min + 1_000);
    expect(small).toMatchObject({ "as-sent": 1 });
    expect(small["last-n"]).toBeLessThan(0.9);
    expect(small.fill).toBeGreaterThan(small["last-n"] ?? 1);
    expect(createInspection(sessionOf(transcript("u:9 a:9"))).keptByPolicies({})).toEqual([]);
  });

  it("of a compaction leaves more the larger it is", () => {
    const sizes = [1_000, 3_000, 6_000, 12_000, 20_000, 40_000].map(
      (budget) => inspection.inspectWindow({ policy: "local-summary", budget }).tokensAfter,
    );
    expect(sizes).toEqual(sizes.toSorted((one, other) => one - other));
    expect(sizes.at(-1)).toBe(inspection.inspectWindow({ policy: "as-sent" }).tokensAfter);
  });

  it("of the whole window leaves of a compaction the more the larger it is, and at most as much as it allows", () => {
    const budgets = [2_000, 4_000, 6_000, 9_000, 12_000, 16_000, 40_000];
    const sizes = budgets.map(
      (budgetTokens) => inspection.inspectWindow({ policy: "local-summary", budgetTokens }).size.tokens,
    );
    expect(sizes).toEqual(sizes.toSorted((one, other) => one - other));
    for (const [at, size] of sizes.entries()) expect(size).toBeLessThanOrEqual(budgets[at] ?? 0);
  });

  it("leaves a window of some size, also where the provider counted less than is estimated", () => {
    const last = steps.at(-1) as Message;
    const usage = { inputTokens: 9_000, outputTokens: 100 };
    const counted = { ...last, usage: { ...last.usage, ...usage } } as Message;
    const { inspectWindow } = createInspection(sessionOf([...asked, ...steps.slice(0, -1), counted]));
    const [whole, small] = [
      inspectWindow({ policy: "as-sent" }).size,
      inspectWindow({ policy: "last-n", budget: 1_000 }).size,
    ];
    expect(whole.source).toBe("usage");
    expect(small.tokens).toBeGreaterThan(0);
    expect(small.tokens).toBeLessThan(whole.tokens);
  });
});
