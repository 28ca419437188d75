import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { removeFolder } from "./remove-folder.ts";
import { waitFor } from "./wait-for.ts";

/** Writes for a second into a folder of the folder, as long as that is there. */
const WRITER = `
const { mkdirSync, existsSync, writeFileSync } = require("node:fs");
const endMs = Date.now() + 1_000;
for (let at = 0; Date.now() < endMs && existsSync(process.argv[1]); at += 1)
  try {
    mkdirSync(process.argv[1] + "/deep", { recursive: false });
  } catch {
    try { writeFileSync(process.argv[1] + "/deep/" + at, ""); } catch {}
  }`;

it("removes a folder into which another process writes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "carryover-removed-"));
  const writer = spawn(process.execPath, ["-e", WRITER, folder], { stdio: "ignore" });
  await waitFor(
    () => existsSync(join(folder, "deep")) && readdirSync(join(folder, "deep")).length > 500,
    "files",
  );
  removeFolder(folder);
  expect(existsSync(folder)).toBe(false);
  writer.kill();
});
