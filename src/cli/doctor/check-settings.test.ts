import { expect, it } from "vitest";
import type { ConfiguredPlugin } from "../opencode/configuration.ts";
import { checkSettings } from "./check-settings.ts";

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
    name: "no fault in the host's pruning alone",
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
