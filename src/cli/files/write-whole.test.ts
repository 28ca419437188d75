import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliError } from "../terminal/cli-error.ts";
import { writeFileAtomic } from "./write-file.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "carryover-write-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("writeWhole", () => {
  it("replaces a file, with the rights that are asked for, and leaves nothing else", async () => {
    const path = join(folder, "page.html");
    writeFileSync(path, "old", { mode: 0o644 });
    await writeFileAtomic(path, "new", { mode: 0o600 });
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["page.html"]);
  });

  it("writes through no link that somebody has put in its way", async () => {
    const precious = join(folder, "precious");
    writeFileSync(precious, "precious");
    const path = join(folder, "out.txt");
    symlinkSync(precious, path);
    symlinkSync(precious, `${path}.${process.pid}.tmp`);
    await writeFileAtomic(path, "new");
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(readFileSync(precious, "utf8")).toBe("precious");
  });

  it("says why a file cannot be written, and leaves nothing behind", async () => {
    await expect(writeFileAtomic(join(folder, "no", "such", "folder"), "x")).rejects.toThrow(CliError);
    expect(readdirSync(folder)).toEqual([]);
  });
});
