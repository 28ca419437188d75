import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../testing/notation.ts";
import { applyEdits, type Edit } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { createPinnedTexts, missingPins } from "./pins.ts";

const user = (id: string, text: string, synthetic?: true): Message => ({
  id,
  role: "user",
  parts: [{ type: "text", text, ...(synthetic && { synthetic }) }],
});
const read = (id: string, path: string, output: string): Message => ({
  id,
  role: "assistant",
  parts: [
    {
      type: "tool",
      callId: `${id}-call`,
      tool: "read",
      input: { filePath: path },
      outcome: { status: "done", output, attachments: [] },
    },
  ],
});

const CONVERSATION: Transcript = deepFreeze([
  user("u1", "The port is 4711. #pin"),
  read("a1", "/project/RULES.md", "Never touch vendor."),
  read("a2", "/project/src/a.ts", "export const a = 1;"),
  user("u2", "Not a mark: x#pin, #pinned."),
  user("u3", "From a tool #pin", true),
]);

describe("what is pinned", () => {
  it("are the texts of the option, messages marked by the user, and reads of files that a pattern names", () => {
    const { texts, globs, pinsOf } = createPinnedTexts(["keep this text", "RULES.md"]);
    expect(texts).toEqual(["keep this text"]);
    expect(globs).toEqual(["RULES.md"]);
    expect(pinsOf(CONVERSATION)).toEqual([{ text: "keep this text" }, { handle: "u1" }, { handle: "a1/0" }]);
  });

  it("are marked messages alone without the option", () => {
    expect(createPinnedTexts([]).pinsOf(CONVERSATION)).toEqual([{ handle: "u1" }]);
  });
});

describe("missingPins", () => {
  const edited = (...edits: readonly Edit[]): Transcript => applyEdits(CONVERSATION, edits, { at: 1 });
  const hide = (messageId: string): Edit => ({
    type: "hide-message",
    messageId,
    stage: "test",
    reason: "pruned",
  });
  const pins = [
    { text: "Never touch vendor." },
    { handle: "u1" },
    { handle: "a1/0" },
    { text: "never seen" },
  ];

  it("finds nothing where nothing was hidden, nor for what was not there before", () => {
    expect(missingPins(pins, { before: CONVERSATION, after: CONVERSATION })).toEqual([]);
    expect(missingPins(pins, { before: CONVERSATION, after: edited(hide("a2")) })).toEqual([]);
  });

  it("finds a message, a result and a text that the model no longer sees", () => {
    expect(missingPins(pins, { before: CONVERSATION, after: edited(hide("u1")) })).toEqual([pins[1]]);
    expect(missingPins(pins, { before: CONVERSATION, after: edited(hide("a1")) })).toEqual([
      pins[0],
      pins[2],
    ]);
  });
});
