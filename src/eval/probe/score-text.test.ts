import { describe, expect, it } from "vitest";
import { lineOf, workingSession } from "../../../test/rig/eval-session.ts";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { plainMessages } from "./history-text.ts";
import { createProbe } from "./next-use.ts";
import { createScorer, type TextScore } from "./score-text.ts";

const probe = createProbe(deepFreeze(workingSession({ steps: 40 })), { atIndex: 21, steps: 10 });
const score = createScorer(probe);
const whole = plainMessages(probe.history).join("");
const all = (flags: readonly boolean[]): boolean => flags.every((flag) => flag);
const none = (flags: readonly boolean[]): boolean => !flags.some((flag) => flag);

/** What a text keeps of the line that the agent edits next. */
function keptOfLine(
  text: string,
): Pick<Record<keyof TextScore, boolean | undefined>, "mentioned" | "usable" | "inContext" | "editReady"> {
  const index = probe.targets.findIndex(({ identifier }) => identifier === lineOf(17, 20));
  const { mentioned, usable, inContext, editReady } = score(text);
  return {
    mentioned: mentioned[index],
    usable: usable[index],
    inContext: inContext[index],
    editReady: editReady[0],
  };
}

describe("the score of a text", () => {
  it("is everything for the whole history", () => {
    const { mentioned, usable, inContext, editReady, refetchCalls, refetchChars, chars } = score(whole);
    expect([mentioned, usable, inContext, editReady].map(all)).toEqual([true, true, true, true]);
    expect({ refetchCalls, refetchChars, chars }).toEqual({
      refetchCalls: 0,
      refetchChars: 0,
      chars: whole.length,
    });
  });

  it("is nothing for no text, and names what would have to be fetched again", () => {
    const { mentioned, usable, inContext, editReady, refetchCalls } = score("");
    expect([mentioned, usable, inContext, editReady].map(none)).toEqual([true, true, true, true]);
    // The files of steps 17, 18 and 19; what stands only in messages and inputs cannot be fetched.
    expect(refetchCalls).toBe(3);
  });

  it.each([
    {
      name: "a line between its neighbours is in context",
      text: `  ${lineOf(17, 19)}\n\n${lineOf(17, 20)}\n${lineOf(17, 21)}`,
      inContext: true,
    },
    { name: "a line alone is usable, not in context", text: lineOf(17, 20), inContext: false },
    {
      name: "a gap marker between lines ends the context",
      text: `${lineOf(17, 19)}\n[…]\n${lineOf(17, 20)}\n${lineOf(17, 21)}`,
      inContext: false,
    },
    {
      name: "a line without the one behind it is not in context",
      text: `${lineOf(17, 19)}\n${lineOf(17, 20)}`,
      inContext: false,
    },
    {
      name: "a line inside the JSON of an input counts",
      text: JSON.stringify({ text: `${lineOf(17, 19)}\n${lineOf(17, 20)}\n${lineOf(17, 21)}\n` }),
      inContext: false,
    },
  ])("$name", ({ text, inContext }) => {
    expect(keptOfLine(text)).toEqual({ mentioned: true, usable: true, editReady: true, inContext });
  });

  it("asks for a line in which a name stood, not for the bare name", () => {
    const index = probe.targets.findIndex(({ identifier }) => identifier === "valueOf_18_20");
    const { mentioned, usable } = score("valueOf_18_20");
    expect([mentioned[index], usable[index]]).toEqual([true, false]);
  });
});
