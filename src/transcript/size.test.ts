import { describe, expect, it } from "vitest";
import { transcript } from "../testing/notation.ts";
import { charsOf, charsOfPart } from "./estimate-message.ts";
import type { Message } from "./message.ts";
import { CLEARED_PLACEHOLDER, type ToolPart } from "./part.ts";

function callOf(notation: string): ToolPart {
  const part = transcript(notation)[0]?.parts[0];
  if (part?.type !== "tool") throw new Error(`there is no call in ${notation}`);
  return part;
}

describe("sizes", () => {
  it("are the characters that reach the window", () => {
    const input = { path: "a" };
    const inputChars = JSON.stringify(input).length;
    expect(charsOfPart({ ...callOf("a(read:9)"), input })).toBe(inputChars + 9);
    expect(charsOfPart({ ...callOf("a(read!4)"), input })).toBe(inputChars + 4);
    expect(charsOfPart({ ...callOf("a(read?)"), input })).toBe(inputChars);
    expect(charsOfPart({ ...callOf("a(read~9)"), input })).toBe(inputChars + CLEARED_PLACEHOLDER.length);
    expect(charsOfPart({ ...callOf("a(read:9)"), input: undefined })).toBe(9);
    expect(charsOfPart({ ...callOf("a(read:9)"), agentVisible: false })).toBe(0);
    expect(charsOfPart({ type: "text", text: "abc" })).toBe(3);
    expect(charsOfPart({ type: "text", text: "abc", ignored: true })).toBe(0);
    expect(charsOfPart({ type: "reasoning", text: "abc" })).toBe(0);
  });

  it("of a message are those of its parts, and none of a hidden one", () => {
    const [, message] = transcript("u:5 a:3(read:9,bash!4,bash?)") as readonly [Message, Message];
    expect(charsOf(message)).toBe(message.parts.reduce((sum, part) => sum + charsOfPart(part), 0));
    expect(charsOf({ ...message, metadata: { agentVisible: false } })).toBe(0);
  });
});
