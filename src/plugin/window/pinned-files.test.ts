import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { readPinnedFiles } from "./pins.ts";

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
