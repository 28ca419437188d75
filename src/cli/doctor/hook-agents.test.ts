import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { VERSION } from "../../plugin/loaded-notice.ts";
import { CLAUDE_CODE } from "../install/claude-code.ts";
import { CODEX } from "../install/codex.ts";
import type { HookProgram } from "../install/hook-program.ts";
import { diagnoseHookAgent } from "./hook-agents.ts";

const root = mkdtempSync(join(tmpdir(), "carryover-doctor-hooks-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A home in which all is well; each set-up then breaks one thing. */
interface World {
  readonly home: string;
  readonly agent: HookProgram;
  readonly plugin: string;
  write(path: string, content: string | object): void;
  remove(path: string): void;
  /** What `plugin list --json` prints. */
  list(change: object | string): void;
  /** What the agent says of the hooks. */
  hooks(list: readonly object[]): void;
}

interface SetUp {
  readonly name: string;
  readonly problem: RegExp;
  /** False where files alone say it. */
  readonly isRun?: false;
  readonly break: (world: World) => void;
}

const OPTIONS = ".config/carryover/options.json";

const EVERYWHERE: readonly SetUp[] = [
  {
    name: "no program",
    problem: /is not there: no \w+ is on the PATH/,
    break: ({ remove, agent }) => remove(`bin/${agent.command}`),
  },
  {
    name: "a program that says nothing",
    problem: /does not say its version/,
    break: ({ write, agent }) => write(`bin/${agent.command}`, "#!/bin/sh\nexit 1\n"),
  },
  { name: "no node", problem: /no node on the PATH/, break: ({ remove }) => remove("bin/node") },
  {
    name: "a node that is too old",
    problem: /is 18\.19\.0; hooks need 20/,
    break: ({ write }) => write("bin/node", "#!/bin/sh\necho v18.19.0\n"),
  },
  {
    name: "no folder",
    isRun: false,
    problem: /is not installed/,
    break: ({ remove, plugin }) => remove(plugin),
  },
  {
    name: "another folder for data than when it was installed",
    isRun: false,
    problem: /it was installed to \/then\/carryover-agents\/[\w-]+, and would be in /,
    break: ({ write, agent, home }) =>
      write(
        agent.settings({ HOME: home }).slice(home.length + 1),
        `{"a":"/then/carryover-agents/${agent.name}"}`,
      ),
  },
  {
    name: "other settings than when it was installed",
    isRun: false,
    problem: /it was installed in .*then\/settings, and .* reads .* here/,
    break({ write, home, plugin }) {
      const folder = dirname(join(home, plugin));
      write("then/settings", JSON.stringify({ path: folder }));
      write(`${dirname(plugin)}.used-by.json`, JSON.stringify([join(home, "then/settings")]));
    },
  },
  {
    name: "half a folder",
    isRun: false,
    problem: /lacks hook\.js/,
    break: ({ remove, plugin }) => remove(`${plugin}/hook.js`),
  },
  {
    name: "a folder of an older version",
    isRun: false,
    problem: /is version 0\.0\.1; this is/,
    break: ({ write, plugin }) => write(`${plugin}/.claude-plugin/plugin.json`, { version: "0.0.1" }),
  },
  {
    name: "a manifest that is no JSON",
    isRun: false,
    problem: /plugin\.json cannot be read/,
    break: ({ write, plugin }) => write(`${plugin}/.claude-plugin/plugin.json`, "{"),
  },
  {
    name: "options that are no JSON",
    isRun: false,
    problem: /Nothing is done until .*options\.json is corrected/,
    break: ({ write }) => write(OPTIONS, "{ toolOutput"),
  },
  {
    name: "an option that there is not",
    isRun: false,
    problem: /toolOutputs/,
    break: ({ write }) => write(OPTIONS, { toolOutputs: false }),
  },
  {
    name: "a file where the store should be",
    isRun: false,
    problem: /is not a folder of its own/,
    break: ({ write }) => write(".local/share/carryover", "no folder"),
  },
  {
    name: "a hook that does not run",
    problem: /a hook does not answer: .*SyntaxError/,
    break: ({ write, plugin }) => write(`${plugin}/hook.js`, "const const"),
  },
  {
    name: "a server that does not run",
    problem: /the server of tools does not answer/,
    break: ({ write, plugin }) => write(`${plugin}/mcp.js`, "process.exit(0)"),
  },
  {
    name: "an agent without the plugin",
    problem: /does not have the plugin/,
    break: ({ list }) => list("none"),
  },
  {
    name: "a plugin that is switched off",
    problem: /is switched off in/,
    break: ({ list }) => list({ enabled: false }),
  },
  {
    name: "another copy",
    problem: /runs another copy: \/elsewhere/,
    break: ({ list }) => list({ readFromFolder: "/elsewhere", source: { path: "/elsewhere" } }),
  },
  {
    name: "an older copy in the agent's cache",
    problem: /has version 0\.0\.1; this is/,
    break: ({ list }) => list({ version: "0.0.1" }),
  },
];

const IN_CLAUDE_CODE: readonly SetUp[] = [
  {
    name: "no hooks at all",
    isRun: false,
    problem: /disableAllHooks is set in .*project/,
    break: ({ write }) => write("project/.claude/settings.json", { disableAllHooks: true }),
  },
  {
    name: "settings that are no JSON",
    isRun: false,
    problem: /settings\.json is not JSON/,
    break: ({ write }) => write(".claude/settings.json", "{ "),
  },
  {
    name: "a server that is no longer started",
    isRun: false,
    problem: /mcp-needs-auth-cache\.json lists our server/,
    break: ({ write }) =>
      write(".claude/mcp-needs-auth-cache.json", { "plugin:carryover:carryover": { timestamp: 1 } }),
  },
  {
    name: "settings with a comment",
    isRun: false,
    problem: /settings\.json is not JSON \(line 2: a comment\)/,
    break: ({ write }) => write(".claude/settings.json", '{\n// mine\n"model": "x" }'),
  },
  {
    name: "a plugin that the project switches off",
    isRun: false,
    problem: /is switched off in .*settings\.local\.json/,
    break: ({ write }) =>
      write("project/.claude/settings.local.json", { enabledPlugins: { "carryover@carryover": false } }),
  },
  {
    name: "two copies",
    isRun: false,
    problem: /two copies are switched on/,
    break: ({ write }) =>
      write(".claude/settings.json", {
        enabledPlugins: { "carryover@carryover": true, "carryover@other": true },
      }),
  },
  {
    name: "a recall that is denied",
    isRun: false,
    problem: /denies mcp__plugin_carryover_carryover__recall/,
    break: ({ write }) =>
      write(".claude/settings.json", { permissions: { deny: ["mcp__plugin_carryover_carryover__recall"] } }),
  },
  {
    name: "a marketplace that is gone",
    problem: /cannot load the plugin: Marketplace carryover failed to load/,
    break: ({ list }) => list({ errors: ["Marketplace carryover failed to load: cache-miss"] }),
  },
];

const HOOK = { pluginId: "carryover@carryover", key: "k", currentHash: "h", enabled: true };

const IN_CODEX: readonly SetUp[] = [
  {
    name: "hooks that nobody has looked at",
    problem: /3 of 3 hooks are not trusted \(untrusted\)/,
    break: ({ hooks }) => hooks(Array(3).fill({ ...HOOK, trustStatus: "untrusted" })),
  },
  {
    name: "a hook that was changed since",
    problem: /1 of 2 hooks are not trusted \(modified\)/,
    break: ({ hooks }) =>
      hooks([
        { ...HOOK, trustStatus: "trusted" },
        { ...HOOK, trustStatus: "modified" },
      ]),
  },
  {
    name: "hooks as a feature that is off",
    problem: /knows no hook of the plugin/,
    break: ({ hooks }) => hooks([]),
  },
  {
    name: "a hook that is switched off",
    problem: /1 of 1 hooks are switched off/,
    break: ({ hooks }) => hooks([{ ...HOOK, trustStatus: "trusted", enabled: false }]),
  },
  {
    name: "a configuration that cannot be read",
    problem: /does not say which plugins it has: Error: .*expected/,
    break: ({ list }) => list("broken"),
  },
];

for (const [agent, more] of [
  [CLAUDE_CODE, IN_CLAUDE_CODE],
  [CODEX, IN_CODEX],
] as const)
  describe(`carryover doctor ${agent.name}`, () => {
    it("finds nothing where all is well", async () => {
      const findings = await diagnose(createWorld(agent));
      expect(findings.filter(({ level }) => level !== "ok")).toEqual([]);
      expect(findings.map(({ check }) => check)).toEqual(
        expect.arrayContaining(["node", "program", "folder", "store", "registered", "self-test"]),
      );
    });

    it.each([...EVERYWHERE, ...more])("$name", async (setUp) => {
      const world = createWorld(agent);
      setUp.break(world);
      const findings = await diagnose(world, setUp.isRun);
      const problems = findings.filter(({ level }) => level === "problem");
      expect(problems.map(({ what }) => what).join("\n")).toMatch(setUp.problem);
      for (const { advice } of problems) expect(advice).toMatch(/\w/);
    });

    it("runs nothing where that is not wanted, and quotes the newest line of the log", async () => {
      const world = createWorld(agent);
      const at = new Date().toISOString();
      world.write(".local/share/carryover/plugin.log", `${at} error a hook failed and changed nothing\n`);
      const findings = await diagnose(world, false);
      expect(findings.some(({ check }) => check === "self-test")).toBe(false);
      expect(findings.find(({ check }) => check === "log")?.what).toContain("a hook failed");
      expect(findings.find(({ check }) => check === "registered")?.level).toBe("note");
    });
  });

function diagnose({ agent, home }: World, selfTest = true) {
  const env = { HOME: home, PATH: join(home, "bin") };
  return diagnoseHookAgent(agent, { env, directory: join(home, "project"), selfTest });
}

function createWorld(agent: HookProgram): World {
  const home = mkdtempSync(join(root, "home-"));
  const write: World["write"] = (path, content) => {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true });
    rmSync(file, { recursive: true, force: true });
    const text = typeof content === "string" ? content : JSON.stringify(content);
    writeFileSync(file, text, { mode: path.startsWith("bin/") ? 0o755 : 0o600 });
  };
  const remove: World["remove"] = (path) => rmSync(join(home, path), { recursive: true });
  const plugin = `.local/share/carryover-agents/${agent.name}/carryover`;
  cpSync(resolve(import.meta.dirname, "../../../agents/carryover"), join(home, plugin), { recursive: true });
  write(`${plugin}/.claude-plugin/plugin.json`, { name: "carryover", version: VERSION });
  write(`${plugin}/hook.js`, 'console.log("sha256 " + "a".repeat(64))');
  write(`${plugin}/mcp.js`, `console.log('{"name":"recall"}')`);
  write(`${plugin}/report.js`, "");
  const ours = {
    id: "carryover@carryover",
    pluginId: "carryover@carryover",
    version: VERSION,
    enabled: true,
    readFromFolder: join(home, plugin),
  };
  const list: World["list"] = (change) =>
    write(
      "list",
      typeof change === "object"
        ? JSON.stringify(agent === CODEX ? { installed: [{ ...ours, ...change }] } : [{ ...ours, ...change }])
        : change === "none"
          ? "[]"
          : "Error: config.toml:3: expected `]`",
    );
  const hooks: World["hooks"] = (known) => write("hooks", { data: [{ hooks: known }] });
  list({});
  hooks(Array(3).fill({ ...HOOK, trustStatus: "trusted" }));
  mkdirSync(join(home, ".local/share/carryover"), { mode: 0o700 });
  mkdirSync(join(home, "project"));
  mkdirSync(join(home, "bin"));
  symlinkSync(process.execPath, join(home, "bin", "node"));
  write(`bin/${agent.command}`, fakeAgent(agent));
  return { home, agent, plugin, write, remove, list, hooks };
}

/** Says its version, its plugins and its hooks, as they stand in files of the home. */
function fakeAgent({ testedVersion }: HookProgram): string {
  return `#!${process.execPath}
const { readFileSync } = require("node:fs");
const read = (name) => readFileSync(process.env.HOME + "/" + name, "utf8");
const [what] = process.argv.slice(2);
if (what === "--version") console.log("${testedVersion} (agent)");
if (what === "plugin") console.log(read("list"));
if (what === "app-server")
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    const result = method === "hooks/list" ? JSON.parse(read("hooks")) : {};
    console.log(JSON.stringify({ id, result }));
  });
`;
}
