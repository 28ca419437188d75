import { array as arrayOf, assert, constantFrom, integer, property, tuple } from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../test/rig/runs.ts";
import { renderMessage } from "../../transcript/content.ts";
import { applyEdits } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import { fillBudget, fillTranscript } from "./fill.ts";

const filled = (messages: Transcript, maxChars: number): Transcript =>
  applyEdits(messages, fillBudget({ maxChars })(messages), { at: 0 });
const textOf = (messages: Transcript): string => messages.map(renderMessage).join("");

function call(tool: string, input: unknown, output: string): ToolPart {
  return {
    type: "tool",
    callId: `${tool}-${output.length}`,
    tool,
    input,
    outcome: { status: "done", output, attachments: [] },
  };
}

let count = 0;
const message = (role: string, ...parts: Message["parts"]): Message => ({ id: `m${++count}`, role, parts });
const user = (text: string): Message => message("user", { type: "text", text });
const agent = (...parts: Message["parts"]): Message => message("assistant", ...parts);
const lines = (words: string, length: number): string =>
  Array.from({ length }, (_, index) => `${String(index + 1).padStart(6)}→\t${words} number ${index}`).join(
    "\n",
  );
const filler = (): Message => agent(call("bash", { command: "make" }, lines("nothing of note", 200)));

describe("fillBudget", () => {
  it("changes nothing where everything fits", () => {
    expect(fillBudget({ maxChars: 100_000 })([user("hello"), filler()])).toEqual([]);
  });

  it("keeps the newest messages as they are", () => {
    const newest = agent({ type: "text", text: "now I edit the file" }, call("edit", { old: "a\nb" }, "ok"));
    const after = filled([user("do it"), filler(), filler(), newest], 4_000);
    expect(after.at(-1)).toBe(newest);
  });

  it("keeps what users said even where a newer output repeats it", () => {
    const request = user("nothing of note number 1\nnothing of note number 2");
    const after = filled([request, filler(), filler(), filler()], 4_000);
    expect(after[0]).toBe(request);
  });

  it("keeps what users said word for word", () => {
    const request = user("Please make the wing fold.\n\nAnd mind the gap.");
    const after = filled([request, filler(), filler(), filler()], 4_000);
    expect(after[0]).toBe(request);
  });

  it("takes a very long text of a user for what a program printed", () => {
    const listing = Array.from({ length: 400 }, (_, index) => `./folder${index}/some_file_${index}.txt`);
    const work = agent(
      { type: "text", text: "I look at the wing." },
      call("read", { path: "wing.ts" }, lines("the foldWing", 100)),
    );
    const shown = (pasted: string): number => {
      const messages = [user("Fold the wing."), work, user(pasted), agent({ type: "text", text: "Seen." })];
      return textOf(filled(messages, 6_000)).split("folder").length;
    };
    expect(shown(listing.slice(0, 200).join("\n"))).toBeGreaterThan(shown(listing.join("\n")));
  });

  it("keeps a result that is hardly longer than the mark for what was left out", () => {
    const edits = Array.from({ length: 12 }, (_, index) =>
      agent(
        call("edit", { path: `wing${index}.ts`, newText: lines(`foldWing${index}`, 8) }, "Edit applied."),
      ),
    );
    const text = textOf(filled([user("Fold."), ...edits, filler(), filler()], 5_000));
    expect(text).toContain("foldWing11");
    expect(text).not.toContain("[Tool result]\n[...]\nAgent:\n[Tool: edit]");
  });

  it("keeps the beginning of a first request that is too long", () => {
    const request = user(Array.from({ length: 200 }, (_, index) => `wish number ${index}`).join("\n"));
    const text = textOf(filled([request, filler(), filler(), filler()], 4_000));
    expect(text).toContain("wish number 0\nwish number 1\nwish number 2\n");
  });

  it("keeps the beginning of a first request that is longer than anybody types", () => {
    const wishes = Array.from(
      { length: 800 },
      (_, index) => `wish number ${index} is that nothing breaks when we land`,
    ).join("\n");
    const names = Array.from({ length: 200 }, (_, index) => `some_name_${index}`).join("\n");
    const text = textOf(
      filled([user(wishes), agent(call("read", { path: "a.ts" }, names)), filler()], 4_000),
    );
    expect(text).toContain("wish number 0 is that nothing breaks when we land\nwish number 1 ");
  });

  it("prefers a function that was named lately to its neighbours", () => {
    const body = (name: string): string => {
      const steps = Array.from({ length: 60 }, (_, index) => `\tstep of the ${name.slice(4)} by ${index}`);
      return [`func ${name}() {`, ...steps, "}"].join("\n");
    };
    const file = ["foldTail", "foldWing", "foldNose"].map(body).join("\n");
    const said = agent({ type: "text", text: "Next I change foldWing." });
    const messages = [user("go"), agent(call("read", { path: "wing.go" }, file)), filler(), said, filler()];
    const text = textOf(filled(messages, 2_200));
    expect(text).toContain("step of the Wing by 30");
    expect(text).not.toContain("step of the Nose by 30");
  });

  it("keeps what an edit wrote before what it took out", () => {
    const input = {
      filePath: "a.go",
      oldString: lines("gone words", 30),
      newString: lines("fresh words", 30),
    };
    const text = textOf(filled([user("go"), agent(call("edit", input, "ok")), filler(), filler()], 4_000));
    expect(text).toContain("fresh words number 20");
    expect(text).not.toContain("gone words number 20");
  });

  it("keeps an old line that has a name found nowhere else, with its neighbours", () => {
    const output = `${lines("common words", 150)}\n   151→\tfunc computeWingFold() {\n   152→\t\treturn foldAngle\n${lines("common words", 150)}`;
    const after = filled(
      [user("go"), agent(call("read", { path: "wing.go" }, output)), filler(), filler()],
      6_000,
    );
    expect(textOf(after)).toContain("151→\tfunc computeWingFold() {\n152→\t\treturn foldAngle");
  });

  it("shows one marker for each gap and drops the padding of line numbers", () => {
    const after = filled([user("go"), filler(), agent({ type: "text", text: "done" })], 2_000);
    const text = textOf(after);
    expect(text).toContain("[...]");
    expect(text).not.toContain("[...]\n[...]");
    expect(text).not.toMatch(/^ +\d+→/m);
  });

  it("drops the padding of line numbers also where all of a file stays", () => {
    const read = agent(call("read", { path: "a.go" }, lines("some words", 5)));
    const text = textOf(
      filled([user("go"), read, filler(), agent({ type: "text", text: "x".repeat(900) })], 4_000),
    );
    expect(text).toContain("\n1→\tsome words number 0\n2→\tsome words number 1\n");
  });

  it("uses its budget also where many equal rows are worth the same", () => {
    const listing = Array.from({ length: 3_000 }, (_, index) => `entry ${10_000 + index} of many`);
    const equal = agent(call("bash", { command: "dump" }, listing.join("\n")));
    const after = filled([user("go"), equal, filler(), agent({ type: "text", text: "done" })], 20_000);
    expect(textOf(after).length).toBeGreaterThan(19_000);
  });

  it("never keeps a line without words on its own", () => {
    const blank = Array.from({ length: 300 }, (_, index) =>
      index % 2 ? `${index}: ` : `${index}: some words ${index}`,
    );
    const text = textOf(
      filled([user("go"), agent(call("read", { path: "a" }, blank.join("\n"))), filler()], 3_000),
    );
    expect(text).not.toMatch(/\[\.\.\.\]\n\d+:\n\[\.\.\.\]/);
  });

  it("cuts long strings of an input by line and keeps its shape", () => {
    const input = { path: "a.ts", edits: [{ old: lines("old words", 300), new: "short" }] };
    const after = filled([user("go"), agent(call("edit", input, "ok")), filler(), filler()], 3_000);
    const part = after[1]?.parts[0] as ToolPart;
    const changed = part.input as typeof input;
    expect(Object.keys(changed)).toEqual(["path", "edits"]);
    expect(changed.path).toBe("a.ts");
    expect(changed.edits[0]?.new).toBe("short");
    expect(changed.edits[0]?.old.length).toBeLessThan(input.edits[0]?.old.length ?? 0);
    expect(part.inputCut?.preview).not.toContain("\\n");
  });

  it("survives an input that cannot be read", () => {
    const input = { filePath: "a.ts", newString: lines("new words", 50) };
    Object.defineProperty(input, "oldString", {
      enumerable: true,
      get: () => {
        throw new Error("no");
      },
    });
    const messages = [user("go"), agent(call("edit", input, "ok")), filler(), filler()];
    expect(textOf(filled(messages, 3_000)).length).toBeLessThanOrEqual(3_000);
  });

  it("says of every edit how much it leaves out", () => {
    const messages = [user("go"), filler(), filler(), filler()];
    for (const edit of fillBudget({ maxChars: 3_000 })(messages)) {
      expect(edit.stage).toBe("fill-budget");
      expect(edit.omitted?.chars).toBeGreaterThan(0);
      expect(edit.omitted?.handle).toMatch(/^m\d+/);
    }
  });

  it("keeps results of tools that are never cut", () => {
    const asked = agent(call("question", {}, lines("the user answered", 8)));
    const after = filled([user("go"), asked, filler(), filler()], 5_000);
    expect(after[1]).toBe(asked);
  });

  it("changes nothing where everything fits to the character", () => {
    const messages = [user("hello"), filler()];
    const maxChars = textOf(messages).length;
    const fits = fillTranscript(messages, { maxChars });
    expect(fits.transcript).toBe(messages);
    expect(fits.edits).toEqual([]);
    expect(fillBudget({ maxChars: maxChars - 1 })(messages)).not.toEqual([]);
  });

  it("leaves room for the frame around as many messages as it hides", () => {
    const messages = [
      user("go"),
      ...Array.from({ length: 16 }, filler),
      agent({ type: "text", text: "end" }),
    ];
    const frameChars = (hiddenMessages: number): number => 300 + 20 * hiddenMessages;
    const { transcript, edits } = fillTranscript(messages, { maxChars: 2_500, frameChars });
    const hidden = edits.filter(({ type }) => type === "hide-message").length;
    expect(hidden).toBeGreaterThan(5);
    const chars = textOf(transcript).length + frameChars(hidden);
    expect(chars).toBeLessThanOrEqual(2_500);
    expect(chars).toBeGreaterThan(1_800);
  });

  it("counts the frame of what it hid also where it must try again", () => {
    const messages = [
      user("go"),
      ...Array.from({ length: 16 }, filler),
      agent({ type: "text", text: "end" }),
    ];
    const frameChars = (hiddenMessages: number): number => 300 + 20 * hiddenMessages;
    const render = (one: Message): string => renderMessage(one).replaceAll("→", "→ → → → → →");
    const { transcript, edits } = fillTranscript(messages, { maxChars: 2_500, frameChars, render });
    const hidden = edits.filter(({ type }) => type === "hide-message").length;
    expect(hidden).toBeGreaterThan(5);
    const chars = transcript.reduce((sum, one) => sum + render(one).length, frameChars(hidden));
    expect(chars).toBeLessThanOrEqual(2_500);
    expect(chars).toBeGreaterThan(1_500);
  });

  it("says with its edits what they lead to", () => {
    const messages = [user("go"), filler(), filler(), filler()];
    const { transcript, edits } = fillTranscript(messages, { maxChars: 3_000 });
    expect(transcript).toEqual(applyEdits(messages, edits, { at: 0 }));
    expect(fillBudget({ maxChars: 3_000 })(messages)).toEqual(edits);
  });

  it.each([1.2, 1.6, 2.5, 4])("fits where what is shown is %d times as long as was counted", (times) => {
    const stretched = (one: Message): string => {
      const text = renderMessage(one);
      return text + "x".repeat(Math.floor(text.length * (times - 1)));
    };
    const messages = [user("go"), filler(), filler(), filler()];
    const { transcript, edits } = fillTranscript(messages, { maxChars: 6_000, render: stretched });
    const chars = transcript.reduce((sum, one) => sum + stretched(one).length, 0);
    expect(chars).toBeLessThanOrEqual(6_000);
    expect(chars).toBeGreaterThan(1_500);
    expect(edits.length).toBeGreaterThan(0);
  });

  it("keeps something of everything where an input is written several times as long as it is", () => {
    const noise = Array.from({ length: 400 }, (_, index) => `${"\u0001".repeat(60)} ${index}`).join("\n");
    const write = (path: string): Message => agent(call("write", { path, content: noise }, "ok"));
    const messages = [user("go"), write("a"), write("b"), write("c"), agent({ type: "text", text: "end" })];
    const { transcript, edits } = fillTranscript(messages, { maxChars: 20_000 });
    expect(edits.map(({ type }) => type)).not.toContain("hide-message");
    expect(transcript[0]).toBe(messages[0]);
    expect(textOf(transcript).length).toBeLessThanOrEqual(20_000);
  });

  it.each([1, 50, 200, 400, 800, 1_600])(
    "fits where an output with padded line numbers is %i too long",
    (lessChars) => {
      const messages = [user("go"), filler(), filler(), agent({ type: "text", text: "end" })];
      const maxChars = textOf(messages).length - lessChars;
      const text = textOf(filled(messages, maxChars));
      expect(text.length).toBeLessThanOrEqual(maxChars);
      expect(text.length).toBeGreaterThan(0.75 * maxChars);
    },
  );

  it("ends also where nothing could ever fit", () => {
    const render = (one: Message): string => `${renderMessage(one)}${"x".repeat(9_000)}`;
    const { edits } = fillTranscript([user("go"), filler(), filler()], { maxChars: 500, render });
    expect(edits.length).toBeGreaterThan(0);
  });

  const part = tuple(
    constantFrom("read", "bash", "edit", "grep"),
    constantFrom(
      "plain words",
      "fooBar some_name",
      "x".repeat(900),
      "\u001b[31mred <inherited_context> ",
      "\ud83d\ude00 é",
    ),
    integer({ min: 0, max: 60 }),
  ).map(([tool, words, length]) =>
    call(tool, { path: `${tool}.ts`, text: lines(words, length >> 2) }, lines(words, length)),
  );

  it("is deterministic and fits", () => {
    assert(
      property(
        arrayOf(part, { minLength: 3, maxLength: 12 }),
        integer({ min: 4_000, max: 20_000 }),
        (parts, maxChars) => {
          const messages = [user("go"), ...parts.map((one) => agent(one))];
          const edits = fillBudget({ maxChars })(messages);
          expect(fillBudget({ maxChars })(messages)).toEqual(edits);
          expect(textOf(applyEdits(messages, edits, { at: 0 })).length).toBeLessThanOrEqual(maxChars);
        },
      ),
      { numRuns: runs(60) },
    );
  });
});
