import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../test/rig/notation.ts";
import { ConfigurationError } from "../text/check.ts";
import { toolResults } from "../transcript/content.ts";
import { applyEdits, type ReplacePart, runStages } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";
import { type SupersedeOptions, supersede } from "./supersede.ts";
import { DOCUMENTED_TIER_LIMITS, graduatedTiers } from "./tiers.ts";

type Fields = Readonly<Record<string, unknown>>;

/** One call a message, all in the oldest turn; messages are c1, c2, …, two more turns follow. */
function session(...calls: readonly Partial<ToolPart>[]): Transcript {
  const ask = (id: string): Message => ({ id, role: "user", parts: [{ type: "text", text: "go on" }] });
  const answers = calls.map((call, index): Message => {
    const part: ToolPart = {
      type: "tool",
      callId: `call-${index + 1}`,
      tool: "read",
      input: {},
      outcome: { status: "done", output: "", attachments: [] },
      ...call,
    };
    return { id: `c${index + 1}`, role: "assistant", parts: [part] };
  });
  return deepFreeze([ask("u1"), ...answers, ask("u2"), ask("u3")]);
}

const done = (output: string): Pick<ToolPart, "outcome"> => ({
  outcome: { status: "done", output, attachments: [] },
});
const call = (tool: string, input: Fields, output: string): Partial<ToolPart> => ({
  tool,
  input,
  ...done(output),
});
const failed = (tool: string, input: Fields): Partial<ToolPart> => ({
  tool,
  input,
  outcome: { status: "failed", error: "no match" },
});

/** A file of some lines, each long enough that a stub is shorter. */
const lines = (count: number, of = "file"): string =>
  Array.from({ length: count }, (_, index) => `${of} line ${index} ${"x".repeat(60)}`).join("\n");
const read = (input: Fields, count: number): Partial<ToolPart> =>
  call("read", { filePath: "src/a.ts", ...input }, lines(count, JSON.stringify(input)));
const write = (input: Fields = {}): Partial<ToolPart> =>
  call("write", { filePath: "src/a.ts", content: "all of it", ...input }, "Wrote file.");

/** The outputs that were replaced, by message. */
const superseded = (messages: Transcript, options?: SupersedeOptions): Readonly<Record<string, string>> =>
  Object.fromEntries(
    supersede(options)(messages).map((edit) => {
      const { outcome } = (edit as ReplacePart).part as ToolPart;
      return [(edit as ReplacePart).messageId, outcome.status === "done" ? outcome.output : ""];
    }),
  );

describe("supersede: reads", () => {
  const STUB = "[superseded by c2/0: read of src/a.ts]";

  it.each<[string, Partial<ToolPart>, Partial<ToolPart>]>([
    ["of a whole file that is read again", read({}, 50), read({}, 40)],
    [
      "of lines that are read again",
      read({ offset: 10, limit: 20 }, 20),
      read({ offset: 10, limit: 20 }, 20),
    ],
    [
      "of lines within those that are read again",
      read({ offset: 10, limit: 20 }, 20),
      read({ offset: 0, limit: 40 }, 40),
    ],
    ["of lines of a file that is read whole", read({ offset: 10, limit: 20 }, 20), read({}, 50)],
    ["up to the end that the file had", read({ offset: 10, limit: 2000 }, 20), read({}, 30)],
    [
      "whose limit is a number in quotes",
      read({ offset: "10", limit: "20" }, 20),
      read({ offset: 5, limit: 40 }, 40),
    ],
    [
      "by a view with a range",
      call("view", { path: "src/a.ts", view_range: [10, 20] }, lines(11)),
      call("view", { path: "src/a.ts", view_range: [1, -1] }, lines(90, "new")),
    ],
    [
      "by start and end line",
      call("read_file", { target_file: "src/a.ts", start_line: 10, end_line: 20 }, lines(11)),
      call("read_file", { target_file: "src/a.ts", start_line: 10, end_line: 30 }, lines(21, "new")),
    ],
    [
      "by a tool that does everything",
      call("str_replace_editor", { command: "view", path: "src/a.ts" }, lines(11)),
      call("str_replace_editor", { command: "view", path: "src/a.ts" }, lines(12, "new")),
    ],
    [
      "under another spelling of the path and another remark",
      call("Read", { file_path: "./src//a.ts", description: "look" }, lines(11)),
      call("Read", { file_path: "src/a.ts" }, lines(12, "new")),
    ],
    ["of a file that is written anew", read({ offset: 10, limit: 20 }, 20), write()],
    [
      "of a file that is created anew",
      read({}, 20),
      call("str_replace_based_edit_tool", { command: "create", path: "src/a.ts", file_text: "x" }, "ok"),
    ],
  ])("replaces one %s", (_, older, newer) => {
    expect(superseded(session(older, newer))).toEqual({ c1: STUB });
  });

  it.each<[string, Partial<ToolPart>, Partial<ToolPart>]>([
    [
      "of lines that the newer one does not reach",
      read({ offset: 10, limit: 20 }, 20),
      read({ offset: 0, limit: 29 }, 29),
    ],
    [
      "of lines before the newer ones",
      read({ offset: 10, limit: 20 }, 20),
      read({ offset: 11, limit: 90 }, 90),
    ],
    ["of lines beyond where the tool stopped", read({ offset: 3000, limit: 20 }, 20), read({}, 2000)],
    ["that is longer than the same one with a limit", read({}, 50), read({ limit: 20 }, 20)],
    ["of another file", read({}, 20), read({ filePath: "src/b.ts" }, 20)],
    ["of a part by name", read({ symbol: "f" }, 20), read({ symbol: "g" }, 20)],
    ["counted from the end", read({ offset: -20 }, 20), read({ offset: -20 }, 21)],
    ["with another tool", read({}, 20), call("cat", { path: "src/a.ts" }, lines(20, "new"))],
    [
      "whose file only changed in part",
      read({}, 20),
      call("edit", { filePath: "src/a.ts", oldString: "a", newString: "b" }, "ok"),
    ],
    ["whose file was only added to", read({}, 20), write({ mode: "append" })],
    [
      "whose file was not written in the end",
      read({}, 20),
      failed("write", { filePath: "src/a.ts", content: "x" }),
    ],
    ["that was repeated in vain", read({}, 20), failed("read", { filePath: "src/a.ts" })],
    [
      "repeated by a shell command",
      read({}, 20),
      call("bash", { command: "cat src/a.ts" }, lines(20, "new")),
    ],
    ["whose repetition was cleared", read({}, 20), { ...read({}, 21), clearedAt: 5 }],
    [
      "whose repetition was cut",
      read({}, 20),
      {
        ...read({}, 21),
        cut: { method: "head", originalChars: 9_000, omittedChars: 5_000, limitChars: 4_000 },
      },
    ],
    [
      "whose rewriting shows only a part of the content",
      read({}, 20),
      {
        ...write(),
        inputCut: { method: "head", originalChars: 900, omittedChars: 500, limitChars: 400, preview: "" },
      },
    ],
    [
      "that was cut, so that nobody knows how far it went",
      {
        ...read({ offset: 10 }, 5),
        cut: { method: "head", originalChars: 9_000, omittedChars: 5_000, limitChars: 4_000 },
      },
      read({}, 40),
    ],
    ["that is shorter than the stub", call("read", { filePath: "src/a.ts" }, "short"), read({}, 20)],
    ["that is cleared already", { ...read({}, 20), clearedAt: 5 }, read({}, 20)],
    ["whose repetition will not be sent", read({}, 20), { ...read({}, 20), callMissing: true as const }],
    [
      "of a picture",
      {
        tool: "read",
        input: { filePath: "a.png" },
        outcome: { status: "done", output: lines(2), attachments: [{ type: "file", mime: "image/png" }] },
      },
      call("read", { filePath: "a.png" }, lines(2)),
    ],
  ])("keeps one %s", (_, older, newer) => {
    expect(superseded(session(older, newer))).toEqual({});
  });

  it("names the newest that covers it, never one that is superseded itself", () => {
    const messages = session(read({ limit: 10 }, 10), read({ limit: 20 }, 20), read({ limit: 30 }, 30));
    const stub = "[superseded by c3/0: read of src/a.ts]";
    expect(superseded(messages)).toEqual({ c1: stub, c2: stub });
  });

  it("shortens a long path from the front and keeps the stub on one line", () => {
    const filePath = `${"deep/".repeat(60)}a\nb.ts`;
    const messages = session(read({ filePath }, 20), read({ filePath }, 20));
    expect(superseded(messages).c1).toMatch(/^\[superseded by c2\/0: read of \.\.\.[^\n]*a b\.ts\]$/);
    expect(superseded(messages).c1?.length).toBeLessThan(180);
  });

  it("remembers the newest 32 ranges of a file", () => {
    const ranges = Array.from({ length: 40 }, (_, index) => read({ offset: 1_000 * index, limit: 5 }, 5));
    const gone = superseded(session(...ranges, ...ranges));
    expect(Object.keys(gone)).toHaveLength(40);
    expect(gone.c1).toContain("same output of read");
    expect(gone.c40).toContain("read of src/a.ts");
  });
});

describe("supersede: repeated outputs", () => {
  const bash = (command: string, output: string) => call("bash", { command }, output);

  it("leaves the newest of equal outputs of one tool", () => {
    const output = "same ".repeat(100);
    const messages = session(
      bash("ls", output),
      bash("ls -a", output),
      bash("ls", `${output}.`),
      bash("dir", output),
    );
    const stub = "[superseded by c4/0: same output of bash]";
    expect(superseded(messages)).toEqual({ c1: stub, c2: stub });
  });

  it.each([
    ["of different tools", bash("ls", "same ".repeat(100)), call("list", {}, "same ".repeat(100))],
    ["of the same length", bash("ls", "a".repeat(500)), bash("ls", `${"a".repeat(499)}b`)],
    ["that are short", bash("ls", "ok"), bash("ls", "ok")],
    ["that failed", failed("bash", { command: "x" }), failed("bash", { command: "x" })],
  ])("keeps outputs %s", (_, older, newer) => {
    expect(superseded(session(older, newer))).toEqual({});
  });

  it("keeps outputs that are told apart by nothing but their text", () => {
    // Both have the same length and hash, so they share a key.
    const outputs = ["00129599", "00732382"].map((number) => `${number} ${"passed ".repeat(9)}`);
    expect(superseded(session(...outputs.map((output) => bash("test", output))))).toEqual({});
  });

  it("replaces an output from one character longer than the stub on", () => {
    const stub = "[superseded by c2/0: same output of bash]";
    const twice = (chars: number) => session(bash("ls", "x".repeat(chars)), bash("ls", "x".repeat(chars)));
    expect(superseded(twice(stub.length))).toEqual({});
    expect(superseded(twice(stub.length + 1))).toEqual({ c1: stub });
  });

  it("does not point to an output that goes itself", () => {
    const text = lines(20);
    const messages = session(
      call("read", { filePath: "b.ts" }, text),
      call("read", { filePath: "a.ts" }, text),
      call("read", { filePath: "a.ts" }, lines(20, "new")),
    );
    expect(superseded(messages)).toEqual({ c2: "[superseded by c3/0: read of a.ts]" });
  });
});

describe("supersede: inputs of failed edits", () => {
  const input = {
    filePath: "src/a.ts",
    oldString: "o".repeat(900),
    newString: "n".repeat(900),
    replaceAll: true,
  };
  const inputOf = (messages: Transcript) =>
    toolResults(runStages(messages, [supersede()]).transcript)[0]?.part.input;

  it("keep their shape and name the change that worked", () => {
    const stub = "[superseded by c3/0: failed edit of src/a.ts]";
    expect(inputOf(session(failed("edit", input), failed("edit", input), call("edit", input, "ok")))).toEqual(
      {
        filePath: "src/a.ts",
        oldString: stub,
        newString: stub,
        replaceAll: true,
      },
    );
  });

  it("say how long they were when nothing worked", () => {
    const patchText = "p".repeat(5_000);
    expect(inputOf(session(failed("apply_patch", { patchText })))).toEqual({
      patchText: "[failed edit: 5000 chars]",
    });
  });

  it("stay where the call is signed: a signature holds for the input that it came with", () => {
    const signed = session(failed("edit", input)).map((message) => ({
      ...message,
      parts: message.parts.map((part) => (part.type === "tool" ? { ...part, signed: true as const } : part)),
    }));
    expect(inputOf(signed)).toBe(input);
  });

  it("say what was left out", () => {
    const [edit] = supersede()(session(failed("edit", input)));
    const changed = edit?.type === "replace-part" ? (edit.part as ToolPart) : undefined;
    const chars = JSON.stringify(input).length - JSON.stringify(changed?.input).length;
    expect(edit).toMatchObject({
      stage: "supersede",
      reason: "superseded",
      omitted: { chars, handle: "c1/0" },
    });
    expect(changed?.inputCut).toMatchObject({ omittedChars: chars, preview: JSON.stringify(changed?.input) });
    expect(changed?.outcome).toEqual({ status: "failed", error: "no match" });
  });

  const cyclic: Record<string, unknown> = { filePath: "a", content: "x".repeat(900) };
  cyclic.self = cyclic;

  it.each([
    ["a short one", failed("edit", { filePath: "a", oldString: "o".repeat(200) })],
    ["one that worked", call("edit", input, "ok")],
    [
      "one that was shortened before",
      {
        ...failed("edit", input),
        inputCut: { method: "head", originalChars: 9_000, omittedChars: 8_500, limitChars: 500, preview: "" },
      } as const,
    ],
    ["that of a tool that changes no file", failed("bash", { command: "x".repeat(900) })],
    ["a long path", failed("edit", { filePath: `/${"deep/".repeat(80)}a.ts` })],
    ["one without JSON", failed("write", cyclic)],
    ["none at all", failed("edit", undefined as unknown as Fields)],
  ])("stay when it is %s", (_, part) => {
    expect(supersede()(session(part))).toEqual([]);
  });
});

describe("supersede", () => {
  const again = session(read({}, 20), read({}, 20));

  it("says in each edit why, how much and where to recall it", () => {
    const chars = lines(20, "{}").length;
    expect(supersede()(again)).toMatchObject([
      {
        type: "replace-part",
        messageId: "c1",
        partIndex: 0,
        stage: "supersede",
        reason: "superseded",
        omitted: { chars, handle: "c1/0" },
        part: { cut: { originalChars: chars, omittedChars: chars } },
      },
    ]);
  });

  it("leaves the newest turns and protected tools alone, but lets them supersede", () => {
    expect(superseded(again, { protectTurns: 3 })).toEqual({});
    expect(superseded(again, { protectedTools: ["READ"] })).toEqual({});
    const [u1, c1, c2, ...others] = again as [Message, Message, Message, ...Message[]];
    expect(Object.keys(superseded([u1, c1, ...others, c2]))).toEqual(["c1"]);
  });

  it("looks only at what is sent", () => {
    const hidden = applyEdits(
      again,
      [{ type: "hide-message", messageId: "c2", stage: "test", reason: "test" }],
      { at: 1 },
    );
    expect(superseded(hidden)).toEqual({});
  });

  it("goes on with outputs that were cut before, and counts only what it takes itself", () => {
    const cut = { method: "head", originalChars: 9_000, omittedChars: 8_000, limitChars: 1_000 } as const;
    const [edit] = supersede()(session({ ...read({}, 20), cut }, read({}, 20)));
    expect(edit).toMatchObject({ omitted: { chars: 1_000 }, part: { cut: { omittedChars: 9_000 } } });
  });

  it("knows a write by its input also when its output is a repetition", () => {
    const report = "diagnostics ".repeat(50);
    const messages = session(
      read({}, 20),
      call("write", { filePath: "src/a.ts", content: "x" }, report),
      call("write", { filePath: "src/b.ts", content: "x" }, report),
    );
    expect(superseded(messages)).toEqual({
      c1: "[superseded by c2/0: read of src/a.ts]",
      c2: "[superseded by c3/0: same output of write]",
    });
  });

  it("is left alone by the tiers", () => {
    const once = runStages(again, [supersede()]).transcript;
    expect(graduatedTiers({ limits: DOCUMENTED_TIER_LIMITS })(once)).toEqual([]);
  });

  it("refuses a number of turns that is none", () => {
    expect(() => supersede({ protectTurns: -1 })).toThrow(ConfigurationError);
  });

  it("sees nothing but the output where an input cannot be read", () => {
    const refuse = () => {
      throw new Error("no");
    };
    const part = { ...read({}, 20), input: new Proxy({}, { get: refuse }) };
    expect(superseded(session(part, part)).c1).toContain("same output");
  });
});
