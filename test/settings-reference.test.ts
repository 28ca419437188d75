import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sessionPage, unexplainedWords } from "../scripts/settings/session-page.ts";
import { fieldsOf, problemsOf, settingsPage } from "../scripts/settings/settings-page.ts";
import { SURFACES } from "../scripts/settings/surfaces.ts";
import { createSession } from "../src/session/session.ts";
import { createSystemClock } from "../src/stores/system-clock.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

describe("docs/settings.md", () => {
  it.each(SURFACES)(
    "has every option of $interface, with a default, a source and a reason to change it",
    (surface) => {
      expect(problemsOf(surface)).toEqual([]);
      expect(fieldsOf(surface).length).toBeGreaterThan(0);
    },
  );

  it("has every exported type that is named like options", () => {
    const entries = ["index", "stages", "formats", "node", "postgres", "ai-sdk", "langchain", "documented"];
    const named = entries.flatMap((entry) =>
      [...read(`src/${entry}.ts`).matchAll(/\b(?:type )?(\w+(?:Options|Settings|Limits|Ports))\b/g)].map(
        ([, name = ""]) => name,
      ),
    );
    const listed = new Set(
      SURFACES.flatMap((surface) => [
        surface.interface,
        ...(surface.inherits ?? []).map((each) => each.interface),
      ]),
    );
    const missing = [...new Set(named)].filter((name) => !listed.has(name) && WHERE_ELSE[name] === undefined);
    expect(missing).toEqual([]);
  });

  it("is what `npm run docs:settings` writes", () => {
    expect(read("docs/settings.md")).toBe(settingsPage());
  });
});

describe("docs/session.md", () => {
  it("explains every reason and every warning, and no other", () => {
    expect(unexplainedWords()).toEqual([]);
  });

  it("has every event, every action and every method of a session", () => {
    const page = read("docs/session.md");
    const named = [
      ...read("src/session/events.ts").matchAll(/^ {2}readonly type: "([^"]+)";$/gm),
      ...read("src/session/action.ts").matchAll(/^ {2}readonly type: "([^"]+)";$/gm),
      ...read("src/compaction/compact.ts").matchAll(/^ {2}readonly type: "(compaction[^"]+)";$/gm),
    ].map(([, word = ""]) => word);
    for (const word of named.filter((each) => each !== "batch")) expect(page).toContain(`\`${word}\``);
    expect(
      Object.keys(createSession({ clock: createSystemClock() })).filter(
        (name) => !page.includes(`\`${name}(`),
      ),
    ).toEqual([]);
  });

  it("says of every event and action when it comes, and of everything with it what it is", () => {
    expect(read("docs/session.md")).not.toMatch(/^\| `[^|]*` \|\s+\| .*$/m);
    expect(read("docs/session.md")).not.toMatch(/`\w+`: `[^`]*`(?:<br>| \|)/);
  });

  it("is what `npm run docs:settings` writes", () => {
    expect(read("docs/session.md")).toBe(sessionPage());
  });
});

/** Types that have no section of their own, and why. */
const WHERE_ELSE: Readonly<Record<string, string>> = {
  PrepareOptions: "in the section of nextAction",
  GivenCompactionSettings: "the settings of `compaction`, each of which may be left out",
  RawToolOutputLimits: "the limits of a tool output as the documents write them",
  CompactPorts: "clock and summarizer of SessionPorts",
  SummarizeOptions: "given to a summarizer, not by a person",
  EstimateTokensOptions: "in the section of estimates",
  FileRecordStoreOptions: "in the section of file journals",
  PostgresOutputLimits: "given to `clean` of the stores",
  CleanOutputsOptions: "in the section of file saved outputs",
  DEFAULT_TOOL_OUTPUT_LIMITS: "a value",
  DEFAULT_COMPACTION_SETTINGS: "a value",
};
