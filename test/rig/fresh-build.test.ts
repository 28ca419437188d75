import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { BUILT, whyToBuild } from "./fresh-build.ts";

/** A project whose files were written at these seconds. */
function project(files: Readonly<Record<string, number>>): string {
  const root = mkdtempSync(join(tmpdir(), "carryover-build-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [file, seconds] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), "");
    utimesSync(join(root, file), seconds, seconds);
  }
  return root;
}

const at = (seconds: number) => Object.fromEntries(BUILT.map((file) => [file, seconds]));

it.each([
  { name: "all is newer", files: { "src/server.ts": 1, ...at(2) }, why: undefined },
  { name: "there is no build", files: { "src/server.ts": 1 }, why: "dist/index.js is missing" },
  {
    name: "a source was changed since",
    files: { "src/a/server.ts": 3, ...at(2) },
    why: "dist is older than src/a/server.ts",
  },
  {
    name: "one step of it is old",
    files: { "src/a.ts": 2, ...at(3), "dist/tui.js": 1 },
    why: "dist is older than src/a.ts",
  },
  { name: "only a test was changed", files: { "src/server.test.ts": 3, ...at(2) }, why: undefined },
])("says why to build where $name", ({ files, why }) => {
  expect(whyToBuild(project(files))).toBe(why);
});
