import { describe, expect, it } from "vitest";
import { deepFreeze, notate, transcript } from "../../test/rig/notation.ts";
import { applyGraduatedTruncation } from "../fork/fork.ts";
import { safeJson } from "../text/json.ts";
import { toolResults } from "../transcript/content.ts";
import { runStages } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { CLEARED_PLACEHOLDER, type ToolPart } from "../transcript/part.ts";
import { FORK_PARAMS_TIER_LIMITS, getToolResultTier, graduatedTiers } from "./tiers.ts";

const cut = (notation: string) => notate(applyGraduatedTruncation(deepFreeze(transcript(notation))));
const tools = (count: number, call: string) => Array.from({ length: count }, () => `a(${call})`).join(" ");

/** Kept characters and the marker that says how many are missing. */
const kept = (limit: number, original: number) =>
  limit + `\n...[truncated ${original - limit} chars]...`.length;

function withParts(change: (part: ToolPart, index: number) => ToolPart, notation: string): Transcript {
  let index = 0;
  return transcript(notation).map(
    (message): Message => ({
      ...message,
      parts: message.parts.map((part) => (part.type === "tool" ? change(part, index++) : part)),
    }),
  );
}

describe("getToolResultTier", () => {
  it.each([
    [0, 1],
    [4, 1],
    [5, 2],
    [14, 2],
    [15, 3],
    [999, 3],
  ] as const)("counted from the newest, %i is tier %i", (index, tier) =>
    expect(getToolResultTier(index)).toBe(tier),
  );

  it.each([
    [19, 20, 1],
    [15, 20, 1],
    [14, 20, 2],
    [5, 20, 2],
    [4, 20, 3],
    [0, 20, 3],
  ] as const)("counted from the oldest, %i of %i is tier %i", (index, total, tier) =>
    expect(getToolResultTier(index, total)).toBe(tier),
  );
});

describe("graduatedTiers", () => {
  it("keeps 5 whole, 10 at 3,000, the rest at 500", () => {
    const results = toolResults(applyGraduatedTruncation(transcript(tools(20, "read:9000"))));
    expect(results.map((result) => result.text.length)).toEqual([
      ...Array(5).fill(kept(500, 9_000)),
      ...Array(10).fill(kept(3_000, 9_000)),
      ...Array(5).fill(9_000),
    ]);
  });

  it("applies however short the conversation is", () => {
    expect(cut(`a(read:4000) ${tools(5, "read:1")}`)).toBe(
      `a(read:${kept(3_000, 4_000)}) ${tools(5, "read:1")}`,
    );
  });

  it("gives empty and cleared results no number", () => {
    expect(cut(`${tools(5, "read:9000")} ${tools(9, "read:0")} ${tools(9, "read~9000")}`)).toBe(
      `${tools(5, "read:9000")} ${tools(9, "read:0")} ${tools(9, "read~9000")}`,
    );
  });

  it("numbers parallel calls in part order", () => {
    expect(cut(`a(read:4000,read:4000) ${tools(4, "read:1")}`)).toBe(
      `a(read:${kept(3_000, 4_000)},read:4000) ${tools(4, "read:1")}`,
    );
  });

  it("keeps both ends of terminal output, of errors, and of texts that speak of one", () => {
    const messages = withParts(
      (part, index) =>
        index === 2 && part.outcome.status === "done"
          ? { ...part, outcome: { ...part.outcome, output: `error${part.outcome.output}` } }
          : part,
      `a(Bash:4000,read!4000,read:4000,read:4000) ${tools(5, "read:1")}`,
    );
    const methods = toolResults(applyGraduatedTruncation(messages)).map((result) => result.part.cut?.method);
    expect(methods.slice(0, 4)).toEqual(["head-tail", "head-tail", "head-tail", "head"]);
  });

  it("does not take a result for cleared because it quotes the placeholder", () => {
    const quoting = withParts(
      (part, index) =>
        index === 0
          ? {
              ...part,
              outcome: {
                status: "done",
                output: `${CLEARED_PLACEHOLDER} ${"x".repeat(100_000)}`,
                attachments: [],
              },
            }
          : part,
      `a(read:1) ${tools(15, "read:1")}`,
    );
    expect(toolResults(applyGraduatedTruncation(quoting))[0]?.text.length).toBe(kept(500, 100_034));
  });

  it("leaves some tools alone but counts them", () => {
    expect(cut(`a(read:4000) ${tools(5, "ask_user_questions:9000")} ${tools(15, "skill:9000")}`)).toContain(
      "ask_user_questions:9000",
    );
    expect(cut(`a(read:4000) ${tools(5, "skill:10")}`)).toContain(`read:${kept(3_000, 4_000)}`);
  });

  it("cuts inputs to 500, 200 and 100 characters by tier", () => {
    const messages = withParts(
      (part) => ({ ...part, input: { content: "x".repeat(2_000) } }),
      tools(20, "read:10"),
    );
    const results = toolResults(applyGraduatedTruncation(deepFreeze(messages)));
    const [tier1 = 0, tier2 = 0, tier3 = 0] = FORK_PARAMS_TIER_LIMITS;
    const limits = [...Array(5).fill(tier3), ...Array(10).fill(tier2), ...Array(5).fill(tier1)];
    expect(results.map((result) => result.part.inputCut?.preview.length)).toEqual(
      limits.map((limit) => limit + 3),
    );
    for (const [index, result] of results.entries()) {
      expect(safeJson(result.part.input).length).toBeLessThanOrEqual(limits[index]);
    }
    expect(results[0]?.part.input).toEqual({ content: expect.stringMatching(/^x+\.\.\.$/) });
  });

  it("gives a running call the limit of the newest", () => {
    const messages = withParts(
      (part) => ({ ...part, input: { content: "x".repeat(2_000) } }),
      `a(bash?) ${tools(20, "read:10")}`,
    );
    const [running] = applyGraduatedTruncation(messages)[0]?.parts ?? [];
    expect(running).toMatchObject({ inputCut: { limitChars: 500 } });
  });

  it("changes nothing the second time", () => {
    const once = applyGraduatedTruncation(transcript(tools(30, "bash:9000")));
    expect(applyGraduatedTruncation(deepFreeze(once))).toBe(once);
  });

  it("says in each edit why, how much and where to recall it", () => {
    const limits = {
      tier1Count: 1,
      tier2Count: 1,
      resultChars: { 1: 900, 2: 300, 3: 100 },
      paramsChars: { 1: 50, 2: 40, 3: 30 },
    };
    const input = { path: "p".repeat(80) };
    const history = withParts(
      (part, index) => (index > 2 ? { ...part, input } : part),
      "a(read:800) a(read:800) a(read:9) a(read?)",
    );
    const edits = graduatedTiers({ limits })(deepFreeze(history));
    expect(edits).toMatchObject([
      {
        type: "replace-part",
        messageId: "m1",
        partIndex: 0,
        stage: "graduated-tiers",
        reason: "tier-3",
        omitted: { chars: 700, handle: "m1/0" },
        part: { cut: { method: "head", originalChars: 800, omittedChars: 700, limitChars: 100 } },
      },
      { messageId: "m2", reason: "tier-2", omitted: { chars: 500 } },
      {
        messageId: "m4",
        reason: "params",
        omitted: { chars: JSON.stringify(input).length - 50, handle: "m4/0" },
        part: {
          inputCut: {
            method: "head",
            originalChars: JSON.stringify(input).length,
            limitChars: 50,
            preview: `${JSON.stringify(input).slice(0, 50)}...`,
          },
        },
      },
    ]);
    expect(edits).toHaveLength(3);
  });

  it("cuts an input only where that makes it shorter, and further as it grows older", () => {
    const limits = (chars: number) => ({
      tier1Count: 9,
      tier2Count: 0,
      resultChars: { 1: 9, 2: 9, 3: 9 },
      paramsChars: { 1: chars, 2: chars, 3: chars },
    });
    const history = withParts((part) => ({ ...part, input: "i".repeat(98) }), "a(read:5)");
    const stage = (chars: number) => graduatedTiers({ limits: limits(chars) });
    expect(stage(97)(history)).toEqual([]);
    expect(stage(96)(history)).toHaveLength(1);
    const once = runStages(history, [stage(90)]).transcript;
    expect(stage(90)(once)).toEqual([]);
    expect(stage(95)(once)).toEqual([]);
    const twice = runStages(once, [stage(40)]);
    expect(twice.edits[0]?.omitted?.chars).toBe(50);
    const part = twice.transcript[0]?.parts[0];
    expect(part?.type === "tool" && part.inputCut).toMatchObject({ originalChars: 100, omittedChars: 60 });
  });
});
