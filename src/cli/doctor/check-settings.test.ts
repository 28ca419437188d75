import { expect, it } from "vitest";
import type { ConfiguredPlugin } from "../opencode/configuration.ts";
import { runChecks } from "./check.ts";
import { SETTINGS_CHECKS } from "./check-settings.ts";

const plugin = (spec: string, options?: unknown): ConfiguredPlugin => ({
  spec,
  options,
  from: "opencode.json",
});

async function problemsOf({
  plugins = [plugin("carryover")],
  settings = {},
  env = {},
}: Settings): Promise<readonly string[]> {
  const findings = await runChecks(SETTINGS_CHECKS, { files: [], plugins, settings, env });
  return findings
    .filter(({ level }) => level === "problem")
    .map(({ check, advice }) => {
      expect(advice).not.toBe("");
      return check;
    });
}

interface Settings {
  readonly plugins?: readonly ConfiguredPlugin[];
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

it.each<{ name: string; given: Settings; problems: readonly string[] }>([
  { name: "nothing where all is well", given: {}, problems: [] },
  {
    name: "options under a key of their own",
    given: { settings: { carryover: { prune: "auto" } } },
    problems: ["options"],
  },
  {
    name: "another context plugin behind ours",
    given: { plugins: [plugin("carryover"), plugin("@tarquinen/opencode-dcp@latest")] },
    problems: ["other-plugins"],
  },
  {
    name: "no fault in one before ours",
    given: { plugins: [plugin("@tarquinen/opencode-dcp"), plugin("carryover")] },
    problems: [],
  },
  {
    name: "compaction that is off",
    given: { settings: { compaction: { auto: false } } },
    problems: ["host-compaction"],
  },
  {
    name: "no fault in the host's pruning where ours waits until the window is full",
    given: { settings: { compaction: { prune: true } } },
    problems: [],
  },
  {
    name: "two that prune",
    given: { plugins: [plugin("carryover", { prune: "auto" })], settings: { compaction: { prune: true } } },
    problems: ["host-pruning"],
  },
  {
    name: "our tools switched off",
    given: { settings: { tools: { fork: false }, permission: { recall: "deny" } } },
    problems: ["tools", "tools"],
  },
  {
    name: "an environment that keeps plugins or compaction away",
    given: { env: { OPENCODE_PURE: "1", OPENCODE_DISABLE_AUTOCOMPACT: "true" } },
    problems: ["environment", "environment"],
  },
])("finds $name", async ({ given, problems }) => {
  expect(await problemsOf(given)).toEqual(problems);
});

it.each([
  { name: "by default", options: undefined, level: "note", says: /long before ours would shorten them/ },
  { name: "as it is by default", options: { prune: "when-full" }, level: "note", says: /long before ours/ },
  {
    name: "where ours weighs the cache",
    options: { prune: "auto" },
    level: "problem",
    says: /cache misses/,
  },
  { name: "where ours is off", options: { prune: "off" }, level: undefined, says: undefined },
])("says of the host's own pruning what is true $name", async ({ options, level, says }) => {
  const findings = await runChecks(SETTINGS_CHECKS, {
    files: [],
    plugins: [plugin("carryover", options)],
    settings: { compaction: { prune: true } },
    env: {},
  });
  expect(findings.map(({ check, level }) => [check, level])).toEqual(
    level === undefined ? [] : [["host-pruning", level]],
  );
  if (says !== undefined) expect(findings[0]?.what).toMatch(says);
});
