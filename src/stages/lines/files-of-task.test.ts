import { describe, expect, it } from "vitest";
import { agent, call, talk, user } from "../../../test/rig/fill-talk.ts";
import { forkContext } from "../../fork/fork.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { createNameMatcher, requireFilesOfTask } from "./files-of-task.ts";
import { readRows } from "./rows.ts";

const FILES = Array.from({ length: 30 }, (_, file) => `src/part${file}/module${file}.ts`);

/** A file as an agent reads it: 900 lines of about 30 characters. */
function content(path: string): string {
  const name = path.replace(/\W/g, "");
  return Array.from({ length: 900 }, (_, line) => `${line + 1}: const ${name}${line} = ${line * 7};`).join(
    "\n",
  );
}

function reads(): Transcript {
  return talk(
    user("Look through everything."),
    ...FILES.flatMap((path) => [
      agent(call("read", { filePath: `/project/${path}` }, content(path))),
      agent("Next."),
    ]),
  );
}

const linesOf = (text: string, path: string): number =>
  content(path)
    .split("\n")
    .filter((line) => text.includes(line)).length;

describe("what a child gets for its task", () => {
  const newer = reads()
    .slice(20)
    .map(({ id: _, ...turn }) => turn);
  const asked = FILES[4] ?? "";
  const other = FILES[5] ?? "";

  it("is all of the file that it names, within the budget; without a task nearly nothing of it", () => {
    const plain = forkContext(reads()).text;
    const steered = forkContext(reads(), { task: `Explain ${asked}:12 to me.` }).text;
    expect(linesOf(plain, asked)).toBeLessThan(50);
    expect(linesOf(steered, asked)).toBe(900);
    expect(linesOf(steered, other)).toBeLessThan(50);
    expect(steered.length).toBeLessThanOrEqual(200_000);
    expect(steered).not.toContain("to me.");
  });

  it("is most of what does not fit whole, in a small budget too", () => {
    const steered = forkContext(reads(), { task: `Explain ${asked}.`, budgetChars: 20_000 }).text;
    const plain = forkContext(reads(), { budgetChars: 20_000 }).text;
    expect(linesOf(steered, asked)).toBeGreaterThan(250);
    expect(linesOf(plain, asked)).toBeLessThan(20);
    expect(steered.length).toBeLessThanOrEqual(20_000);
  });

  it("is the line with its identifier where it names no file", () => {
    const task = `What is ${asked.replace(/\W/g, "")}417?`;
    const line = content(asked).split("\n")[417] ?? "";
    expect(forkContext(reads(), { task }).text).toContain(line);
  });

  it("is the newest state of the file: what was read of it before it was changed does not come first", () => {
    const filePath = `/project/${asked}`;
    const written = content("src/new.ts").split("\n").slice(0, 300).join("\n");
    const edit = call("edit", { filePath, oldString: "x", newString: written }, "done");
    const lines = (...later: readonly Omit<Message, "id">[]): readonly number[] => {
      const transcript = talk(
        user("Look."),
        agent(call("read", { filePath }, content(asked))),
        ...later,
        ...newer,
      );
      const { text } = forkContext(transcript, { task: `Go on with ${asked}.`, budgetChars: 80_000 });
      return [linesOf(text, "src/new.ts"), linesOf(text, asked)];
    };
    expect(lines()).toEqual([0, 900]);
    const [ofEdit, ofRead = 0] = lines(agent(edit));
    expect(ofEdit).toBe(300);
    expect(ofRead).toBeLessThan(450);
  });

  it("counts its words: a function that it names stays with its body, in however old a file", () => {
    const body = ["function foldWing() {", "  const alpha = beta;", "  return alpha;", "}"];
    const lines = [...content("src/old.ts").split("\n"), ...body].join("\n");
    const transcript = talk(
      user("Look."),
      agent(call("read", { filePath: "/project/src/old.ts" }, lines)),
      ...reads()
        .slice(1)
        .map(({ id: _, ...turn }) => turn),
    );
    const text = (task: string): string => forkContext(transcript, { task, budgetChars: 50_000 }).text;
    expect(text("Why does foldWing not return beta?")).toContain(body.slice(0, 3).join("\n"));
    expect(text("Why is it so?")).not.toContain("foldWing");
  });

  it("is the same as without one where everything fits, and in the documented profile", () => {
    const few = reads().slice(0, 5);
    expect(forkContext(few, { task: asked }).text).toBe(forkContext(few).text);
    const documented = { profile: "documented" } as const;
    expect(forkContext(reads(), { ...documented, task: asked }).text).toBe(
      forkContext(reads(), documented).text,
    );
  });

  it("never exceeds the budget, however long the task is", () => {
    for (const budgetChars of [512, 2_000, 30_000]) {
      const { text } = forkContext(reads(), { task: `${asked} `.repeat(3_000), budgetChars });
      expect(text.length).toBeLessThanOrEqual(budgetChars);
    }
  });
});

describe("requireFilesOfTask", () => {
  const lines = (word: string) => `${word} one\n${word} two\n${word} three`;
  const read = (path: string, word: string) => agent(call("read", { filePath: path }, lines(word)));
  const edit = (path: string) =>
    agent(call("edit", { filePath: path, oldString: "x", newString: lines("what was written") }, "ok"));

  /** What rows are worth that were worth 1 before, by the line, and how many characters are required. */
  function directed(transcript: Transcript, change: Partial<Parameters<typeof requireFilesOfTask>[2]> = {}) {
    const fill = readRows(transcript);
    const worth = new Float64Array(fill.rows.count).fill(1);
    const isRepeated = new Uint8Array(fill.rows.count);
    const firstWholePart = fill.parts.length;
    const room = { task: "look at src/a.ts", isRepeated, firstWholePart, roomChars: 1_000, ...change };
    const chars = requireFilesOfTask(fill, worth, room);
    const rows = fill.segments.flatMap(({ text, source, firstRow, endRow }) =>
      Array.from(
        { length: endRow - firstRow },
        (_, row) =>
          [
            `${source}: ${text.slice(fill.rows.start[firstRow + row], fill.rows.end[firstRow + row])}`,
            worth[firstRow + row] ?? 0,
          ] as const,
      ),
    );
    const above = rows.filter(([, value]) => value !== 1);
    return { fill, chars, worth: Object.fromEntries(above) };
  }

  it("requires the lines of a file that is named, and counts them with the head of their call", () => {
    const { fill, chars, worth } = directed(talk(read("/p/src/a.ts", "a"), read("/p/src/b.ts", "b")));
    const required = Number.POSITIVE_INFINITY;
    expect(worth).toEqual({ "read: a one": required, "read: a two": required, "read: a three": required });
    const [first] = fill.parts;
    const own = fill.segments.findIndex(({ source }) => source === "read");
    const { firstRow = 0, endRow = 0 } = fill.segments[own] ?? {};
    const rowChars = Array.from(
      { length: endRow - firstRow },
      (_, row) => fill.rows.chars[firstRow + row] ?? 0,
    );
    expect(chars).toBe(rowChars.reduce((sum, each) => sum + each, first?.headChars ?? 0));
    expect(first?.headChars).toBeGreaterThan(0);
    expect(directed(talk(read("/p/src/a.ts", "a")), { roomChars: chars }).chars).toBe(chars);
    const close = directed(talk(read("/p/src/a.ts", "a")), { roomChars: chars - 1 });
    expect(close).toMatchObject({ chars: 0, worth: { "read: a one": Math.exp(8) } });
  });

  it("gives the room to the newest first, and prefers what does not fit", () => {
    const two = talk(read("/p/src/a.ts", "old"), read("/p/src/a.ts", "new"));
    const one = directed(talk(read("/p/src/a.ts", "new"))).chars;
    const { chars, worth } = directed(two, { roomChars: one + 1 });
    expect(chars).toBe(one);
    expect(worth).toMatchObject({ "read: new one": Number.POSITIVE_INFINITY, "read: old one": Math.exp(8) });
    expect(directed(two).chars).toBeGreaterThan(one);
  });

  it("takes back what a read lost when its file was changed, and requires the change", () => {
    const { worth } = directed(talk(read("/p/src/a.ts", "a"), edit("/p/src/a.ts")));
    expect(worth).toEqual({
      "read: a one": Math.exp(2),
      "read: a two": Math.exp(2),
      "read: a three": Math.exp(2),
      "change: what was written one": Number.POSITIVE_INFINITY,
      "change: what was written two": Number.POSITIVE_INFINITY,
      "change: what was written three": Number.POSITIVE_INFINITY,
    });
    expect(directed(talk(edit("/p/src/a.ts"), read("/p/src/a.ts", "a"))).worth).toMatchObject({
      "read: a one": Number.POSITIVE_INFINITY,
    });
    expect(directed(talk(read("/p/src/a.ts", "a"), edit("/p/src/b.ts"))).worth).toMatchObject({
      "read: a one": Number.POSITIVE_INFINITY,
    });
  });

  it("leaves lines that stand in newer texts, texts that stay whole anyway, and other files", () => {
    const transcript = talk(read("/p/src/a.ts", "a"));
    const isRepeated = new Uint8Array(readRows(transcript).rows.count).fill(1);
    expect(directed(transcript, { isRepeated })).toMatchObject({ chars: 0, worth: {} });
    expect(directed(transcript, { firstWholePart: 0 })).toMatchObject({ chars: 0, worth: {} });
    expect(directed(transcript, { task: "look at src/b.ts" })).toMatchObject({ chars: 0, worth: {} });
    expect(directed(talk(user("src/a.ts")))).toMatchObject({ chars: 0, worth: {} });
  });
});

describe("a text names a file", () => {
  it.each([
    ["look at src/a.ts", "/project/src/a.ts", true],
    ["look at ./src/a.ts.", "src/a.ts", true],
    ["what does a.ts:12 do?", "/project/src/a.ts", true],
    ["see @src/a.ts, please", "/project/src/a.ts", true],
    ["`[id]/page.tsx`", "/project/src/[id]/page.tsx", true],
    ["(größe.md)", "docs/größe.md", true],
    ["C:\\work\\a.ts", "C:\\work\\a.ts", true],
    ["lib/a.ts", "/project/src/a.ts", false],
    ["ba.ts and a.tsx", "/project/src/a.ts", false],
    ["the file a", "/project/a", false],
    ["", "", false],
  ])("%s: %s %s", (text, path, isNamed) => {
    expect(createNameMatcher(text)(path)).toBe(isNamed);
  });
});
