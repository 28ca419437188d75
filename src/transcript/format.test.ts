import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../test/rig/notation.ts";
import { findFaults, findRenamedCalls } from "./format.ts";
import type { Message } from "./message.ts";
import type { Part, ToolPart } from "./part.ts";

const call: ToolPart = {
  type: "tool",
  callId: "c",
  tool: "bash",
  input: {},
  outcome: { status: "done", output: "x", attachments: [] },
};
const user = (...parts: Part[]): Message => ({ id: "u", role: "user", parts });
const said = (text: string, more = {}): Part => ({ type: "text", text, ...more });

describe("findFaults", () => {
  it.each([
    { name: "nothing", messages: [], rules: [] },
    { name: "a question and its answer", messages: transcript("u:1 a:1(bash:9)"), rules: [] },
    { name: "a system message in front", messages: transcript("y:1 u:1"), rules: [] },
    { name: "an answer in front", messages: transcript("y:1 a:1 u:1"), rules: ["first-message-is-user"] },
    { name: "a call without a result", messages: transcript("u:1 a(bash?)"), rules: ["call-without-result"] },
    { name: "a message without parts", messages: [user()], rules: ["message-without-parts"] },
    {
      name: "a message of which nothing is sent",
      messages: [user(said("x", { ignored: true }))],
      rules: ["message-without-parts"],
    },
    { name: "an empty text", messages: [user(said(" \n"))], rules: ["empty-text"] },
    {
      name: "an empty text that is not sent",
      messages: [user(said("x"), said("", { agentVisible: false }))],
    },
    { name: "a lone surrogate", messages: [user(said("a\ud800"))], rules: ["malformed-text"] },
    { name: "a control character", messages: [user(said("a\u0000"))], rules: ["malformed-text"] },
    { name: "a file", messages: [user({ type: "file", mime: "image/png" })] },
    {
      name: "a result without a call",
      messages: [user({ ...call, callMissing: true })],
      rules: ["result-without-call"],
    },
    { name: "the same call twice", messages: [user(call, call)], rules: ["call-id-repeated"] },
    {
      name: "the same call twice, the second without a result",
      messages: [user(call, { ...call, outcome: { status: "pending" } })],
      rules: ["call-id-repeated", "call-without-result"],
    },
    {
      name: "a malformed output",
      messages: [user({ ...call, outcome: { status: "failed", error: "\u0007" } })],
      rules: ["malformed-text"],
    },
    {
      name: "a malformed input",
      messages: [user({ ...call, input: { path: "a\udc00" } })],
      rules: ["malformed-text"],
    },
    {
      name: "faults of a hidden message",
      messages: [user(said("x")), { ...user(said("")), metadata: { agentVisible: false } }],
    },
  ] as readonly {
    readonly name: string;
    readonly messages: readonly Message[];
    readonly rules?: readonly string[];
  }[])("$name: $rules", ({ messages, rules = [] }) => {
    expect(findFaults(deepFreeze(messages)).map(({ rule }) => rule)).toEqual(rules);
  });

  it("says where a fault is and what it is", () => {
    const messages = [{ ...user(said("x"), said("")), role: "assistant" }, user(call, call)];
    expect(findFaults(messages)).toEqual([
      { rule: "first-message-is-user", messageId: "u", text: "the first message is from assistant" },
      { rule: "empty-text", messageId: "u", partIndex: 1, text: "a text of nothing but blanks" },
      { rule: "call-id-repeated", messageId: "u", partIndex: 1, text: "call c is there twice" },
    ]);
  });
});

describe("findRenamedCalls", () => {
  it("names the calls whose id the wire has twice, and no others", () => {
    const renamed: ToolPart = { ...call, callId: "c-2", irregular: true };
    expect(findRenamedCalls(deepFreeze([user(said("x"), call), user(said("y"), renamed)]))).toEqual([
      { rule: "call-id-repeated", messageId: "u", partIndex: 1, text: "the id of call c-2 is there twice" },
    ]);
  });
});
