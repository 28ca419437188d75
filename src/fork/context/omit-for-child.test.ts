import { expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import type { Message } from "../../transcript/message.ts";
import type { Part, ToolPart } from "../../transcript/part.ts";
import { omitForChild } from "./omit-for-child.ts";

const message = (...parts: Part[]): Message => ({ id: "m", role: "assistant", parts });
const call = (tool: string, more: Partial<ToolPart> = {}): ToolPart => ({
  type: "tool",
  callId: tool,
  tool,
  input: { a: 1 },
  outcome: { status: "pending" },
  ...more,
});
const done = { status: "done", output: "out", attachments: [] } as const;

it("says of each part why it stays behind, how much it is and where to recall it", () => {
  const parts: readonly Part[] = [
    { type: "text", text: "stays" },
    { type: "reasoning", text: "hm" },
    { type: "text", text: "hint", own: true },
    { type: "text", text: "shown", ignored: true },
    call("fork"),
  ];
  const where = { type: "hide-part", messageId: "m", what: "part", stage: "omit-for-child" };
  expect(omitForChild()(deepFreeze([message(...parts)]))).toEqual([
    { ...where, partIndex: 1, reason: "reasoning", omitted: { chars: 0, handle: "m/1" } },
    { ...where, partIndex: 2, reason: "own-hint", omitted: { chars: 4, handle: "m/2" } },
    { ...where, partIndex: 3, reason: "ignored", omitted: { chars: 0, handle: "m/3" } },
    { ...where, partIndex: 4, reason: "in-flight", omitted: { chars: 7, handle: "m/4" } },
  ]);
});

it.each([
  { name: "a finished call of ours", parts: [call("fork", { outcome: done })] },
  { name: "an open call of another tool", parts: [call("bash")] },
  { name: "a part that is hidden already", parts: [call("fork", { agentVisible: false })] },
  { name: "a file", parts: [{ type: "file", mime: "image/png" }] },
] as readonly { readonly name: string; readonly parts: readonly Part[] }[])("leaves $name", ({ parts }) => {
  expect(omitForChild()([message(...parts)])).toEqual([]);
});

it("leaves a hidden message as it is, and takes other tools for its own when told", () => {
  expect(omitForChild()([{ ...message(call("fork")), metadata: { agentVisible: false } }])).toEqual([]);
  expect(omitForChild({ ownTools: ["launch"] })([message(call("fork"), call("launch"))])).toMatchObject([
    { partIndex: 1 },
  ]);
});
