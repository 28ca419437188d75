import { describe, expect, it } from "vitest";
import { findOpenAIResponsesEditFaults } from "../../../../test/rig/edit-faults.ts";
import { findOpenAIResponsesFaults } from "./find-faults.ts";

const user = { role: "user", content: "go" };
const call = (callId: string, more: object = {}) => ({
  type: "function_call",
  call_id: callId,
  name: "bash",
  arguments: "{}",
  ...more,
});
const output = (callId: string) => ({ type: "function_call_output", call_id: callId, output: "ok" });
const reasoning = (id: string, more: object = {}) => ({
  type: "reasoning",
  id,
  summary: [],
  encrypted_content: `e-${id}`,
  ...more,
});
const says = (id?: string, more: object = {}) => ({
  type: "message",
  role: "assistant",
  ...(id !== undefined && { id }),
  content: [{ type: "output_text", text: "done" }],
  ...more,
});

describe("rules of the Responses API", () => {
  it.each<{ rule: string; name: string; good: unknown; bad: unknown }>([
    {
      rule: "openai-responses-33",
      name: "an output has its call",
      good: [user, call("a"), call("b"), output("a"), output("b")],
      bad: [user, call("a"), output("a"), output("b")],
    },
    {
      rule: "openai-responses-33",
      name: "a call has its output",
      good: { input: [user, call("a"), output("a")] },
      bad: { input: [user, call("a"), output("a"), call("b"), user] },
    },
    {
      rule: "openai-responses-34",
      name: "reasoning is followed by what came of it",
      good: [user, reasoning("rs_1"), call("a"), output("a"), reasoning("rs_2"), says("msg_1"), user],
      bad: [user, reasoning("rs_1"), user],
    },
    {
      rule: "openai-responses-34",
      name: "an output is not what came of reasoning",
      good: [user, call("a"), output("a"), reasoning("rs_1"), says(), user],
      bad: [user, call("a"), reasoning("rs_1"), output("a")],
    },
    {
      rule: "openai-responses-36",
      name: "unstored reasoning is sent with its content",
      good: { store: false, input: [user, reasoning("rs_1"), says(), user] },
      bad: { store: false, input: [user, reasoning("rs_1", { encrypted_content: null }), says(), user] },
    },
    {
      rule: "openai-responses-36",
      name: "nothing refers to what is not stored",
      good: { store: true, input: [user, { type: "item_reference", id: "msg_1" }, user] },
      bad: { store: false, input: [user, { type: "item_reference", id: "msg_1" }, user] },
    },
    {
      rule: "openai-responses-38",
      name: "call ids have at most 64 characters",
      good: [user, call("a".repeat(64)), output("a".repeat(64))],
      bad: [user, call("a".repeat(450)), output("a".repeat(450))],
    },
    {
      rule: "openai-responses-38",
      name: "item ids occur once",
      good: [user, says("msg_1"), user, says("msg_2"), user],
      bad: [user, says("msg_1"), user, says("msg_1"), user],
    },
    {
      rule: "openai-responses-39",
      name: "nothing stands before a compaction",
      good: [{ type: "compaction", encrypted_content: "e" }, user],
      bad: [user, says(), { type: "compaction", encrypted_content: "e" }, user],
    },
    {
      rule: "common-07",
      name: "no turn that was broken off",
      good: [user, says("msg_1", { status: "completed" }), user],
      bad: [user, says("msg_1", { status: "incomplete" }), user],
    },
  ])("$rule: $name", ({ rule, good, bad }) => {
    expect(findOpenAIResponsesFaults(good)).toEqual([]);
    expect(findOpenAIResponsesFaults(bad).map((fault) => fault.rule)).toContain(rule);
  });

  it("calls that the server keeps are not missed", () => {
    expect(findOpenAIResponsesFaults({ previous_response_id: "resp_1", input: [output("a")] })).toEqual([]);
  });

  it("a bare text is a request", () => {
    expect(findOpenAIResponsesFaults({ input: "go" })).toEqual([]);
  });
});

describe("an edit of a Responses wire", () => {
  const before = [user, reasoning("rs_1"), call("a", { id: "fc_1" }), output("a"), says("msg_2"), user];
  it.each([
    { name: "changes nothing", after: before, rules: [] },
    {
      name: "drops reasoning and the id with it",
      after: [user, call("a"), output("a"), says("msg_2"), user],
      rules: [],
    },
    {
      name: "drops reasoning and keeps the id",
      after: [user, call("a", { id: "fc_1" }), output("a"), says("msg_2"), user],
      rules: ["openai-responses-35"],
    },
    {
      name: "changes what is encrypted",
      after: [user, reasoning("rs_1", { encrypted_content: "[REDACTED]" }), ...before.slice(2)],
      rules: ["openai-responses-37"],
    },
    {
      name: "changes what stands beside the encrypted content",
      after: [
        user,
        reasoning("rs_1", { summary: [{ type: "summary_text", text: "x" }] }),
        ...before.slice(2),
      ],
      rules: ["openai-responses-37"],
    },
  ])("$name", ({ after, rules }) => {
    expect(findOpenAIResponsesEditFaults(before, after).map((fault) => fault.rule)).toEqual(rules);
  });
});
