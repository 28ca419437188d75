import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fieldsOf, problemsOf, settingsPage } from "../scripts/settings/settings-page.ts";
import { GROUPS } from "../scripts/settings/table.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

describe("docs/settings.md", () => {
  it.each(GROUPS)(
    "has every option of $interface, with a default, a source and a reason to change it",
    (group) => {
      expect(problemsOf(group)).toEqual([]);
      expect(fieldsOf(group).length).toBeGreaterThan(0);
    },
  );

  it("has every exported type that is named like options", () => {
    const entries = ["index", "stages", "formats", "node", "postgres", "ai-sdk", "documented"];
    const named = entries.flatMap((entry) =>
      [...read(`src/${entry}.ts`).matchAll(/\b(?:type )?(\w+(?:Options|Settings|Limits|Ports))\b/g)].map(
        ([, name = ""]) => name,
      ),
    );
    const listed = new Set(
      GROUPS.flatMap((group) => [group.interface, ...(group.inherits ?? []).map((each) => each.interface)]),
    );
    const missing = [...new Set(named)].filter((name) => !listed.has(name) && WHERE_ELSE[name] === undefined);
    expect(missing).toEqual([]);
  });

  it("is what `npm run docs:settings` writes", () => {
    expect(read("docs/settings.md")).toBe(settingsPage());
  });
});

/** Types that have no section of their own, and why. */
const WHERE_ELSE: Readonly<Record<string, string>> = {
  PrepareOptions: "in the section of nextAction",
  RawToolOutputLimits: "the limits of a tool output as the documents write them",
  CompactPorts: "clock and summarizer of SessionPorts",
  SummarizeOptions: "given to a summarizer, not by a person",
  EstimateTokensOptions: "in the section of estimates",
  FileRecordStoreOptions: "in the section of file journals",
  CleanSpillsOptions: "in the section of file spills",
  knownLimits: "a function",
  DEFAULT_TOOL_OUTPUT_LIMITS: "a value",
  DEFAULT_COMPACTION_SETTINGS: "a value",
};
