import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readInterface } from "../scripts/settings/read-interface.ts";
import { fieldsOf } from "../scripts/settings/settings-page.ts";
import { GROUPS } from "../scripts/settings/table.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

interface Row {
  readonly number: string;
  readonly names: readonly string[];
  readonly file: string;
  readonly title: string;
}

const rows: readonly Row[] = read("docs/contributing/documents.md")
  .split("\n")
  .flatMap((line) => {
    const [, number, , names = "", test = ""] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    if (number === undefined || !/^00\d\.\d+$/.test(number)) return [];
    const [, file = "", title = ""] = /^`([^`]+)`: (.+)$/.exec(test) ?? [];
    return [{ number, names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name), file, title }];
  });

describe("the map of the founding documents", () => {
  it("numbers the statements of each document without a gap", () => {
    for (const document of ["000", "001", "002", "003", "004"]) {
      const numbers = rows.filter(({ number }) => number.startsWith(document)).map(({ number }) => number);
      expect(numbers).toEqual(numbers.map((_, index) => `${document}.${index + 1}`));
      expect(numbers.length).toBeGreaterThan(0);
    }
  });

  it("names only what can be imported, set, called or heard", async () => {
    const entries = ["index", "stages", "formats", "documented", "node", "postgres", "ai-sdk", "testing"];
    const exported = await Promise.all(
      entries.map(async (entry) => Object.keys(await import(`../src/${entry}.ts`))),
    );
    const known = new Set([
      ...exported.flat(),
      ...GROUPS.flatMap((group) => fieldsOf(group).map(({ name }) => name)),
      ...readInterface("src/session/session.ts", "Session").map(({ name }) => `session.${name}`),
      ...[...read("docs/session.md").matchAll(/^\| `([\w.]+)` \|/gm)].map(([, event = ""]) => event),
    ]);
    expect(rows.flatMap(({ names }) => names).filter((name) => !known.has(name))).toEqual([]);
    expect(rows.filter(({ names }) => names.length === 0)).toEqual([]);
  });

  it.each(rows)("$number: its test is there", ({ file, title }) => {
    expect(existsSync(join(root, file)), file).toBe(true);
    expect(read(file)).toContain(title);
  });
});
