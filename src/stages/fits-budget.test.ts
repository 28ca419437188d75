import { describe, expect, it } from "vitest";
import { transcript } from "../testing/notation.ts";
import type { Edit } from "../transcript/edit.ts";
import { renderMessage } from "../transcript/render.ts";
import { fitsBudget, ifOverBudget } from "./budget.ts";

const talk = transcript("u:10 a:20 u:30");
const chars = talk.map(renderMessage).join("").length;

describe("fitsBudget", () => {
  it("is true up to the last character, and false beyond it", () => {
    expect(fitsBudget(talk, { maxChars: chars })).toBe(true);
    expect(fitsBudget(talk, { maxChars: chars - 1 })).toBe(false);
  });

  it("counts the frame of a transcript of which nothing is hidden", () => {
    const frameChars = (hiddenMessages: number): number => (hiddenMessages === 0 ? 7 : 0);
    expect(fitsBudget(talk, { maxChars: chars + 7, frameChars })).toBe(true);
    expect(fitsBudget(talk, { maxChars: chars + 6, frameChars })).toBe(false);
  });

  it("renders from the newest on, no more than it takes to know", () => {
    const rendered: string[] = [];
    const render = (message: (typeof talk)[number]): string => {
      rendered.push(message.id);
      return renderMessage(message);
    };
    expect(fitsBudget(talk, { maxChars: 45, render })).toBe(false);
    expect(rendered).toEqual(["m3", "m2"]);
  });

  it("holds of nothing at all", () => {
    expect(fitsBudget([], { maxChars: 0 })).toBe(true);
  });
});

describe("whenOver", () => {
  const edit: Edit = { type: "hide-message", messageId: "m1", stage: "any", reason: "over-budget" };

  it("asks the stage only where the transcript does not fit", () => {
    expect(ifOverBudget({ maxChars: chars - 1 }, () => [edit])(talk)).toEqual([edit]);
    expect(ifOverBudget({ maxChars: chars }, () => [edit])(talk)).toEqual([]);
  });
});
