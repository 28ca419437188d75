import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { readPageAssets } from "./page-assets.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-assets-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const place = (name: string): URL => pathToFileURL(`${join(folder, name)}/`);

describe("readPageAssets", () => {
  it("takes the first place that has both files", async () => {
    const half = mkdtempSync(join(folder, "half-"));
    writeFileSync(join(half, "app.js"), "half");
    const whole = mkdtempSync(join(folder, "whole-"));
    writeFileSync(join(whole, "app.js"), "script");
    writeFileSync(join(whole, "app.css"), "style");
    const places = [place("missing"), pathToFileURL(`${half}/`), pathToFileURL(`${whole}/`)];
    expect(await readPageAssets(places)).toEqual({ script: "script", style: "style" });
  });

  it("says what to do when the page was not built", async () => {
    await expect(readPageAssets([place("missing")])).rejects.toThrow("`npm run build` makes dist/inspector");
  });
});
