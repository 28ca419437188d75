import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { readInterface } from "../scripts/settings/read-interface.ts";
import { fieldsOf } from "../scripts/settings/settings-page.ts";
import { SURFACES } from "../scripts/settings/surfaces.ts";

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
      ...SURFACES.flatMap((group) => fieldsOf(group).map(({ name }) => name)),
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

/** Every page of the repository that is written by hand or by our scripts. */
const pages = readdirSync(root, { recursive: true, encoding: "utf8" })
  .map((file) => file.replaceAll("\\", "/"))
  .filter(
    (file) =>
      /^([^/]+|(docs|research|src|examples|agents)\/.*)\.md$/.test(file) && !file.includes("node_modules"),
  );

describe("the pages", () => {
  it.each(pages)("%s: each link leads to a file or a heading that is there", (page) => {
    const dead = linksOf(page).filter((target) => !isThere(page, target));
    expect(dead).toEqual([]);
  });

  // Research is kept as it was written.
  it.each(pages.filter((page) => !page.startsWith("research/")))(
    "%s names only files that are there",
    (page) => {
      const named = [
        ...read(page).matchAll(/`((?:src|test|scripts|docs|research|bench|examples)\/[\w./-]+)`/g),
      ];
      expect(named.map(([, file = ""]) => file).filter((file) => !existsSync(join(root, file)))).toEqual([]);
    },
  );

  it.each(["docs/architecture.md", "src/README.md", "AGENTS.md"])(
    "%s names only files of src that are there",
    (page) => {
      const named = [...read(page).matchAll(/`([\w-]+\/[\w./-]+\.tsx?)`/g)].map(([, file = ""]) => file);
      const rooms = readdirSync(join(root, "src")).map((room) => `src/${room}`);
      const isSomewhere = (file: string) =>
        ["", "src", ...rooms].some((from) => existsSync(join(root, from, file)));
      expect(named.filter((file) => !isSomewhere(file))).toEqual([]);
    },
  );

  const doors = [...read("CONTRIBUTING.md").matchAll(/^\|(.+)\| `(src\/\S+)` \| `(\w+)` \|$/gm)];
  it.each(
    doors.map(([, question = "", file = "", name = ""]) => ({ question: question.trim(), file, name })),
  )("CONTRIBUTING: $question", ({ file, name }) => {
    expect(read(file)).toMatch(new RegExp(`^export (async )?(function\\*?|const) ${name}\\b`, "m"));
  });
});

function linksOf(page: string): readonly string[] {
  const text = read(page)
    .replace(/^```[\s\S]*?^```/gm, "")
    .replace(/`[^`\n]*`/g, "");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

function isThere(page: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : join(dirname(page), path);
  return existsSync(join(root, file)) && (anchor === undefined || anchorsOf(file).includes(anchor));
}

/** The anchors that GitHub and npm give to the headings of a page. */
function anchorsOf(page: string): readonly string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
