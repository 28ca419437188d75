import { describe, expect, it } from "vitest";
import { agent, call, talk, user } from "../../../test/rig/fill-talk.ts";
import { forkContext } from "../../fork/fork.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { createNameMatcher } from "./directive.ts";

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

describe("what a child gets for its directive", () => {
  const newer = reads()
    .slice(20)
    .map(({ id: _, ...turn }) => turn);
  const asked = FILES[4] ?? "";
  const other = FILES[5] ?? "";

  it("is all of the file that it names, within the budget; without a directive nearly nothing of it", () => {
    const plain = forkContext(reads()).text;
    const steered = forkContext(reads(), { directive: `Explain ${asked}:12 to me.` }).text;
    expect(linesOf(plain, asked)).toBeLessThan(50);
    expect(linesOf(steered, asked)).toBe(900);
    expect(linesOf(steered, other)).toBeLessThan(50);
    expect(steered.length).toBeLessThanOrEqual(200_000);
    expect(steered).not.toContain("to me.");
  });

  it("is most of what does not fit whole, in a small budget too", () => {
    const steered = forkContext(reads(), { directive: `Explain ${asked}.`, budgetChars: 20_000 }).text;
    const plain = forkContext(reads(), { budgetChars: 20_000 }).text;
    expect(linesOf(steered, asked)).toBeGreaterThan(250);
    expect(linesOf(plain, asked)).toBeLessThan(20);
    expect(steered.length).toBeLessThanOrEqual(20_000);
  });

  it("is the line with its identifier where it names no file", () => {
    const directive = `What is ${asked.replace(/\W/g, "")}417?`;
    const line = content(asked).split("\n")[417] ?? "";
    expect(forkContext(reads(), { directive }).text).toContain(line);
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
      const { text } = forkContext(transcript, { directive: `Go on with ${asked}.`, budgetChars: 80_000 });
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
    const text = (directive: string): string =>
      forkContext(transcript, { directive, budgetChars: 50_000 }).text;
    expect(text("Why does foldWing not return beta?")).toContain(body.slice(0, 3).join("\n"));
    expect(text("Why is it so?")).not.toContain("foldWing");
  });

  it("is the same as without one where everything fits, and in the documented profile", () => {
    const few = reads().slice(0, 5);
    expect(forkContext(few, { directive: asked }).text).toBe(forkContext(few).text);
    const documented = { profile: "documented" } as const;
    expect(forkContext(reads(), { ...documented, directive: asked }).text).toBe(
      forkContext(reads(), documented).text,
    );
  });

  it("never exceeds the budget, however long the directive is", () => {
    for (const budgetChars of [512, 2_000, 30_000]) {
      const { text } = forkContext(reads(), { directive: `${asked} `.repeat(3_000), budgetChars });
      expect(text.length).toBeLessThanOrEqual(budgetChars);
    }
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
