import { describe, expect, it } from "vitest";
import { transcript } from "../../test/rig/notation.ts";
import {
  cutOutcome,
  handleOf,
  hasOnlyStub,
  isCleared,
  outcomeText,
  partText,
  pendingCalls,
  readSpanHandle,
  spanHandle,
  toolResults,
} from "./content.ts";
import { type Transcript, withText } from "./message.ts";
import { CLEARED_PLACEHOLDER, type ToolPart } from "./part.ts";

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

function longCall(notation: string): ToolPart {
  const part = transcript(notation)[0]?.parts[0];
  if (part?.type !== "tool") throw new Error(`there is no call in ${notation}`);
  return part;
}

describe("the text of an outcome", () => {
  it("is its output or its error, and can be another", () => {
    const outcomes = ["a(x:3)", "a(x!2)", "a(x?)"].map((notation) => longCall(notation).outcome);
    expect(outcomes.map((outcome) => outcomeText(outcome).length)).toEqual([3, 2, 0]);
    expect(outcomes.map((outcome) => withText(outcome, "new"))).toEqual([
      { status: "done", output: "new", attachments: [] },
      { status: "failed", error: "new" },
      { status: "pending" },
    ]);
  });

  it("is cut with a note that adds to earlier ones", () => {
    const once = cutOutcome(longCall("a(read:900)"), { limitChars: 500, method: "head" });
    const twice = cutOutcome(once, { limitChars: 100, method: "head" });
    const onceCut = once.cut?.omittedChars ?? 0;
    expect(once.cut).toEqual({ method: "head", originalChars: 900, omittedChars: onceCut, limitChars: 500 });
    expect(twice.cut?.originalChars).toBe(900);
    expect(twice.cut?.omittedChars).toBe(onceCut + outcomeText(once.outcome).length - 100);
    expect(twice.cut?.limitChars).toBe(100);
    expect(cutOutcome(twice, { limitChars: 9_000, method: "head" })).toBe(twice);
  });

  it("keeps the summary that it was archived as when it is cut again", () => {
    const archived = { method: "head", originalChars: 900, omittedChars: 900, limitChars: 0 } as const;
    const part = { ...longCall("a(read:900)"), cut: { ...archived, archivedAs: "s1" } };
    expect(cutOutcome(part, { limitChars: 100, method: "head" }).cut?.archivedAs).toBe("s1");
  });
});

describe("what is left of a result", () => {
  const part = (cut: Partial<ToolPart["cut"]> | undefined): ToolPart =>
    ({
      type: "tool",
      callId: "c",
      tool: "bash",
      input: {},
      outcome: { status: "done", output: "x", attachments: [] },
      cut,
    }) as ToolPart;
  it.each([
    { cut: undefined, isStub: false },
    { cut: { originalChars: 10, omittedChars: 9 }, isStub: false },
    { cut: { originalChars: 10, omittedChars: 10 }, isStub: true },
    {
      cut: { originalChars: 10, omittedChars: 0, archivedAs: "s" },
      isStub: true,
    },
  ] as const)("of $cut", ({ cut, isStub }) => {
    expect(hasOnlyStub(part(cut as ToolPart["cut"]))).toBe(isStub);
  });
});

describe("partText", () => {
  it("is the text of a text and the outcome of a call, and nothing for the rest", () => {
    const outcome = { status: "failed", error: "no such file" } as const;
    expect(partText({ type: "text", text: "hi" })).toBe("hi");
    expect(partText({ type: "tool", callId: "c", tool: "read", input: {}, outcome })).toBe("no such file");
    expect(partText({ type: "reasoning", text: "hm" })).toBe("");
  });
});

describe("spanHandle", () => {
  it.each([
    { notation: "u:1", handle: "m1", ends: undefined },
    { notation: "u:1 a:1", handle: "m1..m2", ends: ["m1", "m2"] },
    { notation: "u:1 a:1 u:1", handle: "m1..m3", ends: ["m1", "m3"] },
  ])("names the messages of $notation as $handle", ({ notation, handle, ends }) => {
    expect(spanHandle(transcript(notation))).toBe(handle);
    expect(readSpanHandle(handle)).toEqual(ends);
  });

  it("names nothing where there is no message", () => {
    expect(spanHandle([])).toBe("");
  });
});
