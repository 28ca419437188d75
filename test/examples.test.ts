import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EXAMPLES as folder } from "./rig/examples.ts";

// Examples import the package by its name, so they run against what `npm run build` made.
describe("the examples", () => {
  // Beside another version of the AI SDK there is no LangChain.
  const isInstalled = (name: string) =>
    process.env.CARRYOVER_EXAMPLES === undefined || !name.includes("langchain");
  it.each(readdirSync(folder).filter((name) => /^\d\d-.*\.mjs$/.test(name) && isInstalled(name)))(
    "%s runs and its assertions hold",
    (name) => {
      const { status, stderr } = spawnSync(process.execPath, [join(folder, name)], { encoding: "utf8" });
      expect(stderr).toBe("");
      expect(status).toBe(0);
    },
  );
});
