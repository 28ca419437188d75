import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const PROJECT = resolve(import.meta.dirname, "../..");

/** Before tests that run or pack `dist`: builds it where it is missing or older than the sources. */
export function setup(): void {
  const reason = whyToBuild(PROJECT);
  if (reason === undefined) return;
  console.log(`${reason}: building it first (npm run build)`);
  execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: PROJECT, stdio: "inherit" });
}

/** What is wrong with the build of a project; undefined where it is newer than everything that it is made of. */
export function whyToBuild(project: string): string | undefined {
  const builtAt = BUILT.map((file) => [file, changedAt(join(project, file))] as const);
  const missing = builtAt.find(([, time]) => time === undefined);
  if (missing !== undefined) return `${missing[0]} is missing`;
  const oldest = Math.min(...builtAt.map(([, time]) => time ?? 0));
  const newer = readdirSync(join(project, "src"), { recursive: true, encoding: "utf8" }).find(
    (file) =>
      /\.(?:tsx?|css|html)$/.test(file) &&
      !file.endsWith(".test.ts") &&
      (changedAt(join(project, "src", file)) ?? 0) > oldest,
  );
  return newer === undefined ? undefined : `dist is older than src/${newer}`;
}

/** One file of each step of the build. */
export const BUILT: readonly string[] = [
  "dist/index.js",
  "dist/cli.js",
  "dist/server.js",
  "dist/tui.js",
  "dist/agents/carryover/hook.js",
  "dist/inspector/app.js",
];

function changedAt(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}
