import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../test/rig/notation.ts";
import { type CacheProfile, cacheProfile, NO_CACHE } from "../models/cache-profile.ts";
import { ConfigurationError } from "../text/check.ts";
import { applyEdits, type Edit } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { type EditPlan, type PlanEditsRequest, planEdits } from "./cache-plan.ts";
import { prune } from "./prune.ts";

/** Reading costs a tenth, writing a quarter more, and any prompt is cached: easy to reckon with. */
const PLAIN: CacheProfile = { ...cacheProfile({ id: "claude-sonnet-4-5" }), minimumTokens: 0 };

/** In these tests a character of text or output is a token, and a cleared output is none. */
function tokensOf({ parts }: Message): number {
  return parts.reduce((sum, part) => {
    if (part.type === "text") return sum + part.text.length;
    if (part.type !== "tool" || part.clearedAt !== undefined || part.outcome.status !== "done") return sum;
    return sum + part.outcome.output.length;
  }, 0);
}

const clear = (messageId: string, partIndex = 0): Edit => ({
  type: "hide-part",
  what: "output",
  messageId,
  partIndex,
  stage: "test",
  reason: "pruned",
});

const ids = (edits: readonly Edit[]): readonly string[] =>
  edits.map((edit) => (edit.type === "insert-message" ? edit.message.id : edit.messageId));

function plan(
  notation: string,
  edits: readonly Edit[],
  options: Partial<PlanEditsRequest> & { readonly expectedTurns: number },
): EditPlan {
  return planEdits(
    deepFreeze({ transcript: transcript(notation), edits, profile: PLAIN, tokensOf, ...options }),
  );
}

describe("planEdits", () => {
  // 10 + 1,000 + 10 + 500 were sent; clearing the first output takes 1,000 off every request and makes 510 be sent anew.
  const SESSION = "u:10 a(read:1000) u:10 a(read:500) u:10 a:10 u:10";

  it("charges an edit with the thoughts behind it, and not with those before it or in its own message", () => {
    const thoughts = { tokensOf: ({ role }: Message) => (role === "assistant" ? 40 : 0), multiplier: 5 };
    const { arithmetic } = plan(SESSION, [clear("m2")], { expectedTurns: 10, thoughts });
    // Two answers stand behind the second message.
    expect(arithmetic.all.thoughtBaseTokens).toBe(2 * 40 * 5);
    const free = plan(SESSION, [clear("m2")], { expectedTurns: 10 }).arithmetic.all;
    expect(arithmetic.all.netBaseTokens).toBe(free.netBaseTokens - 2 * 40 * 5);
    const dear = { ...thoughts, multiplier: 50 };
    expect(plan(SESSION, [clear("m2")], { expectedTurns: 10, thoughts: dear }).apply).toEqual([]);
  });

  it("shows the sum behind its choice", () => {
    const { apply, wait, arithmetic } = plan(SESSION, [clear("m2")], { expectedTurns: 10 });
    expect(ids(apply)).toEqual(["m2"]);
    expect(wait).toEqual([]);
    expect(arithmetic).toEqual({
      cache: "warm",
      cachedTokens: 1_530,
      readMultiplier: 0.1,
      writeMultiplier: 1.25,
      expectedTurns: 10,
      chosen: arithmetic.all,
      all: {
        firstIndex: 1,
        savedTokensPerTurn: 1_000,
        rewrittenTokens: 520,
        savedBaseTokens: 1_000,
        rewriteBaseTokens: 520 * 1.15,
        netBaseTokens: 1_000 - 520 * 1.15,
        breakEvenTurns: 5.98,
      },
    });
  });

  it.each([
    [5, []],
    [5.98, []],
    [6, ["m2"]],
  ])("with %s requests to come applies %o: it pays from 5.98 on", (expectedTurns, applied) => {
    const { apply, wait } = plan(SESSION, [clear("m2")], { expectedTurns });
    expect(ids(apply)).toEqual(applied);
    expect(apply.length + wait.length).toBe(1);
  });

  it("adds the edits behind the first one for nothing, and leaves those before it that do not pay", () => {
    const notation = "u:10 a(read:100) u:9000 a(read:4000) u:10 a(read:10) u:10 a:10";
    const { apply, wait } = plan(notation, [clear("m6"), clear("m2"), clear("m4")], { expectedTurns: 2 });
    expect(ids(apply)).toEqual(["m6", "m4"]);
    expect(ids(wait)).toEqual(["m2"]);
  });

  it("lets all edits through together when one alone would not pay", () => {
    const notation = "u:10 a(read:600) a(read:600) a(read:600) u:2000 a:10";
    expect(ids(plan(notation, [clear("m2")], { expectedTurns: 10 }).apply)).toEqual([]);
    expect(
      ids(plan(notation, [clear("m2"), clear("m3"), clear("m4")], { expectedTurns: 20 }).apply),
    ).toHaveLength(3);
  });

  it.each([
    ["the cache has expired", { idleMs: PLAIN.ttlMs + 1 }, "cold"],
    ["the provider has no cache", { profile: NO_CACHE }, "uncached"],
    ["the prompt is too short to be cached", { profile: { ...PLAIN, minimumTokens: 2_000 } }, "uncached"],
  ] as const)("applies everything when %s", (_, options, cache) => {
    const { apply, arithmetic } = plan(SESSION, [clear("m2"), clear("m4")], { expectedTurns: 1, ...options });
    expect(ids(apply)).toEqual(["m2", "m4"]);
    expect(arithmetic).toMatchObject({
      cache,
      cachedTokens: 0,
      chosen: { rewrittenTokens: 0, breakEvenTurns: 0 },
    });
  });

  it("takes the cache for warm up to its last millisecond", () => {
    expect(plan(SESSION, [clear("m2")], { expectedTurns: 1, idleMs: PLAIN.ttlMs }).arithmetic.cache).toBe(
      "warm",
    );
  });

  it("edits for nothing what no request has held yet", () => {
    const { apply, arithmetic } = plan("u:10 a:9000 u:10 a(read:500)", [clear("m4")], { expectedTurns: 1 });
    expect(ids(apply)).toEqual(["m4"]);
    expect(arithmetic.chosen).toMatchObject({ rewrittenTokens: 0, savedBaseTokens: 500 * 1.25 });
  });

  it("is free before the first request", () => {
    expect(plan("u:10 u:10", [hide("m1")], { expectedTurns: 1 }).arithmetic.cache).not.toBe("uncached");
    expect(ids(plan("u:10 u:10", [hide("m1")], { expectedTurns: 1 }).apply)).toEqual(["m1"]);
  });

  it("reuses only what stands before the last breakpoint", () => {
    const notation = "u:1000 a:1000 u:1000 a(read:1000) u:10 a:10";
    const rewritten = (breakpoints?: readonly string[]) =>
      plan(notation, [clear("m4")], {
        expectedTurns: 1,
        leadingTokens: 500,
        ...(breakpoints && { breakpoints }),
      }).arithmetic.all.rewrittenTokens;
    expect(rewritten()).toBe(10);
    expect(rewritten(["m3"])).toBe(10);
    expect(rewritten(["m1", "m5"])).toBe(2_010);
    expect(rewritten([])).toBe(3_010);
  });

  it("reuses whole steps, and no prefix that is too short", () => {
    const behind = (profile: CacheProfile) =>
      plan("u:1000 a(read:1000) u:10 a:10", [clear("m2")], { expectedTurns: 1, profile }).arithmetic.all;
    expect(behind({ ...PLAIN, stepTokens: 128 }).rewrittenTokens).toBe(10 + (1_000 % 128));
    expect(behind({ ...PLAIN, minimumTokens: 1_024 }).rewrittenTokens).toBe(1_010);
  });

  it("gives up what must go, as cheaply as that can be done", () => {
    const notation = "u:10 a(read:1000) u:9000 a(read:500) u:900 a(read:500) u:10 a:10";
    const edits = [clear("m2"), clear("m4"), clear("m6")];
    const needing = (neededTokens: number) =>
      ids(plan(notation, edits, { expectedTurns: 1, neededTokens }).apply);
    expect(needing(0)).toEqual(["m6"]);
    expect(needing(400)).toEqual(["m6"]);
    expect(needing(600)).toEqual(["m4", "m6"]);
    expect(needing(2_000)).toEqual(["m2", "m4", "m6"]);
    expect(needing(1_000_000)).toEqual(["m2", "m4", "m6"]);
  });

  it("lets edits through that change nothing on the wire", () => {
    const notation = "u:10 a(read:1000) m s:9 u:5000 a:10";
    expect(ids(plan(notation, [clear("m2"), clear("nowhere")], { expectedTurns: 1 }).apply)).toEqual([
      "m2",
      "nowhere",
    ]);
  });

  it("counts what is inserted as a cost, at its place", () => {
    const message: Message = { id: "new", role: "user", parts: [{ type: "text", text: "x".repeat(300) }] };
    const insert: Edit = { type: "insert-message", message, after: "m1", stage: "test", reason: "test" };
    const move: Edit = { type: "move-message", messageId: "m4", after: "new", stage: "test", reason: "test" };
    const { wait, arithmetic } = plan(SESSION, [insert, move], { expectedTurns: 5 });
    expect(wait).toHaveLength(2);
    expect(arithmetic.all).toMatchObject({ firstIndex: 1, savedTokensPerTurn: -300 });
  });

  it("measures several edits of one message once", () => {
    const { arithmetic } = plan(SESSION, [clear("m2"), clear("m2"), hide("m2")], { expectedTurns: 5 });
    expect(arithmetic.all.savedTokensPerTurn).toBe(1_000);
  });

  it("is nothing on nothing", () => {
    const { apply, wait, arithmetic } = plan("", [], { expectedTurns: 1 });
    expect([apply, wait]).toEqual([[], []]);
    expect(arithmetic.chosen).toMatchObject({ firstIndex: Number.POSITIVE_INFINITY, netBaseTokens: 0 });
  });

  it("names every setting that cannot be used", () => {
    const bad = { ...PLAIN, readMultiplier: Number.NaN, stepTokens: 0, ttlMs: -1 };
    try {
      plan("u:1", [], { expectedTurns: 0, profile: bad, neededTokens: -1, leadingTokens: Number.NaN });
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigurationError);
      expect((error as ConfigurationError).problems).toHaveLength(6);
    }
  });

  it("needs no size of its own for the edits of prune", () => {
    const messages = transcript("u a(read:170000) a(read:170000) u:9 a:9 u:9");
    const { edits } = prune(messages);
    const { arithmetic } = planEdits({
      transcript: messages,
      edits,
      profile: cacheProfile({ id: "claude-sonnet-4-5" }),
      expectedTurns: 30,
    });
    expect(edits).toHaveLength(2);
    expect(arithmetic.chosen.savedTokensPerTurn).toBe(85_002 - 2 * 9);
  });
});

const hide = (messageId: string): Edit => ({
  type: "hide-message",
  messageId,
  stage: "test",
  reason: "test",
});

describe("planEdits against a bill reckoned request by request", () => {
  /** What a provider charges for the requests to come, in ordinary input tokens. */
  function bill(before: Transcript, after: Transcript, cachedEnd: number, turns: number): number {
    const changed = before.findIndex((message, index) => after[index] !== message);
    const common = Math.min(cachedEnd, changed === -1 ? before.length : changed);
    const size = (messages: Transcript) => messages.reduce((sum, message) => sum + tokensOf(message), 0);
    const first = 0.1 * size(after.slice(0, common)) + 1.25 * size(after.slice(common));
    return first + (turns - 1) * 0.1 * size(after);
  }

  it("finds the saving that no other subset of the edits exceeds", () => {
    const step = fc.tuple(fc.constantFrom("a", "a", "u"), fc.nat(300), fc.boolean());
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 9, size: "max" }),
        fc.integer({ min: 1, max: 40 }),
        (steps, turns) => {
          const messages = deepFreeze(
            transcript(steps.map(([role, size]) => `${role}(read:${size})`).join(" ")),
          );
          const edits = steps.flatMap(([, , edited], index) => (edited ? [clear(`m${index + 1}`)] : []));
          const cachedEnd = Math.max(
            0,
            messages.findLastIndex(({ role }) => role === "assistant"),
          );
          const cost = (subset: readonly Edit[]) =>
            bill(messages, applyEdits(messages, subset, { at: 1 }), cachedEnd, turns);

          const { apply, wait, arithmetic } = planEdits({
            transcript: messages,
            edits,
            profile: PLAIN,
            expectedTurns: turns,
            tokensOf,
          });
          expect([...apply, ...wait]).toHaveLength(edits.length);
          expect(cost([]) - cost(apply)).toBeCloseTo(arithmetic.chosen.netBaseTokens, 6);
          expect(cost([]) - cost(edits)).toBeCloseTo(arithmetic.all.netBaseTokens, 6);
          for (let bits = 0; bits < 2 ** edits.length; bits++) {
            const subset = edits.filter((_, index) => (bits >> index) & 1);
            expect(cost(subset)).toBeGreaterThanOrEqual(cost(apply) - 1e-6);
          }
        },
      ),
    );
  });

  it("says how many tokens have to come in, at least, before edits pay that save enough", () => {
    const protectedResults = 2;
    const plan = (sizes: readonly number[], expectedTurns: number): EditPlan => {
      const messages = transcript(["u:10", ...sizes.map((size) => `a(read:${size})`)].join(" "));
      const old = messages.slice(1, -protectedResults).map(({ id }) => clear(id));
      return planEdits({
        ...{ transcript: messages, edits: old, profile: PLAIN, expectedTurns, tokensOf },
        leastTokens: LEAST_TOKENS,
      });
    };
    let waits = 0;
    fc.assert(
      fc.property(
        fc.array(fc.nat(300), { minLength: 3, maxLength: 9, size: "max" }),
        fc.array(fc.nat(100), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 12 }),
        (sizes, coming, turns) => {
          const { lackingTokens } = plan(sizes, turns);
          if (coming.reduce((sum, size) => sum + size, 0) >= lackingTokens) return;
          waits++;
          const { savedTokensPerTurn } = plan([...sizes, ...coming], turns).arithmetic.chosen;
          expect(savedTokensPerTurn).toBeLessThan(LEAST_TOKENS);
        },
      ),
    );
    expect(waits).toBeGreaterThan(0);
  });
});

const LEAST_TOKENS = 800;
