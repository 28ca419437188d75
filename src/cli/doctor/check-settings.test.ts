import { describe, expect, it } from "vitest";
import type { ConfiguredPlugin } from "../opencode/configuration.ts";
import { checkSettings, checkTerminal } from "./check-settings.ts";

const plugin = (spec: string, options?: unknown): ConfiguredPlugin => ({
  spec,
  options,
  from: "opencode.json",
});

function problemsOf({
  plugins = [plugin("carryover")],
  settings = {},
  env = {},
}: Settings): readonly string[] {
  return checkSettings({ files: [], plugins, settings }, env)
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
])("finds $name", ({ given, problems }) => {
  expect(problemsOf(given)).toEqual(problems);
});

it.each([
  { name: "by default", options: undefined, level: "note", says: /long before ours would shorten them/ },
  { name: "as it is by default", options: { prune: "when-full" }, level: "note", says: /long before ours/ },
  {
    name: "where ours weighs the cache",
    options: { prune: "auto" },
    level: "problem",
    says: /cached prefix/,
  },
  { name: "where ours is off", options: { prune: "off" }, level: undefined, says: undefined },
])("says of the host's own pruning what is true $name", ({ options, level, says }) => {
  const findings = checkSettings(
    { files: [], plugins: [plugin("carryover", options)], settings: { compaction: { prune: true } } },
    {},
  );
  expect(findings.map(({ check, level }) => [check, level])).toEqual(
    level === undefined ? [] : [["host-pruning", level]],
  );
  if (says !== undefined) expect(findings[0]?.what).toMatch(says);
});

describe("the part of the plugin in the terminal", () => {
  const configuration = (...plugins: readonly ConfiguredPlugin[]) => ({ files: [], plugins, settings: {} });
  const place = { env: { HOME: "/home/ada" } };

  it("is there where tui.json names it", async () => {
    const named = { ...plugin("carryover@0.1.0"), from: "/home/ada/.config/opencode/tui.json" };
    const findings = await checkTerminal(plugin("carryover"), {
      ...place,
      configuration: configuration(plugin("a-theme"), named),
    });
    expect(findings).toEqual([
      { check: "terminal", level: "ok", what: `/forks is there: ${named.from} names the plugin` },
    ]);
  });

  it.each([
    {
      name: "a package",
      ours: { spec: "carryover@0.1.0", from: "/home/ada/.config/opencode/opencode.jsonc" },
      advice: '{ "plugin": ["carryover@0.1.0"] } to /home/ada/.config/opencode/tui.json',
    },
    {
      name: "a package of the project",
      ours: { spec: "file:///p/.opencode/node_modules/carryover", from: "/p/.opencode/opencode.json" },
      advice: '{ "plugin": ["file:///p/.opencode/node_modules/carryover"] } to /p/.opencode/tui.json',
    },
    {
      name: "a file in the plugin folder",
      ours: { spec: "file:///p/.opencode/plugin/mine.ts", from: "/p/.opencode/plugin" },
      advice: "the path of the package's folder] } to /home/ada/.config/opencode/tui.json",
    },
    {
      name: "the environment",
      ours: { spec: "carryover", from: "OPENCODE_CONFIG_CONTENT" },
      advice: '{ "plugin": ["carryover"] } to /home/ada/.config/opencode/tui.json',
    },
  ])("is missed with what to add for $name, and nothing has to be done", async ({ ours, advice }) => {
    const findings = await checkTerminal(
      { ...ours, options: undefined },
      { ...place, configuration: configuration(plugin("a-theme")) },
    );
    expect(findings).toMatchObject([{ level: "note", what: expect.stringMatching(/^\/forks is missing/) }]);
    expect(findings[0]?.advice).toContain(advice);
  });
});
