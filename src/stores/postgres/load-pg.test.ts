import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLoadPg } from "./pool.ts";

const missing = (): Promise<never> => Promise.reject(new Error("Cannot find package 'pg'"));
let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "carryover-pg-")));
  const place = join(folder, "has", "node_modules", "pg");
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "package.json"), JSON.stringify({ name: "pg", main: "index.js" }));
  writeFileSync(join(place, "index.js"), "module.exports = { Pool: class Found {} };");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("createLoadPg", () => {
  it("loads the package by its name first", async () => {
    const { Pool } = (await createLoadPg([join(folder, "has")])()).default ?? {};
    expect(Pool?.name).not.toBe("Found");
  });

  it("looks in the folders for one that is not beside the program", async () => {
    const load = createLoadPg(
      [join(folder, "has", "not"), join(folder, "nowhere"), join(folder, "has")],
      missing,
    );
    expect((await load()).default?.Pool?.name).toBe("Found");
  });

  it("gives up with the first reason", async () => {
    await expect(createLoadPg([join(folder, "nowhere")], missing)()).rejects.toThrow(
      "Cannot find package 'pg'",
    );
  });
});
