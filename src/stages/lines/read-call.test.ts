import { describe, expect, it } from "vitest";
import { call } from "../../../test/rig/fill-talk.ts";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { CLEARED_PLACEHOLDER, type FilePart, type ToolPart } from "../../transcript/part.ts";
import { readableJson, readCall } from "./read-call.ts";

const LABEL_CHARS = "[Tool result]\n".length;
const TWO_LINES = "one line\nand another";
const changed = (part: ToolPart, change: Partial<ToolPart>): ToolPart => ({ ...part, ...change });
const sourcesOf = (part: ToolPart): readonly string[] =>
  readCall(deepFreeze(part)).texts.map(({ source }) => source);
const headOf = (part: ToolPart): string | undefined => readCall(deepFreeze(part)).texts[0]?.text;

describe("readCall", () => {
  it("names a call by its tool and its input", () => {
    const { texts, headChars, inputChars, chars, withStrings } = readCall(
      call("bash", { command: "ls" }, "a b"),
    );
    const head = '[Tool: bash] {"command":"ls"}';
    expect(texts).toEqual([
      { source: "call", text: head },
      { source: "output", text: "a b" },
    ]);
    expect(headChars).toBe(`${head}\n`.length + LABEL_CHARS);
    expect(inputChars).toBe('{"command":"ls"}'.length);
    expect(chars).toBe(inputChars + "a b".length);
    expect(withStrings).toBeUndefined();
  });

  it("names a call without input by its tool alone", () => {
    const { texts, headChars, inputChars, withStrings } = readCall(call("list", undefined, ""));
    expect(texts).toEqual([{ source: "call", text: "[Tool: list]" }]);
    expect(headChars).toBe("[Tool: list]\n".length + LABEL_CHARS);
    expect(inputChars).toBe(0);
    expect(withStrings).toBeUndefined();
  });

  it("names a call whose input was cut before by what is shown of it", () => {
    const input = { command: TWO_LINES };
    const inputCut = {
      method: "head",
      originalChars: 99,
      omittedChars: 9,
      limitChars: 9,
      preview: "one li",
    } as const;
    const { texts, inputChars, withStrings } = readCall(changed(call("bash", input, "x"), { inputCut }));
    expect(texts.map(({ text }) => text)).toEqual(["[Tool: bash] one li", "x"]);
    expect(inputChars).toBe(JSON.stringify(input).length);
    expect(withStrings).toBeUndefined();
  });

  it("has no head where only the result is there", () => {
    const { texts, headChars } = readCall(changed(call("bash", {}, "x"), { callMissing: true }));
    expect(texts).toEqual([{ source: "output", text: "x" }]);
    expect(headChars).toBe(LABEL_CHARS);
  });

  it("counts no result while a call is pending", () => {
    const { texts, headChars, chars } = readCall(
      changed(call("bash", {}, ""), { outcome: { status: "pending" } }),
    );
    expect(texts).toEqual([{ source: "call", text: "[Tool: bash] {}" }]);
    expect(headChars).toBe("[Tool: bash] {}\n".length);
    expect(chars).toBe("{}".length);
  });

  it("takes the text of an error for an output", () => {
    const failed = changed(call("bash", {}, ""), { outcome: { status: "failed", error: "no such file" } });
    expect(readCall(failed).texts[1]).toEqual({ source: "output", text: "no such file" });
    expect(readCall(failed).headChars).toBe("[Tool: bash] {}\n".length + LABEL_CHARS);
    expect(readCall(failed).chars).toBe("{}no such file".length);
  });

  it("counts the placeholder instead of an output that was cleared", () => {
    const { texts, headChars, chars } = readCall(changed(call("bash", {}, "a\nb"), { clearedAt: 1 }));
    expect(texts).toEqual([{ source: "call", text: "[Tool: bash] {}" }]);
    expect(headChars).toBe(`[Tool: bash] {}\n${CLEARED_PLACEHOLDER}\n`.length + LABEL_CHARS);
    expect(chars).toBe(`{}${CLEARED_PLACEHOLDER}`.length);
  });

  it("counts attachments with the head", () => {
    const file: FilePart = { type: "file", mime: "image/png" };
    const outcome = { status: "done", output: "x", attachments: [file, file] } as const;
    const { headChars } = readCall(changed(call("bash", {}, "x"), { outcome }));
    expect(headChars).toBe("[Tool: bash] {}\n[File: image/png]\n[File: image/png]\n".length + LABEL_CHARS);
  });

  it.each([
    { name: "with several lines", text: TWO_LINES },
    { name: "of more than 200 characters", text: "x".repeat(201) },
  ])("makes a string $name a text of its own", ({ text }) => {
    const input = { command: text, why: ["short", { deep: text }] };
    const { texts } = readCall(deepFreeze(call("bash", input, "")));
    expect(texts).toEqual([
      { source: "call", text: '[Tool: bash] {"command":"","why":["short",{"deep":""}]}' },
      { source: "input", text },
      { source: "input", text },
    ]);
  });

  it("leaves strings of up to 200 characters in the head", () => {
    const input = { command: "x".repeat(200), more: "y".repeat(200) };
    const { texts, withStrings } = readCall(call("bash", input, ""));
    expect(texts).toEqual([{ source: "call", text: `[Tool: bash] ${JSON.stringify(input)}` }]);
    expect(withStrings).toBeUndefined();
  });

  it.each([
    { name: "an edit writes", tool: "edit", field: "newString", source: "change" },
    { name: "is written to a file", tool: "write", field: "content", source: "change" },
    { name: "an edit takes out", tool: "edit", field: "oldString", source: "removed" },
    { name: "a program is given", tool: "bash", field: "oldString", source: "input" },
    { name: "a read is given", tool: "read", field: "oldString", source: "input" },
  ])("says where a text comes from: what $name", ({ tool, field, source }) => {
    expect(sourcesOf(call(tool, { path: "a", [field]: TWO_LINES }, ""))).toEqual(["call", source]);
  });

  it.each(["old_string", "oldString", "old_str", "oldText", "old_text"])(
    "takes %s for what an edit took out",
    (field) => {
      const edits = [{ [field]: TWO_LINES, new: `${TWO_LINES}.` }, "not an edit", null];
      expect(sourcesOf(call("edit", { path: "a", edits }, ""))).toEqual(["call", "removed", "change"]);
    },
  );

  it("takes nothing for gone that a failed edit would have taken out", () => {
    const failed = changed(call("edit", { path: "a", old_string: TWO_LINES }, ""), {
      outcome: { status: "failed", error: "not found" },
    });
    expect(sourcesOf(failed)).toEqual(["call", "change", "output"]);
  });

  it.each([
    ...["grep", "Glob", "web_search", "find_files", "ls", "list_dir"].map((tool) => ({
      tool,
      source: "search",
    })),
    ...["bash", "tools", "false"].map((tool) => ({ tool, source: "output" })),
    { tool: "read", source: "read" },
    { tool: "edit", source: "output" },
  ])("says of an output of $tool that it is $source", ({ tool, source }) => {
    expect(sourcesOf(call(tool, { path: "a" }, "x"))).toEqual(["call", source]);
  });

  it.each([
    { input: { command: "sed -n '1,80p' src/a.ts" }, source: "read" },
    { input: { command: "cd /home/me/app && cat src/a.ts" }, source: "read" },
    { input: { cmd: "git diff src/a.ts" }, source: "read" },
    { input: { command: ["bash", "-lc", "nl -ba src/a.ts"] }, source: "read" },
    { input: { command: "cat > src/a.ts" }, source: "output" },
    { input: { command: "npm test | tail -5" }, source: "output" },
    { input: { command: "git log" }, source: "output" },
    { input: { text: "cat src/a.ts" }, source: "output" },
  ])("takes what $input prints for: $source", ({ input, source }) => {
    expect(sourcesOf(call("bash", input, "x")).at(-1)).toBe(source);
  });

  it("names the file that a call is about", () => {
    expect(readCall(call("read", { path: "src/a.ts" }, "")).path).toBe("src/a.ts");
    expect(readCall(call("bash", { path: "src/a.ts" }, "")).path).toBeUndefined();
  });

  it("gives the input back with other texts, and how that reads", () => {
    const input = { path: 'a "b"', content: TWO_LINES, short: "tab\there" };
    const { withStrings } = readCall(deepFreeze(call("write", input, "")));
    const result = withStrings?.((text) => `${text}\n[...]`);
    const expected = { ...input, content: `${TWO_LINES}\n[...]` };
    expect(result?.input).toEqual(expected);
    expect(result?.inputChars).toBe(JSON.stringify(expected).length);
    expect(result?.preview).toBe(`{"path":"a "b"","content":"${TWO_LINES}\n[...]","short":"tab\there"}`);
  });

  it("gives the very same input back where no text changes", () => {
    const input = { content: TWO_LINES };
    const { withStrings, inputChars } = readCall(deepFreeze(call("write", input, "")));
    const result = withStrings?.((text) => text);
    expect(result?.input).toBe(input);
    expect(result?.inputChars).toBe(inputChars);
    expect(result?.preview).toBe(`{"content":"${TWO_LINES}"}`);
  });

  it("leaves a head of up to 1,200 characters as it is", () => {
    const input = { items: Array.from({ length: 100 }, () => "x".repeat(8)), more: "" };
    const more = "y".repeat(1_200 - JSON.stringify(input).length);
    expect(more.length).toBeLessThan(200);
    const part = call("bash", { ...input, more }, "");
    expect(headOf(part)).toBe(`[Tool: bash] ${JSON.stringify({ ...input, more })}`);
    expect(headOf(call("bash", { ...input, more: `${more}z` }, ""))).toMatch(/\.\.\.$/);
  });

  it("cuts a head that is longer even without its long strings, and the input with it", () => {
    const input = { items: Array.from({ length: 200 }, (_, index) => `item\t${index}`), content: TWO_LINES };
    const { texts, withStrings, inputChars } = readCall(deepFreeze(call("bash", input, "")));
    expect(texts).toHaveLength(1);
    const head = texts[0]?.text ?? "";
    expect(head).toMatch(/^\[Tool: bash\] \{"items":\["item\t0","item\t1",/);
    expect(head).toMatch(/\.\.\.$/);
    expect(head.length).toBeLessThanOrEqual("[Tool: bash] ".length + 1_200 + "...".length);
    const result = withStrings?.((text) => text);
    expect(result?.preview).toBe(head.slice("[Tool: bash] ".length));
    expect(JSON.stringify(result?.input).length).toBe(result?.inputChars);
    expect(result?.inputChars).toBeLessThanOrEqual(1_200);
    expect(inputChars).toBe(JSON.stringify(input).length);
  });
});

describe("readableJson", () => {
  it.each([
    { name: "a text without escapes", value: { a: "b", c: [1, null] }, text: '{"a":"b","c":[1,null]}' },
    { name: "line breaks and tabs", value: "one\n\ttwo\n", text: '"one\n\ttwo\n"' },
    { name: "quotes", value: 'say "yes"', text: '"say "yes""' },
    { name: "backslashes before letters", value: "C:\\new\\table", text: '"C:\\new\\table"' },
    { name: "an escape first", value: "\nx", text: '"\nx"' },
  ])("writes $name as they were", ({ value, text }) => {
    expect(readableJson(JSON.stringify(value))).toBe(text);
  });

  it("leaves other escapes as they are", () => {
    expect(readableJson(JSON.stringify("a\u0001b\rc\nd"))).toBe('"a\\u0001b\\rc\nd"');
  });

  it("leaves a backslash at the very end as it is", () => {
    expect(readableJson("cut off \\")).toBe("cut off \\");
  });
});
