import { describe, expect, it } from "vitest";
import { findGeminiEditFaults } from "../../../../test/rig/edit-faults.ts";
import { findGeminiFaults, type GeminiFaultOptions } from "./find-faults.ts";

const user = (...parts: readonly unknown[]) => ({ role: "user", parts });
const model = (...parts: readonly unknown[]) => ({ role: "model", parts });
const text = (words: string) => ({ text: words });
const call = (name: string, more: object = {}) => ({ functionCall: { name, args: {} }, ...more });
const response = (name: string, more: object = {}) => ({
  functionResponse: { name, response: { output: "ok" }, ...more },
});
const signed = (seal = "s") => ({ thoughtSignature: seal });

describe("rules of Gemini", () => {
  it.each<{ rule: string; name: string; options?: GeminiFaultOptions; good: unknown; bad: unknown }>([
    {
      rule: "gemini-40",
      name: "as many responses as calls",
      good: [user(text("go")), model(call("a"), call("a")), user(response("a"), response("a"))],
      bad: [user(text("go")), model(call("a"), call("a")), user(response("a"))],
    },
    {
      rule: "gemini-40",
      name: "responses are in the very next content",
      good: { contents: [user(text("go")), model(call("a")), user(response("a")), user(text("more"))] },
      bad: { contents: [user(text("go")), model(call("a")), user(text("more")), user(response("a"))] },
    },
    {
      rule: "gemini-40",
      name: "no responses without calls",
      good: [user(text("go")), model(text("x")), user(text("go"))],
      bad: [user(text("go")), model(text("x")), user(response("a"))],
    },
    {
      rule: "gemini-41",
      name: "calls come behind the user",
      good: [user(text("go")), model(text("x"), call("a")), user(response("a"))],
      bad: [user(text("go")), model(text("x")), model(call("a")), user(response("a"))],
    },
    {
      rule: "gemini-42",
      name: "the user is first",
      good: [user(text("go"))],
      bad: [model(text("x")), user(text("go"))],
    },
    {
      rule: "gemini-42",
      name: "the user is last",
      good: [user(text("go"))],
      bad: [user(text("go")), model(text("x"))],
    },
    {
      rule: "gemini-42",
      name: "there are two roles",
      good: [{ parts: [text("go")] }],
      bad: [user(text("go")), { role: "assistant", parts: [text("x")] }, user(text("go"))],
    },
    {
      rule: "gemini-42",
      name: "no content is empty",
      good: [user(text("go"))],
      bad: [user(), user(text("go"))],
    },
    {
      rule: "gemini-43",
      name: "each step of the current turn is signed",
      good: [
        user(text("go")),
        model(call("a", signed("s1"))),
        user(response("a")),
        model(call("b", signed("s2"))),
        user(response("b")),
      ],
      bad: [
        user(text("go")),
        model(call("a", signed("s1"))),
        user(response("a")),
        model(call("b")),
        user(response("b")),
      ],
    },
    {
      rule: "gemini-43",
      name: "Gemini 3 wants a signature, an older turn does not",
      good: {
        model: "gemini-3-pro",
        contents: [
          user(text("go")),
          model(call("a")),
          user(response("a")),
          model(text("x")),
          user(text("next")),
        ],
      },
      bad: { model: "gemini-3-pro", contents: [user(text("go")), model(call("a")), user(response("a"))] },
    },
    {
      rule: "gemini-43",
      name: "calls beside the first are not signed",
      options: { model: "gemini-3-flash" },
      good: [user(text("go")), model(call("a", signed()), call("b")), user(response("a"), response("b"))],
      bad: [
        user(text("go")),
        model(call("a", signed()), call("b", signed())),
        user(response("a"), response("b")),
      ],
    },
    {
      rule: "gemini-45",
      name: "no media for a summariser",
      options: { reader: "summarizer" },
      good: [user(text("go")), model(call("a")), user(response("a"))],
      bad: [user(text("go")), model(call("a")), user(response("a", { parts: [{ inlineData: {} }] }))],
    },
  ])("$rule: $name", ({ rule, options, good, bad }) => {
    expect(findGeminiFaults(good, options)).toEqual([]);
    expect(findGeminiFaults(bad, options).map((fault) => fault.rule)).toContain(rule);
  });

  it("the empty text that ends a signed stream is no blank text", () => {
    expect(
      findGeminiFaults([user(text("go")), model(text("x"), { text: "", ...signed() }), user(text("go"))]),
    ).toEqual([]);
  });

  it("calls without ids are told apart by name and place", () => {
    const wire = [
      user(text("go")),
      model(call("a")),
      user(response("a")),
      model(call("a"), call("b"), call("a")),
      user(response("a"), response("b"), response("a")),
    ];
    expect(findGeminiFaults(wire)).toEqual([]);
  });

  it("an image between two responses of one content is none, as the AI SDK sends it", () => {
    const image = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } };
    const wire = [user(text("go")), model(call("a"), call("b")), user(response("a"), image, response("b"))];
    expect(findGeminiFaults(wire)).toEqual([]);
  });
});

describe("an edit of a Gemini wire", () => {
  const before = [
    user(text("go")),
    model(call("a", signed("s1"))),
    user(response("a")),
    model(call("b", signed("s2"))),
    user(response("b")),
  ];
  const changed = { functionCall: { name: "a", args: { path: "[cut]" } }, ...signed("s1") };
  it.each([
    { name: "changes nothing", after: before, rules: [] },
    {
      name: "moves a signature",
      after: [user(text("go")), model(call("b", signed("s1"))), user(response("b"))],
      rules: ["gemini-44"],
    },
    { name: "changes a signed part", after: before.with(1, model(changed)), rules: ["gemini-44"] },
    {
      name: "puts a notice into the loop",
      after: before.with(2, user(response("a"), text("[notice]"))),
      rules: ["gemini-46"],
    },
    {
      name: "puts a notice behind the loop",
      after: before.with(4, user(response("b"), text("[notice]"))),
      rules: [],
    },
  ])("$name", ({ after, rules }) => {
    expect(findGeminiEditFaults(before, after).map((fault) => fault.rule)).toEqual(rules);
  });
});
