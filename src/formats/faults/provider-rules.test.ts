import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type EditExpectation,
  findAnthropicEditFaults,
  findGeminiEditFaults,
  findOpenAIChatEditFaults,
  findOpenAIResponsesEditFaults,
} from "../../../test/rig/edit-faults.ts";
import type { History, HistoryResult, ModelStep, Step } from "../../../test/rig/random-history/history.ts";
import {
  lowerToAnthropic,
  lowerToGemini,
  lowerToOpenAIChat,
  lowerToOpenAIResponses,
} from "../../../test/rig/random-history/provider-cases.ts";
import type { ProviderRule } from "../../transcript/format.ts";
import { findAnthropicFaults } from "../wires/anthropic/find-faults.ts";
import { findGeminiFaults } from "../wires/gemini/find-faults.ts";
import { findOpenAIChatFaults } from "../wires/openai-chat/find-faults.ts";
import { findOpenAIResponsesFaults } from "../wires/openai-responses/find-faults.ts";

/** One rule that a history must keep to be taken by a provider, and where it is checked. */
interface ProviderRuleEntry {
  readonly rule: ProviderRule;
  /**
   * `wire`: by `find…Faults` on any wire. `edit`: by `find…EditFaults`, on a wire before and after an edit.
   * `run`: only running a transformation shows it, so the fuzz does.
   */
  readonly checkedOn: "wire" | "edit" | "run";
  readonly text: string;
}

/** All 46 rules, in the order of their numbers. */
const PROVIDER_RULES: readonly ProviderRuleEntry[] = [
  { rule: "common-01", checkedOn: "wire", text: "a result has its call before it" },
  { rule: "common-02", checkedOn: "wire", text: "the results of one turn stand together" },
  { rule: "common-03", checkedOn: "wire", text: "nothing stands between a call and its result" },
  { rule: "common-04", checkedOn: "wire", text: "each call has its own id and one result" },
  { rule: "common-05", checkedOn: "wire", text: "no result comes first" },
  { rule: "common-06", checkedOn: "wire", text: "an interrupted call has a result that says so" },
  { rule: "common-07", checkedOn: "wire", text: "turns that were broken off are left out" },
  { rule: "common-08", checkedOn: "wire", text: "there is a message, and the last one is not the model's" },
  { rule: "common-09", checkedOn: "wire", text: "the first message is the user's" },
  { rule: "common-10", checkedOn: "wire", text: "no text is blank, no message empty" },
  { rule: "common-11", checkedOn: "wire", text: "every text is well-formed" },
  { rule: "common-12", checkedOn: "wire", text: "no control characters reach the model" },
  { rule: "common-13", checkedOn: "run", text: "doing it again changes nothing" },
  { rule: "common-14", checkedOn: "run", text: "the same input gives the same bytes" },
  { rule: "common-15", checkedOn: "edit", text: "what was to save room does not take more" },
  { rule: "common-16", checkedOn: "run", text: "the input is not written to" },
  { rule: "common-17", checkedOn: "edit", text: "the newest request stays word for word" },
  { rule: "common-18", checkedOn: "edit", text: "what stands before the first edit does not change" },
  { rule: "anthropic-19", checkedOn: "wire", text: "a turn's results are in one message, in front" },
  { rule: "anthropic-20", checkedOn: "wire", text: "call ids are 1 to 64 letters, digits, _ and -" },
  { rule: "anthropic-21", checkedOn: "edit", text: "thinking is sent as it came" },
  { rule: "anthropic-22", checkedOn: "wire", text: "in an open tool loop, thinking comes first" },
  {
    rule: "anthropic-23",
    checkedOn: "wire",
    text: "at most four cache marks, none on thinking or a blank text",
  },
  { rule: "anthropic-24", checkedOn: "wire", text: "no thinking that another model signed" },
  { rule: "anthropic-25", checkedOn: "wire", text: "requests and images have a largest size" },
  { rule: "anthropic-26", checkedOn: "wire", text: "the model does not have the last word" },
  { rule: "anthropic-27", checkedOn: "wire", text: "user and assistant take turns" },
  { rule: "openai-chat-28", checkedOn: "wire", text: "a tool message follows the message that called" },
  { rule: "openai-chat-29", checkedOn: "wire", text: "all calls are answered before the next message" },
  {
    rule: "openai-chat-30",
    checkedOn: "wire",
    text: "arguments are JSON, and results text where a vendor is strict",
  },
  {
    rule: "openai-chat-31",
    checkedOn: "wire",
    text: "reasoning_content is on every turn of a tool loop or on none",
  },
  { rule: "openai-chat-32", checkedOn: "wire", text: "Mistral's ids and order" },
  { rule: "openai-responses-33", checkedOn: "wire", text: "calls and outputs come in pairs" },
  { rule: "openai-responses-34", checkedOn: "wire", text: "behind reasoning stands what came of it" },
  { rule: "openai-responses-35", checkedOn: "edit", text: "no item keeps its id when its reasoning is gone" },
  { rule: "openai-responses-36", checkedOn: "wire", text: "what is not stored is sent whole" },
  { rule: "openai-responses-37", checkedOn: "edit", text: "encrypted content is sent as it came" },
  { rule: "openai-responses-38", checkedOn: "wire", text: "call ids are short, item ids unique" },
  { rule: "openai-responses-39", checkedOn: "wire", text: "nothing stands before a compaction item" },
  { rule: "gemini-40", checkedOn: "wire", text: "as many responses as calls, in the next content" },
  { rule: "gemini-41", checkedOn: "wire", text: "calls come right behind the user or a response" },
  { rule: "gemini-42", checkedOn: "wire", text: "two roles, the user first and last, no empty content" },
  { rule: "gemini-43", checkedOn: "wire", text: "the first call of a step is signed, its siblings are not" },
  { rule: "gemini-44", checkedOn: "edit", text: "a signature stays on its part" },
  { rule: "gemini-45", checkedOn: "wire", text: "a summariser gets no media in responses" },
  { rule: "gemini-46", checkedOn: "edit", text: "no text of ours inside a tool loop" },
];

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
  thoughts: [],
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
