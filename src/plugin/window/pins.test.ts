import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { applyEdits, type Edit } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { isGlob, pathMatcher, readPinnedFiles } from "./pinned-files.ts";
import { createPinnedTexts, missingPins } from "./pins.ts";

const user = (id: string, text: string, synthetic?: true): Message => ({
  id,
  role: "user",
  parts: [{ type: "text", text, ...(synthetic && { synthetic }) }],
});
const read = (id: string, path: string, output: string): Message => ({
  id,
  role: "assistant",
  parts: [
    {
      type: "tool",
      callId: `${id}-call`,
      tool: "read",
      input: { filePath: path },
      outcome: { status: "done", output, attachments: [] },
    },
  ],
});

const CONVERSATION: Transcript = deepFreeze([
  user("u1", "The port is 4711. #pin"),
  read("a1", "/project/RULES.md", "Never touch vendor."),
  read("a2", "/project/src/a.ts", "export const a = 1;"),
  user("u2", "Not a mark: x#pin, #pinned."),
  user("u3", "From a tool #pin", true),
]);

describe("what is pinned", () => {
  it("are the texts of the option, messages marked by the user, and reads of files that a pattern names", () => {
    const { globs, pinsOf } = createPinnedTexts(["keep this text", "RULES.md"]);
    expect(globs).toEqual(["RULES.md"]);
    expect(pinsOf(CONVERSATION)).toEqual([{ text: "keep this text" }, { handle: "u1" }, { handle: "a1/0" }]);
  });

  it("are marked messages alone without the option", () => {
    expect(createPinnedTexts([]).pinsOf(CONVERSATION)).toEqual([{ handle: "u1" }]);
  });
});

describe("missingPins", () => {
  const edited = (...edits: readonly Edit[]): Transcript => applyEdits(CONVERSATION, edits, { at: 1 });
  const hide = (messageId: string): Edit => ({
    type: "hide-message",
    messageId,
    stage: "test",
    reason: "pruned",
  });
  const pins = [
    { text: "Never touch vendor." },
    { handle: "u1" },
    { handle: "a1/0" },
    { text: "never seen" },
  ];

  it("finds nothing where nothing was hidden, nor for what was not there before", () => {
    expect(missingPins(pins, { before: CONVERSATION, after: CONVERSATION })).toEqual([]);
    expect(missingPins(pins, { before: CONVERSATION, after: edited(hide("a2")) })).toEqual([]);
  });

  it("finds a message, a result and a text that the model no longer sees", () => {
    expect(missingPins(pins, { before: CONVERSATION, after: edited(hide("u1")) })).toEqual([pins[1]]);
    expect(missingPins(pins, { before: CONVERSATION, after: edited(hide("a1")) })).toEqual([
      pins[0],
      pins[2],
    ]);
  });
});

describe("a pin", () => {
  it.each(["AGENTS.md", "docs/*.md", "src/**", "**/RULES.txt"])("%s names files", (pin) => {
    expect(isGlob(pin)).toBe(true);
  });
  it.each(["the port is 4711", "KEEP-THIS-LINE", "never push.", "look in src/a.ts first"])(
    "%s is a text",
    (pin) => {
      expect(isGlob(pin)).toBe(false);
    },
  );
});

describe("a pattern", () => {
  it.each([
    ["AGENTS.md", "AGENTS.md", true],
    ["AGENTS.md", "/home/me/project/AGENTS.md", true],
    ["AGENTS.md", "OLD-AGENTS.md", false],
    ["AGENTS.md", "AGENTSxmd", false],
    ["docs/*.md", "docs/a.md", true],
    ["docs/*.md", "docs/deep/a.md", false],
    ["docs/**/*.md", "docs/a.md", true],
    ["docs/**/*.md", "docs/deep/er/a.md", true],
    ["docs/**", "docs/deep/a.txt", true],
    ["./docs/?.md", "docs/a.md", true],
    ["/docs/?.md", "docs/ab.md", false],
    ["a+(b).md", "a+(b).md", true],
  ] as const)("%s on %s: %s", (glob, path, matches) => {
    expect(pathMatcher([glob])(path)).toBe(matches);
  });
});

const project = mkdtempSync(join(tmpdir(), "carryover-pins-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));

for (const [path, content] of Object.entries({
  "RULES.md": "rules",
  "docs/deep/RULES.md": "deep rules",
  "docs/other.txt": "other",
  "huge/RULES.md": "x".repeat(40_000),
  "node_modules/some/RULES.md": "not ours",
})) {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), content);
}
symlinkSync(join(project, "RULES.md"), join(project, "linked.md"));

describe("the files of pins", () => {
  it("are those that a pattern names, outermost first, without installed packages and what is too long", async () => {
    expect(await readPinnedFiles(project, ["RULES.md"])).toEqual([
      { name: "RULES.md", content: "rules" },
      { name: "docs/deep/RULES.md", content: "deep rules" },
    ]);
  });

  it("are none through a link", async () => {
    expect(await readPinnedFiles(project, ["linked.md"])).toEqual([]);
  });

  it("are none in a folder that is not there, and nothing is read without a pattern", async () => {
    expect(await readPinnedFiles(join(project, "gone"), ["**"])).toEqual([]);
    expect(await readPinnedFiles(project, [])).toEqual([]);
  });
});
