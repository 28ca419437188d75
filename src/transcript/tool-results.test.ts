import { describe, expect, it } from "vitest";
import { transcript } from "../testing/notation.ts";
import type { Transcript } from "./message.ts";
import { CLEARED_PLACEHOLDER, type ToolPart } from "./part.ts";
import { handleOf, isCleared, pendingCalls, toolResults } from "./tool-results.ts";

const history = transcript("u:5 a:3(read:9,bash!4,bash?) a(read~7) u:2");
const hiddenMessage = { metadata: { agentVisible: false } };

function callOf(notation: string): ToolPart {
  const part = transcript(notation)[0]?.parts[0];
  if (part?.type !== "tool") throw new Error(`there is no call in ${notation}`);
  return part;
}

describe("toolResults and pendingCalls", () => {
  it("name every finished and every open call, oldest first, with its place", () => {
    expect(
      toolResults(history).map(({ message, partIndex, text, status, cleared }) => [
        handleOf(message, partIndex),
        text.length,
        status,
        cleared,
      ]),
    ).toEqual([
      ["m2/1", 9, "done", false],
      ["m2/2", 4, "failed", false],
      ["m3/0", 7, "done", true],
    ]);
    expect(pendingCalls(history).map(({ message, partIndex }) => handleOf(message, partIndex))).toEqual([
      "m2/3",
    ]);
  });

  it("see nothing that is hidden", () => {
    const hidden: Transcript = history.map((message) => ({ ...message, ...hiddenMessage }));
    const withoutParts: Transcript = history.map((message) => ({
      ...message,
      parts: message.parts.map((part) => ({ ...part, agentVisible: false as const })),
    }));
    for (const messages of [hidden, withoutParts]) {
      expect(toolResults(messages)).toEqual([]);
      expect(pendingCalls(messages)).toEqual([]);
    }
  });
});

describe("isCleared", () => {
  const withOutput = (output: string): ToolPart => ({
    ...callOf("a(read:1)"),
    outcome: { status: "done", output, attachments: [] },
  });

  it.each([
    { name: "a time", part: { ...withOutput("x"), clearedAt: 0 }, cleared: true },
    { name: "the placeholder", part: withOutput(CLEARED_PLACEHOLDER), cleared: true },
    { name: "the placeholder among blanks", part: withOutput(`\n${CLEARED_PLACEHOLDER}  \n`), cleared: true },
    {
      name: "the placeholder and 64 blanks",
      part: withOutput(CLEARED_PLACEHOLDER + " ".repeat(64)),
      cleared: true,
    },
    {
      name: "the placeholder and more blanks than anybody writes",
      part: withOutput(CLEARED_PLACEHOLDER + " ".repeat(65)),
      cleared: false,
    },
    { name: "a text that quotes it", part: withOutput(`${CLEARED_PLACEHOLDER}.`), cleared: false },
    {
      name: "an error that is the placeholder",
      part: {
        ...withOutput(""),
        outcome: { status: "failed", error: CLEARED_PLACEHOLDER },
      } satisfies ToolPart,
      cleared: false,
    },
  ])("$name: $cleared", ({ part, cleared }) => {
    expect(isCleared(part)).toBe(cleared);
  });
});
