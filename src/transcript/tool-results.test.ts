import { describe, expect, it } from "vitest";
import { transcript } from "../testing/notation.ts";
import { cutOutcome } from "./cut-outcome.ts";
import type { Message, Transcript } from "./message.ts";
import { CLEARED_PLACEHOLDER, outcomeText, type ToolPart, withText } from "./part.ts";
import { runStages } from "./run-stages.ts";
import { charsOf, charsOfPart } from "./size.ts";
import { handleOf, isCleared, pendingCalls, toolResults } from "./tool-results.ts";
import { createIdNamer, withUniqueIds } from "./unique-ids.ts";

const history = transcript("u:5 a:3(read:9,bash!4,bash?) a(read~7) u:2");
const hiddenMessage = { metadata: { agentVisible: false } };

function callOf(notation: string, index = 0): ToolPart {
  const part = transcript(notation)[0]?.parts[index];
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
    const [, message] = history as readonly [Message, Message];
    expect(charsOf(message)).toBe(message.parts.reduce((sum, part) => sum + charsOfPart(part), 0));
    expect(charsOf({ ...message, ...hiddenMessage })).toBe(0);
  });
});

describe("the text of an outcome", () => {
  it("is its output or its error, and can be another", () => {
    const outcomes = ["a(x:3)", "a(x!2)", "a(x?)"].map((notation) => callOf(notation).outcome);
    expect(outcomes.map((outcome) => outcomeText(outcome).length)).toEqual([3, 2, 0]);
    expect(outcomes.map((outcome) => withText(outcome, "new"))).toEqual([
      { status: "done", output: "new", attachments: [] },
      { status: "failed", error: "new" },
      { status: "pending" },
    ]);
  });

  it("is cut with a note that adds to earlier ones", () => {
    const once = cutOutcome(callOf("a(read:900)"), { limitChars: 500, method: "head" });
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
    const part = { ...callOf("a(read:900)"), cut: { ...archived, archivedAs: "s1" } };
    expect(cutOutcome(part, { limitChars: 100, method: "head" }).cut?.archivedAs).toBe("s1");
  });
});

describe("unique ids", () => {
  it("are those of the messages where no two are the same", () => {
    expect(withUniqueIds(history)).toBe(history);
  });

  it("get a number where one is repeated, and not one that is taken", () => {
    const name = createIdNamer();
    expect(["a", "a", "a~3", "a", "b", "a"].map(name)).toEqual(["a", "a~2", "a~3", "a~4", "b", "a~5"]);
    const same = history.map((message) => ({ ...message, id: "x" }));
    expect(withUniqueIds(same).map(({ id }) => id)).toEqual(["x", "x~2", "x~3", "x~4"]);
  });
});

describe("runStages", () => {
  it("gives each stage what the one before left, and all edits in order", () => {
    const hide = (messageId: string) =>
      ({ type: "hide-message", messageId, stage: "test", reason: "test" }) as const;
    const seen: number[] = [];
    const { transcript: left, edits } = runStages(history, [
      () => [hide("m1")],
      () => [],
      (messages) => {
        seen.push(messages.filter(({ metadata }) => metadata?.agentVisible === false).length);
        return [hide("m4")];
      },
    ]);
    expect(seen).toEqual([1]);
    expect(edits).toEqual([hide("m1"), hide("m4")]);
    expect(left.map(({ metadata }) => metadata?.agentVisible)).toEqual([false, undefined, undefined, false]);
  });

  it("changes nothing where no stage asks for it", () => {
    expect(runStages(history, [() => []])).toEqual({ transcript: history, edits: [] });
    expect(runStages(history, [() => []]).transcript).toBe(history);
  });
});
