import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { PROVIDER_RULES } from "../../../test/rig/provider-rules.ts";
import type { History, HistoryResult, ModelStep, Step } from "../../../test/rig/random-history/history.ts";
import {
  lowerToAnthropic,
  lowerToGemini,
  lowerToOpenAIChat,
  lowerToOpenAIResponses,
} from "../../../test/rig/random-history/provider-cases.ts";
import { findAnthropicEditFaults, findAnthropicFaults } from "../wires/anthropic/find-faults.ts";
import { findGeminiEditFaults, findGeminiFaults } from "../wires/gemini/find-faults.ts";
import { findOpenAIChatEditFaults, findOpenAIChatFaults } from "../wires/openai-chat/find-faults.ts";
import {
  findOpenAIResponsesEditFaults,
  findOpenAIResponsesFaults,
} from "../wires/openai-responses/find-faults.ts";
import type { EditExpectation } from "./find-edit-faults.ts";

const apis = [
  {
    api: "anthropic",
    lower: lowerToAnthropic,
    find: findAnthropicFaults,
    findEdit: findAnthropicEditFaults,
  },
  {
    api: "openai-chat",
    lower: lowerToOpenAIChat,
    find: findOpenAIChatFaults,
    findEdit: findOpenAIChatEditFaults,
  },
  {
    api: "openai-responses",
    lower: lowerToOpenAIResponses,
    find: findOpenAIResponsesFaults,
    findEdit: findOpenAIResponsesEditFaults,
  },
  { api: "gemini", lower: lowerToGemini, find: findGeminiFaults, findEdit: findGeminiEditFaults },
] as const;

const user = (text = "do it"): Step => ({ type: "user", texts: [text], images: [] });
const says = (text: string): ModelStep => ({
  type: "model",
  model: "north",
  thought: undefined,
  text,
  calls: [],
});
const calls = (...ids: readonly string[]): ModelStep => ({
  ...says("on it"),
  calls: ids.map((id) => ({ id, tool: `tool_${id}`, input: { path: "a.ts" } })),
});
const result = (id: string, text = "done"): HistoryResult => ({
  callId: id,
  tool: `tool_${id}`,
  text,
  isError: false,
  image: undefined,
});
const results = (...ids: readonly string[]): Step => ({
  type: "results",
  results: ids.map((id) => result(id)),
});
const history = (...steps: readonly Step[]): History => ({
  system: "be brief",
  steps,
  isThinking: false,
  cacheMarks: 0,
});

const good = history(
  user(),
  calls("a", "b"),
  results("b", "a"),
  says("half"),
  user("next"),
  calls("c"),
  results("c"),
);

interface EditExample {
  readonly rule: string;
  readonly kept: History;
  readonly broken: History;
  readonly expected: EditExpectation;
}

const common = [
  { rule: "common-01", bad: history(user(), results("a"), says("x"), user()) },
  { rule: "common-02", bad: history(user(), calls("a", "b"), results("a"), user("wait"), results("b")) },
  { rule: "common-03", bad: history(user(), calls("a"), user("a notice"), results("a")) },
  { rule: "common-04", bad: history(user(), calls("a"), results("a", "a")) },
  { rule: "common-05", bad: history(results("a"), user()) },
  { rule: "common-06", bad: history(user(), calls("a"), user("still there?")) },
  { rule: "common-08", bad: history(user(), says("done")) },
  { rule: "common-08", bad: history() },
  { rule: "common-09", bad: history(says("hello"), user()) },
  { rule: "common-10", bad: history(user(" \n")) },
  { rule: "common-11", bad: history(user("half \ud83d")) },
  {
    rule: "common-11",
    bad: history(
      user(),
      { ...says("x"), calls: [{ id: "a", tool: "tool_a", input: { deep: [{ path: "\udc00" }] } }] },
      results("a"),
    ),
  },
  { rule: "common-12", bad: history(user("nul \0")) },
  {
    rule: "common-12",
    bad: history(user(), calls("a"), { type: "results", results: [result("a", "\x9b1m")] }),
  },
] as const;

const edits: readonly EditExample[] = [
  {
    rule: "common-15",
    kept: history(user("do it")),
    broken: history(user("do it, and here is a long notice")),
    expected: { size: "not-larger" },
  },
  {
    rule: "common-17",
    kept: history(says("earlier"), user("do it")),
    broken: history(user("do")),
    expected: { newestRequest: "verbatim" },
  },
  {
    rule: "common-18",
    kept: history(user("do it"), says("cut"), user("do it")),
    broken: history(user("do that"), says("earlier"), user("do it")),
    expected: { unchangedMessages: 1 },
  },
];

describe.each(apis)("rules that all providers have, on $api", ({ lower, find, findEdit }) => {
  it("let a good history pass", () => {
    expect(find(lower(good))).toEqual([]);
  });

  it.each(common)("$rule is found", ({ rule, bad }) => {
    expect(find(lower(bad)).map((fault) => fault.rule)).toContain(rule);
  });

  it.each(edits)("$rule is found between before and after", ({ rule, kept, broken, expected }) => {
    const withoutSystem = (given: History) => lower({ ...given, system: undefined });
    const before = withoutSystem(history(user("do it"), says("earlier"), user("do it")));
    const rules = (after: History) =>
      findEdit(before, withoutSystem(after), expected).map((fault) => fault.rule);
    expect(rules(kept)).not.toContain(rule);
    expect(rules(broken)).toContain(rule);
  });

  it.each([null, undefined, 1, "text", [], {}, [null], [1, "x", [], { role: 3, content: { a: 1 } }]])(
    "say something about %j without throwing",
    (wire) => {
      expect(Array.isArray(find(wire))).toBe(true);
      expect(Array.isArray(findEdit(wire, [wire]))).toBe(true);
    },
  );
});

const fixture = resolve(import.meta.dirname, "../../../../shared/fixtures/api-invariants.json");
if (!existsSync(fixture))
  console.log("skipped: the list of rules (../shared/fixtures/api-invariants.json is not there)");

describe("the table of rules", () => {
  it.skipIf(!existsSync(fixture))("names every rule of the list, once and in order", () => {
    const { invariants } = JSON.parse(readFileSync(fixture, "utf8")) as { invariants: { id: string }[] };
    expect(PROVIDER_RULES.map(({ rule }) => rule)).toEqual(invariants.map(({ id }) => id));
  });

  it("has 46 rules", () => {
    expect(PROVIDER_RULES).toHaveLength(46);
  });

  const formats = resolve(import.meta.dirname, "..");
  const examples = readdirSync(formats, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith("-faults.test.ts"))
    .map((file) => readFileSync(resolve(formats, file), "utf8"));
  const known = [...examples, JSON.stringify(common), JSON.stringify(edits)].join("\n");

  it.each(PROVIDER_RULES.filter(({ checkedOn }) => checkedOn !== "run"))(
    "$rule has an example that breaks it",
    ({ rule }) => {
      expect(known).toContain(rule);
    },
  );
});
