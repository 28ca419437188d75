import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { homeName, knownHomeName } from "./home-name.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "carryover-home-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("the name of a home", () => {
  it("is the same for every program in it, and another one elsewhere", () => {
    const name = homeName(join(folder, "not", "there"));
    expect(homeName(join(folder, "not", "there"))).toBe(name);
    expect(homeName(join(folder, "other"))).not.toBe(name);
  });

  it("is not made by somebody who only asks for it", () => {
    expect(knownHomeName(join(folder, "asked"))).toBeUndefined();
    expect(existsSync(join(folder, "asked"))).toBe(false);
    expect(knownHomeName(folder)).toBeUndefined();
    const name = homeName(folder);
    expect(knownHomeName(folder)).toBe(name);
  });

  it("is one of its own where none can be kept", () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    expect(homeName(file)).toMatch(/^[0-9a-f-]{36}$/);
    expect(homeName(file)).not.toBe(homeName(file));
  });

  it("is not taken from a file that holds something else", () => {
    writeFileSync(join(folder, "home"), "../../elsewhere");
    expect(homeName(folder)).toMatch(/^[0-9a-f-]{36}$/);
  });
});
