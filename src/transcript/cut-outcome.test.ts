import { describe, expect, it } from "vitest";
import { transcript } from "../testing/notation.ts";
import { outcomeText, type ToolPart, withText } from "./part.ts";
import { cutOutcome } from "./tool-results.ts";

function callOf(notation: string): ToolPart {
  const part = transcript(notation)[0]?.parts[0];
  if (part?.type !== "tool") throw new Error(`there is no call in ${notation}`);
  return part;
}

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
