import { describe, expect, it } from "vitest";
import { type ChatVendor, findOpenAIChatFaults } from "./find-faults.ts";

const user = { role: "user", content: "go" };
const call = (id: string, input: unknown = "{}") => ({
  id,
  type: "function",
  function: { name: "bash", arguments: input },
});
const asks = (...calls: readonly unknown[]) => ({ role: "assistant", content: null, tool_calls: calls });
const tool = (id: string, content: unknown = "ok") => ({ role: "tool", tool_call_id: id, content });
const says = { role: "assistant", content: "done" };

describe("rules of chat completions", () => {
  it.each<{ rule: string; name: string; vendor?: ChatVendor; good: unknown; bad: unknown }>([
    {
      rule: "openai-chat-28",
      name: "a result follows its call",
      good: [user, asks(call("a"), call("b")), tool("b"), tool("a")],
      bad: [user, asks(call("a")), tool("a"), says, tool("b")],
    },
    {
      rule: "openai-chat-28",
      name: "a second result follows nothing",
      good: [user, asks(call("a")), tool("a"), user],
      bad: [user, asks(call("a")), tool("a"), tool("a"), user],
    },
    {
      rule: "openai-chat-29",
      name: "calls are answered before the user speaks",
      good: [user, asks(call("a")), tool("a"), user],
      bad: [user, asks(call("a")), user, tool("a")],
    },
    {
      rule: "openai-chat-29",
      name: "calls at the end are answered",
      good: [user, asks(call("a")), tool("a")],
      bad: [user, asks(call("a"), call("b")), tool("a")],
    },
    {
      rule: "openai-chat-30",
      name: "arguments are a JSON text",
      good: [user, asks(call("a", '{"path":"x"}')), tool("a")],
      bad: [user, asks(call("a", '{"path":"x')), tool("a")],
    },
    {
      rule: "openai-chat-30",
      name: "arguments are not an object",
      good: [user, asks(call("a", "{}")), tool("a")],
      bad: [user, asks(call("a", {})), tool("a")],
    },
    {
      rule: "openai-chat-30",
      name: "a strict vendor takes results as text only",
      vendor: "strict",
      good: [user, asks(call("a")), tool("a")],
      bad: [user, asks(call("a")), tool("a", [{ type: "text", text: "ok" }])],
    },
    {
      rule: "openai-chat-31",
      name: "reasoning_content is on all turns of a loop, even empty",
      good: [user, { ...asks(call("a")), reasoning_content: "" }, tool("a")],
      bad: [user, { ...asks(call("a")), reasoning_content: "hm" }, tool("a"), asks(call("b")), tool("b")],
    },
    {
      rule: "openai-chat-31",
      name: "known by the model's name",
      good: { model: "gpt-5", messages: [user, asks(call("a")), tool("a")] },
      bad: { model: "moonshotai/kimi-k2", messages: [user, asks(call("a")), tool("a")] },
    },
    {
      rule: "openai-chat-32",
      name: "Mistral's ids are nine letters and digits",
      vendor: "mistral",
      good: [user, asks(call("abc123XYZ")), tool("abc123XYZ")],
      bad: [user, asks(call("call_123")), tool("call_123")],
    },
    {
      rule: "openai-chat-32",
      name: "Mistral wants an answer between result and question",
      good: {
        model: "mistral-large",
        messages: [user, asks(call("abc123XYZ")), tool("abc123XYZ"), says, user],
      },
      bad: { model: "mistral-large", messages: [user, asks(call("abc123XYZ")), tool("abc123XYZ"), user] },
    },
    {
      rule: "openai-chat-32",
      name: "Mistral's last message is not the model's",
      vendor: "mistral",
      good: [user, says, user],
      bad: [user, says],
    },
  ])("$rule: $name", ({ rule, vendor, good, bad }) => {
    const options = vendor === undefined ? {} : { vendor };
    expect(findOpenAIChatFaults(good, options)).toEqual([]);
    expect(findOpenAIChatFaults(bad, options).map((fault) => fault.rule)).toContain(rule);
  });

  it("an empty text beside calls is no blank text, and blanks are", () => {
    const rules = (content: string) =>
      findOpenAIChatFaults([user, { ...asks(call("a")), content }, tool("a")]).map((fault) => fault.rule);
    expect(rules("")).toEqual([]);
    expect(rules(" ")).toEqual(["common-10"]);
  });
});
