import { describe, expect, it } from "vitest";
import { linesOf, next, type Sent, START, size, text } from "../../test/rig/cache-session.ts";
import { readModelRows } from "../models/model-row.ts";
import { asObject } from "../text/unknown-value.ts";
import { mostExpensive } from "./describe-cost.ts";
import { explainCost, type MissCause } from "./explain-cost.ts";
import { readRequests } from "./read-requests.ts";

function costOf(wire: readonly unknown[]) {
  return explainCost(readRequests({ format: "claude-code", wire, transcript: [] }));
}

const second = next(START, 3);
const third = next(second, 4);

describe("a cache miss", () => {
  it.each<{
    name: string;
    change: Partial<Sent>;
    cause: MissCause;
    detail?: RegExp;
    also?: MissCause[];
    lost?: number;
  }>([
    {
      name: "a tool that was added",
      change: { tools: [...START.tools, "Grep.."] },
      cause: "tools",
      detail: /the tool Grep added/,
    },
    {
      name: "a tool that was removed",
      change: { tools: START.tools.slice(1) },
      cause: "tools",
      detail: /the tool Bash removed/,
    },
    {
      name: "a tool whose description changed",
      change: { tools: [START.tools[0] ?? "", "Read".padEnd(2_000, ",")] },
      cause: "tools",
      detail: /the tool Read from character \d+ on/,
    },
    {
      name: "tools in another order",
      change: { tools: START.tools.toReversed() },
      cause: "tools",
      detail: /the tool Bash in another place/,
    },
    {
      name: "another system prompt",
      change: { system: "You are an agent!".padEnd(5_000, ".") },
      cause: "system",
      detail: /part 1 of the system prompt from character 16 on/,
    },
    {
      name: "an earlier message that was edited",
      change: { messages: ["u1!".padEnd(4_000, "."), ...third.messages.slice(1)] },
      cause: "message",
      detail: /message 1 of 5 was changed from character 3 on/,
    },
    {
      name: "an earlier message that was removed",
      change: { messages: third.messages.slice(1) },
      cause: "message",
      detail: /message 1 of 5 was removed/,
    },
    {
      name: "a pause longer than the cache lives",
      change: { pauseMinutes: 12 },
      cause: "idle",
      detail: /12 minutes/,
    },
    {
      name: "another model",
      change: { model: "claude-sonnet-4-6" },
      cause: "model",
      detail: /claude-sonnet-4-6 in place of claude-opus-4-6/,
    },
    {
      name: "a compaction",
      change: { compacted: true, messages: [text("summary", 3_000), text("u9", 100)] },
      cause: "compaction",
    },
    {
      name: "a provider that did not hit",
      change: { forgets: true },
      cause: "provider",
      detail: /the same beginning/,
    },
    { name: "other settings", change: { forgets: true, thinking: "high" }, cause: "settings" },
    {
      name: "a pause and another model at once",
      change: { pauseMinutes: 12, model: "claude-sonnet-4-6" },
      cause: "model",
      also: ["idle"],
    },
  ])("is told by its cause: $name", ({ change, cause, detail = /(?:)/, also = [] }) => {
    const { misses } = costOf(linesOf([START, second, { ...third, ...change }]));
    expect(misses).toHaveLength(1);
    expect(misses[0]).toMatchObject({ cause, also, certainty: "recorded", request: 2 });
    expect(misses[0]?.detail).toMatch(detail);
  });

  it.each<{ name: string; change: Partial<Sent>; cause: MissCause; certainty: "recorded" | "likely" }>([
    { name: "a pause", change: { pauseMinutes: 12 }, cause: "idle", certainty: "recorded" },
    { name: "a model", change: { model: "claude-sonnet-4-6" }, cause: "model", certainty: "recorded" },
    {
      name: "a compaction",
      change: { compacted: true, messages: [text("s", 3_000)] },
      cause: "compaction",
      certainty: "recorded",
    },
    {
      name: "results that the agent says it cleared",
      change: { noted: "microcompact_boundary", messages: ["!", ...third.messages.slice(1)] },
      cause: "message",
      certainty: "recorded",
    },
    {
      name: "less that was sent",
      change: { messages: ["!", ...third.messages.slice(1)] },
      cause: "message",
      certainty: "likely",
    },
    // Nothing tells these apart where requests are not recorded, and nothing is made up.
    { name: "tools", change: { tools: [...START.tools, "Grep.."] }, cause: "unknown", certainty: "likely" },
    { name: "a provider that did not hit", change: { forgets: true }, cause: "unknown", certainty: "likely" },
  ])("of a file without recorded requests, by $name", ({ change, cause, certainty }) => {
    const { misses } = costOf(linesOf([START, second, { ...third, ...change }], "unrecorded"));
    expect(misses).toMatchObject([{ cause, certainty }]);
  });

  it("is a compaction's also where the line that it followed is not in the file", () => {
    const compacted = { ...third, compacted: true as const, messages: [text("s", 3_000)] };
    const lines = linesOf([START, second, compacted], "unrecorded").map((line) =>
      asObject(line).subtype === "compact_boundary" ? { ...asObject(line), logicalParentUuid: "gone" } : line,
    );
    expect(costOf(lines).misses).toMatchObject([{ cause: "compaction", certainty: "recorded" }]);
  });

  it("is none where the conversation only grows", () => {
    const { misses, cacheMissCost } = costOf(linesOf([START, second, third]));
    expect(misses).toEqual([]);
    expect(cacheMissCost).toEqual({ tokens: 0, costUSD: 0 });
  });

  it("says how much was paid again, from where on, and what that cost more than reading", () => {
    const edited = {
      ...third,
      messages: [...START.messages, "a3!".padEnd(2_500, "."), ...third.messages.slice(4)],
    };
    const { misses, requests } = costOf(
      linesOf([START, { ...second, messages: [...START.messages, text("a3", 2_500)] }, edited]),
    );
    const [found] = misses;
    expect(found).toMatchObject({
      cause: "message",
      messageIndex: 3,
      keptThrough: 0,
      missedTokens: 2_500,
    });
    // Opus 4.6: 6.25 dollars a million to write, 0.50 to read; three tokens were sent uncached for 5.
    expect(found?.costUSD).toBeCloseTo((2_500 * (6.25 - 0.5)) / 1e6, 4);
    expect(requests[2]?.costUSD).toBeGreaterThan(found?.costUSD ?? 0);
  });

  it("is not what a conversation costs that goes on from an earlier place", () => {
    const lines = linesOf([START, next(START, 3)], "unrecorded") as readonly Record<string, unknown>[];
    const again = linesOf([START, next(START, 9)], "unrecorded").slice(2) as readonly Record<
      string,
      unknown
    >[];
    const branch = again.map((line) => ({
      ...line,
      uuid: `b${line.uuid}`,
      parentUuid: line.type === "user" ? "a0" : "bu1",
      ...(line.type === "assistant" && { message: { ...(line.message as object), id: "msg_9" } }),
    }));
    const { misses, totals } = costOf([...lines, ...branch]);
    expect(totals.requests).toBe(3);
    expect(misses).toEqual([]);
  });
});

describe("the cost of a session", () => {
  it("is the sum of its requests at the prices of their models", () => {
    const { totals, requests } = costOf(linesOf([START, second]));
    const written = size([...second.tools, second.system, ...second.messages]);
    const first = size([...START.tools, START.system, ...START.messages]);
    expect(totals).toMatchObject({
      requests: 2,
      inputTokens: 6,
      outputTokens: 200,
      cacheReadTokens: first,
      cacheWriteTokens: written,
      unpriced: 0,
    });
    expect(totals.costUSD).toBeCloseTo((6 * 5 + 200 * 25 + first * 0.5 + written * 6.25) / 1e6, 9);
    expect(requests.map(({ priced }) => priced)).toEqual(["table", "table"]);
  });

  it("leaves out models that nobody has a price for, and says how many requests these are", () => {
    const { totals } = costOf(linesOf([{ ...START, model: "hal-9000" }, second]));
    expect(totals.unpriced).toBe(1);
    expect(totals.costUSD).toBeGreaterThan(0);
  });

  it("goes by other prices where they are given", () => {
    const models = readModelRows([
      { names: ["hal-9000"], prices: [{ input: 1, output: 2, cacheRead: 0 }], source: "the bill" },
    ]);
    const wire = linesOf([{ ...START, model: "hal-9000" }]);
    const { totals } = explainCost(readRequests({ format: "claude-code", wire, transcript: [] }), { models });
    expect(totals.costUSD).toBeCloseTo(
      (size([...START.tools, START.system, ...START.messages]) + 3 + 200) / 1e6,
      9,
    );
  });

  it("lists the most expensive cache misses first", () => {
    const lines = linesOf([START, { ...second, pauseMinutes: 9 }, { ...third, model: "claude-fable-5" }]);
    const { misses } = costOf(lines);
    expect(mostExpensive(misses, 1).map(({ cause }) => cause)).toEqual(["model"]);
    expect(misses.map(({ cause }) => cause)).toEqual(["idle", "model"]);
  });
});
