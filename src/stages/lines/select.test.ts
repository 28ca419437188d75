import { describe, expect, it } from "vitest";
import { agent, call, talk, user } from "../../../test/rig/fill-talk.ts";
import { renderMessage } from "../../transcript/content.ts";
import { applyEdits } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { fillEdits } from "./fill.ts";
import { type FillRows, readRows } from "./rows.ts";
import { type RowSelection, selectRows } from "./select.ts";

/** Too long to stay as it is, so that every message is chosen from by line. */
const NO_TAIL = (): string => "x".repeat(100_000);

interface Selected extends RowSelection {
  /** The rows that stay, by their numbers. */
  readonly kept: readonly number[];
  readonly text: string;
}

interface Options {
  readonly maxChars: number;
  /** What a row is worth, by its number. */
  readonly worth: (row: number) => number;
  readonly render?: (message: Message) => string;
}

function select(transcript: Transcript, { maxChars, worth, render = NO_TAIL }: Options): Selected {
  const fill: FillRows = readRows(transcript);
  const { count } = fill.rows;
  const scores = {
    density: Float64Array.from({ length: count }, (_, row) => worth(row)),
    isRepeated: new Uint8Array(count),
  };
  const selection = selectRows(fill, scores, { maxChars, render, neverCutTools: [] });
  const left = applyEdits(transcript, fillEdits(fill, selection), { at: 0 });
  return {
    ...selection,
    kept: Array.from({ length: count }, (_, row) => row).filter((row) => selection.isKept[row] === 1),
    text: left.map(renderMessage).join(""),
  };
}

/** Lines of 49 characters, so that each takes 50. */
function listing(lines: number): string {
  return Array.from({ length: lines }, (_, index) => `line ${index} `.padEnd(49, ".")).join("\n");
}

const listed = (lines: number): ReturnType<typeof agent> => agent(call("bash", {}, listing(lines)));
const rising = (row: number): number => (1 + row) / 100;

describe("selectRows", () => {
  it.each([
    { name: "one call", transcript: talk(listed(90)) },
    { name: "two calls of one message", transcript: talk(agent(...listed(45).parts, ...listed(45).parts)) },
    { name: "several messages", transcript: talk(listed(30), listed(30), listed(30)) },
    {
      name: "a call with a long input",
      transcript: talk(agent(call("bash", { command: listing(60) }, listing(40)))),
    },
  ])("takes the best lines until there is no room for another: $name", ({ transcript }) => {
    for (let maxChars = 2_000; maxChars < 2_050; maxChars += 7) {
      const { text } = select(transcript, { maxChars, worth: rising });
      expect(text.length).toBeLessThanOrEqual(maxChars);
      expect(text.length).toBeGreaterThan(maxChars - 60);
    }
  });

  it("counts what it keeps to the character", () => {
    // A label, the head of the call with the label of its result, a gap marker, and a hundred lines.
    const wholeChars = 8 + "[Tool: bash] {}\n[Tool result]\n".length + 6 + 100 * 50;
    const kept = (maxChars: number): number =>
      select(talk(listed(200)), { maxChars, worth: rising }).kept.filter((row) => row > 0).length;
    expect(kept(wholeChars)).toBe(100);
    expect(kept(wholeChars - 1)).toBe(99);
    expect(kept(wholeChars + 49)).toBe(100);
  });

  it("counts the label of a message once, and each of its calls", () => {
    const twice = talk(agent(...listed(100).parts, ...listed(100).parts));
    const wholeChars = 8 + 2 * "[Tool: bash] {}\n[Tool result]\n".length + 100 * 50 + 6 + 50 * 50;
    const kept = (maxChars: number): number =>
      select(twice, { maxChars, worth: rising }).kept.filter((row) => row !== 0 && row !== 101).length;
    expect(kept(wholeChars)).toBe(150);
    expect(kept(wholeChars - 1)).toBe(149);
  });

  it("takes lines from everywhere, by what they are worth alone", () => {
    const worth = (row: number): number => (row % 3 === 0 ? 1 : 0.001);
    const { kept } = select(talk(listed(30), listed(30)), { maxChars: 2_200, worth });
    expect(kept.length).toBeGreaterThan(15);
    expect(kept.filter((row) => row % 3 === 0).length).toBeGreaterThan(15);
  });

  it("shows nothing of a call of which nothing is worth enough", () => {
    const worth = (row: number): number => (row < 31 ? 0.001 : 1);
    const { isShown, text } = select(talk(listed(30), listed(30)), { maxChars: 1_560, worth });
    expect([...isShown]).toEqual([0, 1]);
    expect(text).not.toContain("[...]");
  });

  it("shows a call whose head is worth enough, with a marker for the rest", () => {
    const worth = (row: number): number => (row === 0 || row > 30 ? 1 : 0.001);
    const { isShown, text } = select(talk(listed(30), listed(30)), { maxChars: 1_700, worth });
    expect([...isShown]).toEqual([1, 1]);
    expect(text).toContain("[Tool: bash] {}\n[Tool result]\n[...]\n");
    expect(text).toContain("line 29 ");
  });

  it.each([
    { name: "is closed where it would save no more than 60 characters", gapChars: [30, 30], isClosed: true },
    { name: "is made where it saves more", gapChars: [30, 31], isClosed: false },
  ])("a gap $name", ({ gapChars, isClosed }) => {
    const [one = 0, other = 0] = gapChars;
    const long = "x".repeat(300);
    const lines = [
      `first ${long}`,
      "a".repeat(one - 1),
      "b".repeat(other - 1),
      `last ${long}`,
      "y".repeat(300),
    ];
    const worth = (row: number): number => (row === 1 || row === 4 ? 1 : 0.001);
    const { kept } = select(talk(agent(call("bash", {}, lines.join("\n")))), { maxChars: 800, worth });
    expect(kept).toEqual(isClosed ? [1, 2, 3, 4] : [1, 4]);
  });

  it.each([
    { maxChars: 30_000, tool: "read", gapChars: 225, isClosed: true },
    { maxChars: 30_000, tool: "read", gapChars: 226, isClosed: false },
    { maxChars: 90_000, tool: "read", gapChars: 320, isClosed: true },
    { maxChars: 90_000, tool: "read", gapChars: 321, isClosed: false },
    { maxChars: 4_000, tool: "read", gapChars: 60, isClosed: true },
    { maxChars: 30_000, tool: "bash", gapChars: 61, isClosed: false },
  ])("a gap of $gapChars in what $tool printed, at $maxChars: closed $isClosed", (each) => {
    const { maxChars, tool, gapChars, isClosed } = each;
    const output = `first line of it\n${"x".repeat(gapChars - 1)}\n${listing(2_000)}`;
    const transcript = talk(agent(call(tool, { path: "a" }, output)));
    const { text } = select(transcript, { maxChars, worth: (row) => (row === 2 || row > 9 ? 1e-9 : 1) });
    expect(text.includes("x".repeat(40))).toBe(isClosed);
  });

  it("closes a short gap at the beginning and at the end of a text", () => {
    const lines = ["short", "x".repeat(300), "y".repeat(300), "z".repeat(300), "end"];
    const worth = (row: number): number => (row === 2 || row === 4 ? 1 : 0.001);
    const { kept } = select(talk(agent(call("bash", {}, lines.join("\n")))), { maxChars: 800, worth });
    expect(kept).toEqual([1, 2, 4, 5]);
  });

  it("leaves room for the messages that stay as they are", () => {
    const end = agent("z".repeat(200));
    const render = (message: Message): string => (message.id === "m2" ? renderMessage(message) : NO_TAIL());
    const { firstWholePart, text } = select(talk(listed(90), end), {
      maxChars: 2_000,
      worth: rising,
      render,
    });
    expect(firstWholePart).toBe(1);
    expect(text.length).toBeLessThanOrEqual(2_000);
    expect(text.length).toBeGreaterThan(1_940);
  });

  it("keeps what must stay even where that alone is too long", () => {
    const { kept } = select(talk(user("do it"), listed(90)), { maxChars: 40, worth: () => 1 });
    expect(kept).toEqual([0]);
  });

  it("keeps everything of a transcript that fits", () => {
    const { kept, text } = select(talk(user("do it"), agent("I do"), agent(call("bash", {}, listing(9)))), {
      maxChars: 1_000,
      worth: () => 1,
    });
    expect(kept).toContain(0);
    expect(kept).toHaveLength(2 + 9);
    expect(text).not.toContain("[...]");
  });

  it("finds its threshold whether all is worth much or little", () => {
    for (const scale of [1e-8, 1e-4, 1, 1e3]) {
      const { text } = select(talk(listed(90)), { maxChars: 2_000, worth: (row) => rising(row) * scale });
      expect(text.length).toBeLessThanOrEqual(2_000);
      expect(text.length).toBeGreaterThan(1_940);
    }
  });
});
