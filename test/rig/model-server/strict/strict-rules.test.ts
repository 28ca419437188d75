import { describe, expect, it } from "vitest";
import { asArray, asObject, type UnknownObject } from "../../../../src/text/unknown-value.ts";
import { WIRES } from "../model-server.ts";
import type { Answer, Refusal } from "../step.ts";
import type { Wire } from "../wire.ts";
import { createStrictRules } from "./strict-rules.ts";

const user = (...content: readonly unknown[]) => ({ role: "user", content });
const assistant = (...content: readonly unknown[]) => ({ role: "assistant", content });
const text = (value = "go") => ({ type: "text", text: value });
const use = (id: string) => ({ type: "tool_use", id, name: "read", input: {} });
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "out" });
const chatCall = (id: string) => ({
  role: "assistant",
  tool_calls: [{ id, type: "function", function: { name: "read", arguments: "{}" } }],
});
const chatResult = (id: string) => ({ role: "tool", tool_call_id: id, content: "out" });
const chat = (role: string, content = "go") => ({ role, content });
const turn = (role: string, ...parts: readonly unknown[]) => ({ role, parts });
const functionCall = (fields: object = {}) => ({ functionCall: { name: "read", args: {} }, ...fields });
const functionResponse = { functionResponse: { name: "read", response: {} } };
const ANSWER: Answer = {
  type: "answer",
  reasoning: "hm",
  searches: [{ query: "ports", found: "8080" }],
  text: "I look.",
  calls: [{ tool: "read", input: { path: "a" }, id: "call_1" }],
};

/** What the scripted model answers on a wire, as its body. */
function answered(name: Wire["name"]): UnknownObject {
  const wire = WIRES.find((each) => each.name === name);
  return asObject(wire?.body(ANSWER, { number: 1, model: "m", atMs: 0, requestChars: 4 }));
}

const thought = asArray(answered("anthropic").content);
const items = asArray(answered("openai-responses").output);
const parts = asArray(asObject(asObject(asArray(answered("gemini").candidates)[0]).content).parts);
const output = { type: "function_call_output", call_id: "call_1", output: "out" };
const on = { thinking: { type: "enabled" } };

describe.each<{
  readonly wire: Wire["name"];
  readonly taken: readonly UnknownObject[];
  readonly refused: readonly (readonly [UnknownObject, string])[];
}>([
  {
    wire: "anthropic",
    taken: [
      { messages: [user(text())] },
      { ...on, messages: [user(text()), assistant(...thought), user(result("call_1"))] },
    ],
    refused: [
      [{ messages: [] }, "at least one message is required"],
      [{ messages: [assistant(text())] }, 'first message must use the "user" role'],
      [{ messages: [user(text()), user(text())] }, "roles must alternate"],
      [{ messages: [user(text()), assistant(text())] }, "must end with a user message"],
      [{ messages: [user(text()), assistant(use("a")), user(text())] }, "without `tool_result` blocks"],
      [{ messages: [user(text()), assistant(use("a")), user(text(), result("a"))] }, "without `tool_result`"],
      [{ messages: [user(text()), assistant(text()), user(result("a"))] }, "unexpected `tool_use_id`"],
      [{ messages: [user(text(" "))] }, "non-whitespace"],
      [
        { ...on, messages: [user(text()), assistant(text(), ...thought), user(result("call_1"))] },
        "must start with a thinking block",
      ],
      [
        { messages: [user(text()), assistant(...thought.toSpliced(2, 1)), user(result("call_1"))] },
        "without a corresponding `web_search_tool_result`",
      ],
      [
        {
          messages: [
            user(text()),
            assistant(use("a")),
            user(result("a")),
            assistant(use("a")),
            user(result("a")),
          ],
        },
        "must be unique",
      ],
    ],
  },
  {
    wire: "openai-chat",
    taken: [
      {
        messages: [
          chat("system"),
          chat("user"),
          chatCall("a"),
          chatResult("a"),
          chat("assistant"),
          chat("user"),
        ],
      },
    ],
    refused: [
      [{ messages: [chat("user"), chatCall("a"), chat("user")] }, "did not have response messages: a"],
      [{ messages: [chat("user"), chatResult("a")] }, "must be a response to a preceeding message"],
      [{ messages: [chat("user"), chat("assistant"), chatCall("a"), chatResult("a")] }, "must alternate"],
      [{ messages: [chat("user"), chat("user")] }, "must alternate"],
      [
        { messages: [chat("user"), chatCall("a"), chatResult("a"), chat("user")] },
        "'user' after role 'tool'",
      ],
      [{ messages: [chat("user"), chat("assistant")] }, "Expected last role User or Tool"],
    ],
  },
  {
    wire: "openai-responses",
    taken: [
      { input: [user(text()), ...items, output] },
      {
        input: [
          user(text()),
          ...items.map((item) => ({ type: "item_reference", id: asObject(item).id })),
          output,
        ],
      },
    ],
    refused: [
      [{ input: [user(text()), ...items] }, "No tool output found for function call call_1."],
      [{ input: [user(text()), output] }, "No tool call found for function call output with call_id call_1."],
      [{ input: [user(text()), items[0]] }, "without its required following item"],
      [{ input: [user(text()), items[1]] }, "without its required 'reasoning' item: 'rs_1'"],
      [{ input: [user(text()), { type: "item_reference", id: "rs_9" }] }, "Item with id 'rs_9' not found."],
      [{ store: false, input: [{ type: "item_reference", id: "rs_1" }] }, "Items are not persisted"],
      [{ input: [user(text()), ...items, output, items[0]] }, "Duplicate item found with id rs_1"],
    ],
  },
  {
    wire: "gemini",
    taken: [
      { contents: [turn("user", { text: "go" }), turn("model", ...parts), turn("user", functionResponse)] },
    ],
    refused: [
      [{ contents: [] }, "contents is not specified"],
      [{ contents: [turn("user")] }, "parts must not be empty"],
      [
        { contents: [turn("user", { text: "go" }), turn("model", ...parts)] },
        "number of function response parts",
      ],
      [{ contents: [turn("user", functionResponse)] }, "immediately after a function call turn"],
      [
        {
          contents: [
            turn("user", { text: "go" }),
            turn("model", { text: "sum" }),
            turn("model", ...parts),
            turn("user", functionResponse),
          ],
        },
        "immediately after a user turn",
      ],
      [
        {
          contents: [
            turn("user", { text: "go" }),
            turn("model", { text: "a" }),
            turn("model", { text: "b" }),
          ],
        },
        "alternate between user and model",
      ],
      [
        {
          contents: [
            turn("user", { text: "go" }),
            turn("model", functionCall()),
            turn("user", functionResponse),
          ],
        },
        "missing a thought_signature",
      ],
      [
        {
          contents: [
            turn("user", { text: "go" }),
            turn("model", functionCall({ thoughtSignature: "c2ln" })),
            turn("user", functionResponse),
          ],
        },
        "Thought signature is not valid.",
      ],
    ],
  },
])("a strict provider on $wire", ({ wire, taken, refused }) => {
  const refusalOf = (body: UnknownObject): Refusal | undefined => {
    const rules = createStrictRules();
    rules.remember({ wire, body: answered(wire) });
    return rules.refuse({ wire, model: "gemini-3-pro", body });
  };

  it("takes what is in order", () => {
    expect(taken.map(refusalOf)).toEqual(taken.map(() => undefined));
  });

  it.each(refused.map(([body, words]) => ({ body, words })))(
    "refuses with its words: $words",
    ({ body, words }) => {
      expect(JSON.stringify(refusalOf(body)?.body)).toContain(words.replaceAll('"', '\\"'));
    },
  );
});
