import { describe, expect, it } from "vitest";
import type { ConfiguredPlugin } from "../opencode/configuration.ts";
import { checkTerminal } from "./check-terminal.ts";

const plugin = (spec: string): ConfiguredPlugin => ({ spec, options: undefined, from: "opencode.json" });

describe("the part of the plugin in the terminal", () => {
  const configuration = (...plugins: readonly ConfiguredPlugin[]) => ({ files: [], plugins });
  const place = { env: { HOME: "/home/ada" } };

  it("is there where tui.json names it", async () => {
    const named = { ...plugin("carryover@0.1.0"), from: "/home/ada/.config/opencode/tui.json" };
    const findings = await checkTerminal(plugin("carryover"), {
      ...place,
      configuration: configuration(plugin("a-theme"), named),
    });
    expect(findings).toEqual([{ level: "ok", what: `/forks is there: ${named.from} names the plugin` }]);
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
