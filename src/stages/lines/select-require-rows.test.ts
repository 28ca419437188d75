import { describe, expect, it } from "vitest";
import { agent, call, talk, user } from "../../../test/rig/fill-talk.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { Minimums } from "../tiers.ts";
import { readRows } from "./rows.ts";
import { FILL_WEIGHTS } from "./score.ts";
import { GAP_MARKER, requireRows } from "./select.ts";

const MAX_CHARS = 1_000;
/** Everything here is one of the newest five results, where not said otherwise. */
const RECENT = FILL_WEIGHTS.newest + FILL_WEIGHTS.recent;
const RECENT_LONG = FILL_WEIGHTS.newest + FILL_WEIGHTS.recentLong;
const REQUIRED = Number.POSITIVE_INFINITY;
const PLAIN = 0;

/** Lines that take 50 characters each, their line break included. */
function block(name: string, lines: number, lineChars = 50): string {
  return Array.from({ length: lines }, (_, index) => `${name} ${index} `.padEnd(lineChars - 1, ".")).join(
    "\n",
  );
}

interface Required {
  readonly firstWholePart: number;
  readonly tailChars: number;
  readonly verbatimParts: ReadonlySet<number>;
  /** The logarithm of what each row of a block is worth, when every row is worth 1 at first. */
  worths(name: string): readonly number[];
}

interface Options {
  readonly render?: (message: Message) => string;
  readonly neverCutTools?: readonly string[];
  /** Blocks of which all rows are shown again. */
  readonly repeated?: readonly string[];
  /** What rows are worth that are not worth 1, by their first two words. */
  readonly density?: Readonly<Record<string, number>>;
  readonly minimums?: Minimums;
  readonly maxChars?: number;
}

function require(transcript: Transcript, options: Options = {}): Required {
  // Without another way to render, no message is short enough to stay as it is.
  const { render = () => "x".repeat(MAX_CHARS), neverCutTools = [], repeated = [] } = options;
  const { minimums, maxChars = MAX_CHARS, density = {} } = options;
  const fill = readRows(transcript);
  const words = fill.segments.flatMap(({ text, firstRow, endRow }) =>
    Array.from({ length: endRow - firstRow }, (_, index) =>
      text.slice(fill.rows.start[firstRow + index]).split(" ", 2),
    ),
  );
  const names = words.map(([name = ""]) => name);
  const scores = {
    density: Float64Array.from(words, (line) => density[line.join(" ")] ?? 1),
    isRepeated: Uint8Array.from(names, (name) => (repeated.includes(name) ? 1 : 0)),
  };
  const found = requireRows(fill, scores, { maxChars, render, neverCutTools, ...(minimums && { minimums }) });
  expect(scores.density).toEqual(Float64Array.from(words, (line) => density[line.join(" ")] ?? 1));
  return {
    ...found,
    worths: (name) =>
      names.flatMap((each, row) => (each === name ? [Math.log(found.worth[row] ?? Number.NaN)] : [])),
  };
}

describe("requireRows", () => {
  describe("the newest messages", () => {
    const messages = talk(agent("old one", "old two"), agent("middle"), agent("new"));
    const rendering = (...chars: readonly number[]): Options => ({
      render: ({ id }) => "x".repeat(chars[Number(id.slice(1)) - 1] ?? 0),
    });

    it.each([
      { name: "up to their share", chars: [500, 100, 50], firstWholePart: 2, tailChars: 150 },
      { name: "no more than their share", chars: [500, 101, 50], firstWholePart: 3, tailChars: 50 },
      { name: "all of them", chars: [50, 50, 50], firstWholePart: 0, tailChars: 150 },
      { name: "none where the newest is too long", chars: [1, 1, 151], firstWholePart: 4, tailChars: 0 },
    ])("stay as they are: $name", ({ chars, firstWholePart, tailChars }) => {
      expect(require(messages, rendering(...chars))).toMatchObject({ firstWholePart, tailChars });
    });

    it("need not be required by what was said in them, nor preferred", () => {
      const { worths } = require(talk(agent("old"), user(block("new", 2))), rendering(500, 100));
      expect(worths("new")).toEqual([PLAIN, PLAIN]);
    });
  });

  describe("what users said", () => {
    it("must stay: the first request, then from the newest on, as far as its share goes", () => {
      const { worths } = require(
        talk(...["first", "second", "third", "fourth"].map((name) => user(block(name, 1)))),
      );
      expect(["first", "second", "third", "fourth"].flatMap(worths)).toEqual([
        REQUIRED,
        RECENT,
        REQUIRED,
        REQUIRED,
      ]);
    });

    it("must stay word for word where it takes exactly its share", () => {
      const { worths } = require(talk(user(block("first", 6, 25)), agent(block("work", 1))));
      expect(worths("first")).toEqual(Array.from({ length: 6 }, () => REQUIRED));
    });

    it("is passed over where it is too long, and what is older may still stay", () => {
      const { worths } = require(
        talk(user(block("first", 1)), user(block("second", 2)), user(block("third", 3))),
      );
      expect(worths("second")).toEqual([REQUIRED, REQUIRED]);
      expect(worths("third")).not.toContain(REQUIRED);
    });

    it("stays with its beginning, in half of the room, where the first request is too long", () => {
      const { worths } = require(
        talk(user(block("first", 10, 25)), user(block("second", 1)), user(block("third", 1))),
      );
      expect(worths("first").filter((worth) => worth === REQUIRED)).toHaveLength(3);
      expect(worths("first").slice(0, 3)).toEqual([REQUIRED, REQUIRED, REQUIRED]);
      expect(worths("third")).toEqual([REQUIRED]);
      expect(worths("second")).toEqual([RECENT]);
    });

    it("stays with the beginning of a summary, and after that of the request", () => {
      const summary = { ...agent(block("sum", 10, 25)), summary: true } as const;
      const { worths } = require(talk(summary, user(block("first", 10, 25))));
      expect(worths("sum").filter((worth) => worth === REQUIRED)).toHaveLength(3);
      expect(worths("first").filter((worth) => worth === REQUIRED)).toHaveLength(1);
    });

    it("has no beginning to keep of a system prompt", () => {
      const system = { role: "system", parts: [{ type: "text", text: block("rules", 10) }] } as const;
      const { worths } = require(talk(system, user(block("first", 1)), user(block("second", 10))));
      expect(worths("rules")).not.toContain(REQUIRED);
      expect(worths("first")).toEqual([REQUIRED]);
      expect(worths("second")).not.toContain(REQUIRED);
    });

    it("is not what the agent said", () => {
      const { worths } = require(talk(agent(block("work", 1))));
      expect(worths("work")).toEqual([RECENT]);
    });
  });

  describe("results of tools that are never cut", () => {
    // The head and the label of the result take 34 characters.
    const answered = (lines: number): Transcript =>
      talk(user(block("first", 0)), agent(call("ask_question", {}, block("answer", lines))));

    it("must stay as what users said", () => {
      const options = { neverCutTools: ["question"] };
      expect(require(answered(2), options).worths("answer")).toEqual([REQUIRED, REQUIRED]);
      expect(require(answered(2), options).worths("[Tool:")).toEqual([REQUIRED]);
      expect(require(answered(3), options).worths("answer")).toEqual([PLAIN, PLAIN, PLAIN]);
      expect(require(answered(2), { neverCutTools: ["task"] }).worths("answer")).toEqual([PLAIN, PLAIN]);
    });

    it("take their head out of the same share", () => {
      const input = { text: block("asked", 1) };
      const transcript = talk(
        user(block("first", 1)),
        user(block("second", 1)),
        agent(call("question", input, block("answer", 1, 20))),
      );
      const { worths } = require(transcript, { neverCutTools: ["question"] });
      expect(worths("answer")).not.toContain(REQUIRED);
      expect(worths("second")).toEqual([REQUIRED]);
    });

    it("are no request, and none of the user's words", () => {
      const transcript = talk(agent(call("question", {}, block("answer", 9))), user(block("first", 9)));
      const { worths } = require(transcript, { neverCutTools: ["question"] });
      expect(worths("answer")).not.toContain(REQUIRED);
      expect(worths("first")[0]).toBe(REQUIRED);
    });
  });

  describe("the newest work", () => {
    it("is preferred from the newest on, long texts less", () => {
      const { worths } = require(
        talk(
          agent(block("e", 2)), // of 350 that are left: long
          agent(block("d", 2)), // of 450: not long
          agent(block("c", 3)), // of 450: long, and takes nothing
          agent(block("b", 3)), // of 600: exactly a quarter
          agent(block("a", 2)), // of 700
        ),
      );
      expect(["a", "b", "c", "d", "e"].map((name) => worths(name)[0])).toEqual([
        RECENT,
        RECENT,
        RECENT_LONG,
        RECENT,
        RECENT_LONG,
      ]);
      expect(worths("c")).toEqual([RECENT_LONG, RECENT_LONG, RECENT_LONG]);
    });

    it("is preferred less before the newest five results", () => {
      const runs = (count: number) => Array.from({ length: count }, () => agent(call("bash", {}, "")));
      expect(require(talk(agent(block("work", 1)), ...runs(4))).worths("work")).toEqual([RECENT]);
      expect(require(talk(agent(block("work", 1)), ...runs(5))).worths("work")).toEqual([
        FILL_WEIGHTS.recent,
      ]);
    });

    it("is what was read, written and given, not what was printed, found or taken out", () => {
      const input = { path: "a", old_string: block("gone", 2, 10), new_string: block("fresh", 2, 10) };
      const { worths } = require(
        talk(
          agent(call("bash", { command: block("command", 2, 10) }, block("printed", 1, 20))),
          agent(call("grep", {}, block("found", 1, 20))),
          agent(call("read", { path: "a" }, block("file", 1, 20))),
          agent(call("edit", input, "")),
        ),
      );
      for (const name of ["command", "file", "fresh"]) expect(worths(name)[0]).toBe(RECENT);
      for (const name of ["printed", "found", "gone"]) expect(worths(name)[0]).toBe(PLAIN);
      expect(new Set(worths("[Tool:"))).toEqual(new Set([RECENT]));
    });

    it("leaves what is shown again as it is, and does not count it", () => {
      const work = agent(`${block("again", 4)}\n${block("once", 3)}`);
      const { worths } = require(talk(work), { repeated: ["again"] });
      expect(worths("again")).toEqual([PLAIN, PLAIN, PLAIN, PLAIN]);
      expect(worths("once")).toEqual([RECENT, RECENT, RECENT]);
      expect(require(talk(work)).worths("once")).toEqual([RECENT_LONG, RECENT_LONG, RECENT_LONG]);
    });

    it("has less room after what users said, and after the newest messages", () => {
      // Three lines are a quarter of 600, and more than a quarter of 550.
      const work = agent(block("work", 3));
      const asked = [user(block("first", 1)), user(block("second", 1)), user(block("third", 1))];
      expect(require(talk(...asked.slice(1), work)).worths("work")[0]).toBe(RECENT);
      expect(require(talk(...asked, work)).worths("work")[0]).toBe(RECENT_LONG);
      expect(require(talk(work, ...asked.slice(1))).worths("work")[0]).toBe(RECENT);
      const tail = (chars: number): Options => ({
        render: ({ id }) => "x".repeat(id === "m2" ? chars : MAX_CHARS),
      });
      expect(require(talk(work, agent("end")), tail(100)).worths("work")[0]).toBe(RECENT);
      expect(require(talk(work, agent("end")), tail(150)).worths("work")[0]).toBe(RECENT_LONG);
    });

    it("ends where the heads of calls have taken all room", () => {
      const headed = (headChars: number): Transcript => {
        const names = { a: "x".repeat(200), b: "x".repeat(200), c: "x".repeat(200), d: "" };
        const restChars = headChars - `[Tool: list] ${JSON.stringify(names)}\n[Tool result]\n`.length;
        return talk(
          agent(block("old", 1)),
          agent(call("list", { ...names, d: "y".repeat(restChars) }, block("listed", 1))),
        );
      };
      expect(require(headed(700)).worths("old")).toEqual([PLAIN]);
      expect(require(headed(699)).worths("old")).toEqual([RECENT_LONG]);
    });
  });

  describe("the minimums of results", () => {
    const whole = Number.POSITIVE_INFINITY;
    const minimums = (second: number, third = 50): Minimums => ({
      tier1Count: 1,
      tier2Count: 1,
      resultChars: { 1: whole, 2: second, 3: third },
    });
    const printed = (name: string, lines: number) =>
      agent(call("bash", { command: name }, block(name, lines)));
    const kept = (worths: readonly number[]) => worths.map((worth) => worth === REQUIRED);

    it("are required by age: the newest whole, of the others as many lines as have so many characters", () => {
      const three = talk(printed("third", 6), printed("second", 6), printed("newest", 2));
      const { worths, verbatimParts } = require(three, { minimums: minimums(100) });
      expect([...verbatimParts]).toEqual([2]);
      expect(kept(worths("newest"))).toEqual([true, true]);
      expect(kept(worths("second"))).toEqual([true, true, true, false, false, false]);
      expect(kept(worths("third"))).toEqual([true, true, false, false, false, false]);
      expect(require(three).verbatimParts.size).toBe(0);
      expect(kept(require(three).worths("newest"))).toEqual([false, false]);
    });

    it.each([
      { minChars: 49, density: { "second 2": 100 }, lines: [2] },
      { minChars: 60, density: { "second 2": 100 }, lines: [0, 2] },
      { minChars: 98, density: { "second 2": 100, "second 3": 10 }, lines: [2, 3] },
      { minChars: 50, density: { "second 0": 1e-20, "second 1": 1e-30 }, lines: [2, 3] },
      { minChars: 60, density: { "second 0": 1e9, "second 5": 1e30 }, lines: [0, 5] },
      { minChars: 100, density: { "second 0": 0 }, lines: [1, 2, 3] },
    ])("are the best lines of a result: $minChars characters of $density", ({ minChars, density, lines }) => {
      const two = talk(printed("second", 6), printed("newest", 1));
      const worths = require(two, { minimums: minimums(minChars), density }).worths("second");
      expect(kept(worths).flatMap((isKept, line) => (isKept ? [line] : []))).toEqual(lines);
    });

    it("leave a result word for word whose lines have fewer characters than its minimum", () => {
      const lines = agent(call("bash", { command: "x" }, block("a", 10, 5)));
      expect(
        require(talk(lines, printed("newest", 1)), { minimums: minimums(45) }).verbatimParts.has(0),
      ).toBe(true);
    });

    it("pass over a result for which there is no room, and hold for older ones", () => {
      const two = talk(printed("third", 2), printed("second", 6), printed("newest", 30));
      const { worths, verbatimParts } = require(two, { minimums: minimums(100) });
      expect([...verbatimParts]).toEqual([0]);
      expect(kept(worths("newest"))).not.toContain(true);
      expect(kept(worths("second"))).toEqual([true, true, true, false, false, false]);
      expect(kept(worths("third"))).toEqual([true, true]);
    });

    it("hold for results alone", () => {
      const { worths } = require(talk(agent(block("said", 2)), printed("newest", 1)), {
        minimums: minimums(100),
      });
      expect(kept(worths("said"))).toEqual([false, false]);
      expect(kept(worths("newest"))).toEqual([true]);
      const call2 = call("edit", { path: "a", new_string: block("fresh", 2) }, "");
      expect(kept(require(talk(agent(call2)), { minimums: minimums(100) }).worths("fresh"))).toEqual([
        false,
        false,
      ]);
    });

    it.each([
      { name: "alone", input: { command: "x" }, inputChars: 0 },
      {
        name: "with a long text of its input, as a gap",
        input: { command: block("in", 3) },
        inputChars: GAP_MARKER.length + 1,
      },
    ])("take the room of their call $name", ({ input, inputChars }) => {
      const transcript = talk(agent(call("bash", input, block("out", 2))));
      const [part] = readRows(transcript).parts;
      const needed = "Agent:  ".length + (part?.headChars ?? 0) + inputChars + 100;
      const isKept = (maxChars: number) =>
        require(transcript, { minimums: minimums(1), maxChars }).verbatimParts.has(0);
      expect(isKept(needed)).toBe(true);
      expect(isKept(needed - 1)).toBe(false);
    });
  });
});
