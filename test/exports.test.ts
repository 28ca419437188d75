import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { exports: object };
const entries = Object.keys(exports)
  .filter((name) => name !== "./package.json")
  .map((name) => (name === "." ? "index" : name.slice(2)));

const namesOf = async (entry: string) => Object.keys(await import(`../src/${entry}.ts`)).sort();

/** The public surface, name by name: what is here is a promise. */
describe("the public surface", () => {
  it.each(entries)("of carryover/%s", async (entry) => {
    expect((await namesOf(entry)).join("\n")).toMatchSnapshot();
  });

  it("says in a sentence what each function and value is", () => {
    const silent = entries
      .filter((entry) => entry !== "server" && entry !== "tui")
      .flatMap(exportedFrom)
      .filter(({ name, file }) => {
        const declared = `export (?:async )?(?:function\\*?|const|class) ${name}\\b`;
        const text = sourceOf(file);
        return new RegExp(declared).test(text) && !new RegExp(`\\*/\\n${declared}`).test(text);
      })
      .map(({ name, file }) => `${name} in ${file}`);
    expect([...new Set(silent)]).toEqual([]);
  });

  it("says in a sentence what each option is", () => {
    const silent = entries
      .filter((entry) => entry !== "server" && entry !== "tui")
      .flatMap(exportedFrom)
      .filter(({ name }) =>
        /(Options|Settings|Limits|Ports|Prices|CarryoverStore|Telemetry|SummarizerChoice|Profile)$|^Carryover$/.test(
          name,
        ),
      )
      .flatMap(({ name, file }) => silentFields(name, sourceOf(file)).map((field) => `${name}.${field}`));
    expect([...new Set(silent)]).toEqual([]);
  });

  it("has no token budget and no uniform limits", async () => {
    const names = (await Promise.all(entries.map(namesOf))).flat();
    for (const gone of ["FORK_MAX_TOKENS", "FORK_TOOL_RESULT_LIMIT", "FORK_TOOL_PARAMS_LIMIT"]) {
      expect(names).not.toContain(gone);
    }
  });

  it("has the documented constants", async () => {
    expect(await import("../src/documented.ts")).toMatchObject({
      FORK_CHAR_BUDGET: 200_000,
      FORK_CHAR_NO_REMOVAL: 120_000,
      FORK_NO_TRIM_THRESHOLD: 120_000,
      FORK_TIER1_COUNT: 5,
      FORK_TIER_RECENT_COUNT: 5,
      FORK_TIER2_COUNT: 10,
      FORK_TIER_MIDDLE_COUNT: 10,
      FORK_TIER_RECENT_LIMIT: Number.POSITIVE_INFINITY,
      FORK_TIER2_LIMIT: 3_000,
      FORK_TIER_MIDDLE_LIMIT: 3_000,
      FORK_TIER3_LIMIT: 500,
      FORK_TIER_OLD_LIMIT: 500,
      FORK_PARAMS_TIER1: 500,
      FORK_PARAMS_TIER2: 200,
      FORK_PARAMS_TIER3: 100,
      FORK_PARAMS_TIER_LIMITS: [500, 200, 100],
      FORK_HEAD_RATIO: 0.8,
      FORK_TAIL_RATIO: 0.2,
      FORK_ERROR_PATTERNS: ["error", "Error", "ERROR", "failed", "FAILED", "exception", "traceback"],
      FORK_HEAD_TAIL_KEYWORDS: ["bash", "pty", "exec"],
      FORK_NO_TRUNCATION_TOOLS: ["ask_user_questions", "question", "skill"],
      PRUNE_MINIMUM: 20_000,
      PRUNE_PROTECT: 40_000,
    });
  });
});

interface ExportedName {
  readonly name: string;
  readonly file: string;
}

function exportedFrom(entry: string): readonly ExportedName[] {
  const statements = sourceOf(`${entry}.ts`).matchAll(/^export (?:type )?\{([^}]*)\} from "\.\/([^"]+)"/gm);
  return [...statements].flatMap(([, names = "", file = ""]) =>
    names
      .split(",")
      .map((name) => name.replace(/\btype\b/, "").trim())
      .filter((name) => name !== "")
      .map((name) => ({ name, file })),
  );
}

function sourceOf(file: string): string {
  return readFileSync(join(root, "src", file), "utf8");
}

/** The fields of an interface that have no comment. */
function silentFields(name: string, source: string): readonly string[] {
  const start = source.search(new RegExp(`^export interface ${name}\\b`, "m"));
  if (start < 0) return [];
  const body = source.slice(start, source.indexOf("\n}", start)).split("\n");
  return body.flatMap((line, index) => {
    const field = /^ {2}(?:readonly )?(\w+)\??[:(]/.exec(line)?.[1];
    return field === undefined || /\*\/\s*$/.test(body[index - 1] ?? "") ? [] : [field];
  });
}
