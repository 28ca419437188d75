import { expect, it } from "vitest";
import { deepFreeze } from "../../testing/notation.ts";
import type { Message } from "../../transcript/message.ts";
import { omitNestedPreamble, PREAMBLE_FIRST_LINE } from "./preamble.ts";

const preamble = `${PREAMBLE_FIRST_LINE}\nMore of it.\n\n`;
const context = "<inherited_context>\nUser:\nhello\n</inherited_context>";

function user(text: string, more: Partial<Message> = {}): Message {
  return { id: "u", role: "user", parts: [{ type: "text", text }], ...more };
}

it("takes exactly the preamble off an inherited context", () => {
  expect(omitNestedPreamble(deepFreeze([user(preamble + context)]))).toEqual([
    {
      type: "replace-part",
      messageId: "u",
      partIndex: 0,
      part: { type: "text", text: context },
      stage: "omit-nested-preamble",
      reason: "nested-preamble",
      omitted: { chars: preamble.length, handle: "u/0" },
    },
  ]);
});

it.each([
  { name: "a text that only quotes the preamble", message: user(`He said: ${preamble}${context}`) },
  { name: "a preamble without a context", message: user(preamble) },
  { name: "a hidden message", message: user(preamble + context, { metadata: { agentVisible: false } }) },
])("leaves $name alone", ({ message }) => {
  expect(omitNestedPreamble([message])).toEqual([]);
});
