import { describe, expect, it } from "vitest";
import { agent, call, talk, user } from "../../../test/rig/fill-talk.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { readRows } from "./rows.ts";
import { FILL_WEIGHTS } from "./score.ts";
import { requireRows } from "./select.ts";

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
  /** The logarithm of what each row of a block is worth, when every row is worth 1 at first. */
  worths(name: string): readonly number[];
}

interface Options {
  readonly render?: (message: Message) => string;
  readonly neverCutTools?: readonly string[];
  /** Blocks of which all rows are shown again. */
  readonly repeated?: readonly string[];
}

function require(transcript: Transcript, options: Options = {}): Required {
  // Without another way to render, no message is short enough to stay as it is.
  const { render = () => "x".repeat(MAX_CHARS), neverCutTools = [], repeated = [] } = options;
  const fill = readRows(transcript);
  const names = fill.segments.flatMap(({ text, firstRow, endRow }) =>
    Array.from(
      { length: endRow - firstRow },
      (_, index) => text.slice(fill.rows.start[firstRow + index]).split(" ", 1)[0] ?? "",
    ),
  );
  const scores = {
    density: new Float64Array(fill.rows.count).fill(1),
    isRepeated: Uint8Array.from(names, (name) => (repeated.includes(name) ? 1 : 0)),
  };
  const found = requireRows(fill, scores, { maxChars: MAX_CHARS, render, neverCutTools });
  expect(scores.density.every((density) => density === 1)).toBe(true);
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
});
