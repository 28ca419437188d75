import { describe, expect, it } from "vitest";
import {
  createThinkingCheck,
  isThought,
  type TakenRequest,
} from "../../test/rig/bound-thinking/bound-thinking.ts";
import { aiSdk } from "../formats/wires/ai-sdk/ai-sdk.ts";
import { anthropic } from "../formats/wires/anthropic/anthropic.ts";
import type { AnthropicMessage } from "../formats/wires/anthropic/read-message.ts";
import { opencode2Request } from "../formats/wires/opencode2/opencode2-request.ts";
import { asArray, asObject, type UnknownObject } from "../text/unknown-value.ts";
import type { Format } from "../transcript/format.ts";
import { forkContext } from "./fork.ts";

const BOUND = { provider: "anthropic", id: "claude-opus-5-5" };
const OLDER = { provider: "anthropic", id: "claude-opus-4-6" };

describe("the thoughts of a parent", () => {
  it("are left out for a child whose model would refuse them, whoever reads", () => {
    const { check, messages } = conversation();
    const fork = (model: typeof BOUND) => {
      const { edits } = forkContext(anthropic.decode(messages), { budgetChars: 6_000, model });
      return anthropic.apply(messages, edits, { at: 1 }) as readonly AnthropicMessage[];
    };
    const send = (sent: readonly AnthropicMessage[]) =>
      check.read({ model: BOUND.id, messages: [...sent, { role: "user", content: "Do this." }] });
    expect(send(messages)).toMatchObject({ status: 200 });
    expect(send(fork(BOUND))).toMatchObject({ status: 200 });
    expect(thoughtsIn(fork(BOUND))).toBe(0);
    // A list does not say who reads it: the newest tool turn keeps its thought where nobody is named who would refuse it.
    expect(thoughtsIn(fork(OLDER))).toBe(1);
    expect(send(fork(OLDER))).toMatchObject({ status: 400 });
  });

  it("are those of the model that the newest message names, where none is given", () => {
    const { messages } = conversation();
    const decoded = anthropic.decode(messages);
    const by = (model: typeof BOUND) =>
      forkContext(decoded.map((message) => (message.role === "assistant" ? { ...message, model } : message)));
    const whats = (model: typeof BOUND) =>
      new Set(by(model).edits.flatMap((edit) => (edit.type === "hide-part" ? [edit.what] : [])));
    expect([...whats(BOUND)]).toEqual(["thought"]);
    expect([...whats(OLDER)]).toEqual(["part"]);
  });

  it.each([
    {
      name: "ai-sdk",
      format: aiSdk as Format<unknown>,
      answer: {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: "s" } } },
          { type: "tool-call", toolCallId: "c", toolName: "read", input: {} },
        ],
      },
      result: {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c", toolName: "read", output: { type: "text", value: "ok" } },
        ],
      },
    },
    {
      name: "opencode2-request",
      format: opencode2Request as Format<unknown>,
      answer: {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "s" } } },
          { type: "tool-call", id: "c", name: "read", input: {} },
        ],
      },
      result: {
        role: "tool",
        content: [{ type: "tool-result", id: "c", name: "read", result: { type: "text", value: "ok" } }],
      },
    },
  ])(
    "of the newest tool turn stay in $name only for models that do not refuse them",
    ({ format, ...wire }) => {
      const messages = [{ role: "user", content: [{ type: "text", text: "Go." }] }, wire.answer, wire.result];
      const fork = (model: typeof BOUND) => {
        const { edits } = forkContext(format.decode(messages), { model });
        return JSON.stringify(format.apply(messages, edits, { at: 1 }));
      };
      expect(fork(BOUND)).not.toContain("reasoning");
      expect(fork(OLDER)).toContain("reasoning");
    },
  );
});

/** Ten steps with a provider that binds thoughts, each with a long result. */
function conversation() {
  const check = createThinkingCheck();
  let messages: AnthropicMessage[] = [{ role: "user", content: "Read the files." }];
  for (let step = 0; step < 10; step++) {
    const id = `call_${step}`;
    const taken = check.read({ model: BOUND.id, messages }) as TakenRequest;
    const content = check.sign<UnknownObject>(taken, [
      { type: "thinking", thinking: "Considering.", signature: "" },
      { type: "tool_use", id, name: "read", input: { path: `src/${id}.ts` } },
    ]);
    const result = { type: "tool_result", tool_use_id: id, content: `export const ${id} = 1;\n`.repeat(100) };
    messages = [...messages, { role: "assistant", content }, { role: "user", content: [result] }];
  }
  return { check, messages };
}

function thoughtsIn(messages: readonly AnthropicMessage[]): number {
  const blocks = messages.flatMap(({ content }) => asArray(content).map(asObject));
  return blocks.filter(isThought).length;
}
