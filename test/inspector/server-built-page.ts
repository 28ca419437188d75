import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";

/** Sees to it that the page is where the command line looks for it. */
export function builtPage(): void {
  const root = resolve(import.meta.dirname, "../..");
  if (existsSync(resolve(root, "dist/inspector/app.js"))) return;
  execFileSync(process.execPath, ["scripts/build-page.mjs"], { cwd: root, stdio: "inherit" });
}
