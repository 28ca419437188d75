import { expect, it } from "vitest";
import { aiSdk } from "../formats/wires/ai-sdk/ai-sdk.ts";
import type { Session } from "../session/session.ts";
import type { Edit } from "../transcript/edit.ts";
import { createConversation } from "./conversation.ts";

const PROMPT = [
  { role: "user", content: [{ type: "text", text: "Go." }] },
  {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "a", toolName: "read", input: {} }],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "a", toolName: "read", output: { type: "text", value: "out" } },
    ],
  },
];
const WHY = { stage: "test", reason: "test" };

function conversationWith(edit: Edit) {
  const warnings: string[] = [];
  const session = {
    restore: async () => undefined,
    edits: () => [edit],
    prepare: async () => ({ type: "none" }),
    sent: () => {},
  } as unknown as Session;
  const conversation = createConversation(session, {
    clock: { now: () => 0, sleep: async () => undefined },
    onPrepared: async () => undefined,
    onWarning: (code) => warnings.push(code),
  });
  return { conversation, warnings };
}

it.each([
  {
    name: "repairs what an edit broke before it is sent",
    role: "assistant",
    sent: ["user", "assistant", "user", "assistant", "tool"],
    warned: [],
  },
  {
    name: "sends the messages as they came where an edit breaks a rule and cannot be repaired, and says so",
    role: "judge",
    sent: ["user", "assistant", "tool"],
    warned: ["request-not-edited"],
  },
])("$name", async ({ role, sent, warned }) => {
  const message = { id: "s", role, parts: [{ type: "text" as const, text: "sum" }] };
  const { conversation, warnings } = conversationWith({
    type: "insert-message",
    message,
    after: null,
    ...WHY,
  });
  const { wire } = await conversation.prepare(PROMPT, {});
  expect(wire.map((each) => each.role)).toEqual(sent);
  expect(warnings).toEqual(warned);
});

it("ends with a question where an edit would leave the model's own answer as the last word", async () => {
  const answered = [
    { role: "user", content: [{ type: "text", text: "Go." }] },
    { role: "assistant", content: [{ type: "text", text: "Done." }] },
    { role: "user", content: [{ type: "text", text: "Thanks." }] },
  ];
  const [, , last] = aiSdk.decode(answered);
  const hide: Edit = { type: "hide-message", messageId: last?.id ?? "", ...WHY };
  const { conversation, warnings } = conversationWith(hide);
  const { wire } = await conversation.prepare(answered, {});
  expect(wire.map((each) => each.role)).toEqual(["user", "assistant", "user"]);
  expect(warnings).toEqual([]);
});
