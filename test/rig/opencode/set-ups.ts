import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * A home in which something is installed in some way, and what `carryover doctor` must say of it. `PLUGIN` in a text is
 * replaced by the path of a plugin that works. The same table is played without OpenCode and against the real one.
 */
export interface SetUp {
  readonly name: string;
  /** Files below the home by path; the project is `project`. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** What a problem must say; unset where all is well. */
  readonly problem?: RegExp;
  /** Whether OpenCode has our tools then. */
  readonly registered: boolean;
}

const CACHE = ".cache/opencode/packages/carryover@latest/node_modules/carryover";
const packed = (version: string): string =>
  JSON.stringify({ name: "carryover", version, exports: { "./server": "./server.js" } });
const REEXPORT = 'export { default } from "PLUGIN";';
const config = (value: object): string => JSON.stringify(value);

export const SET_UPS: readonly SetUp[] = [
  {
    name: "a path in the project",
    files: { "project/opencode.json": config({ plugin: ["PLUGIN"] }) },
    registered: true,
  },
  {
    name: "a path with options, in a file with comments",
    files: { "project/opencode.jsonc": '// ours\n{ "plugin": [["PLUGIN", { "prune": "auto" }],], }' },
    registered: true,
  },
  {
    name: "the package in OpenCode's cache",
    files: {
      "project/opencode.json": config({ plugin: ["carryover"] }),
      [`${CACHE}/package.json`]: packed("9.9.9"),
      [`${CACHE}/server.js`]: REEXPORT,
    },
    registered: true,
  },
  {
    name: "a path into the node_modules of a folder",
    files: {
      "project/.opencode/opencode.json": config({ plugin: ["./node_modules/carryover"] }),
      "project/.opencode/node_modules/carryover/package.json": packed("9.9.9"),
      "project/.opencode/node_modules/carryover/server.js": REEXPORT,
    },
    registered: true,
  },
  {
    name: "the package in a folder of another name",
    files: {
      "project/opencode.json": config({ plugin: ["./package"] }),
      "project/package/package.json": packed("9.9.9"),
      "project/package/server.js": REEXPORT,
    },
    registered: true,
  },
  {
    name: "a file that exports it again, in the plugin folder",
    files: {
      "project/.opencode/plugin/mine.js": 'import plugin from "PLUGIN"; // carryover\nexport default plugin;',
    },
    registered: true,
  },
  { name: "nothing at all", problem: /in no configuration/, registered: false },
  {
    name: "a package that is not installed",
    files: { "project/opencode.json": config({ plugin: ["carryover"] }) },
    problem: /the package carryover is not in OpenCode's cache, and/,
    registered: false,
  },
  {
    name: "npm install beside the configuration, and the name",
    files: {
      "project/opencode.json": config({ plugin: ["carryover"] }),
      "project/node_modules/carryover/package.json": packed("9.9.9"),
      "project/node_modules/carryover/server.js": REEXPORT,
    },
    problem: /node_modules is not looked at/,
    registered: false,
  },
  {
    name: "a wrong name",
    files: { "project/opencode.json": config({ plugin: ["carry-over"] }) },
    problem: /carry-over .* is not this plugin/,
    registered: false,
  },
  {
    name: "a path where nothing is",
    files: { "project/opencode.json": config({ plugin: ["./nowhere/carryover"] }) },
    problem: /there is no .*nowhere\/carryover/,
    registered: false,
  },
  {
    name: "broken JSON",
    files: { "project/opencode.json": '{\n  "plugin": ["PLUGIN"\n  "x": 1\n}' },
    problem: /opencode\.json cannot be read: .*line 3, column 3/,
    registered: false,
  },
  {
    name: "a key `plugins`",
    files: { "project/opencode.json": config({ plugins: ["PLUGIN"] }) },
    problem: /a key `plugins`/,
    registered: false,
  },
  {
    name: "a text instead of a list",
    files: { "project/opencode.json": config({ plugin: "PLUGIN" }) },
    problem: /`plugin` is not a list/,
    registered: false,
  },
  {
    name: "options that are wrong",
    files: { "project/opencode.json": config({ plugin: [["PLUGIN", { prune: "on" }]] }) },
    problem: /because of an option: prune is "on"/,
    registered: false,
  },
  {
    name: "options beside the name",
    files: { "project/opencode.json": config({ plugin: ["PLUGIN", { prune: "auto" }] }) },
    problem: /plugin\[1\] is an object; options belong in brackets/,
    registered: false,
  },
  {
    name: "options under a key of their own",
    files: { "project/opencode.json": config({ plugin: ["PLUGIN"], carryover: { prune: "auto" } }) },
    problem: /under a key `carryover`/,
    registered: true,
  },
  {
    name: "a module without a plugin in it",
    files: {
      "project/opencode.json": config({ plugin: ["./carryover.js"] }),
      "project/carryover.js": "export const version = 1;",
    },
    problem: /cannot be loaded: it exports something that is not a plugin/,
    registered: false,
  },
  {
    name: "a module that throws",
    files: {
      "project/opencode.json": config({ plugin: ["./carryover.js"] }),
      "project/carryover.js": 'throw new Error("no such thing");',
    },
    problem: /cannot be loaded: no such thing/,
    registered: false,
  },
  {
    name: "a plugin for OpenCode 2",
    files: {
      "project/opencode.json": config({ plugin: ["./carryover.js"] }),
      "project/carryover.js": 'export default { id: "carryover", setup: async () => ({}) };',
    },
    problem: /has no server\(\): it is not a plugin for OpenCode 1/,
    registered: false,
  },
  {
    name: "a package for OpenCode 2",
    files: {
      "project/opencode.json": config({ plugin: ["carryover"] }),
      [`${CACHE}/package.json`]: config({ name: "carryover", exports: { "./plugin": "./plugin.js" } }),
      [`${CACHE}/plugin.js`]: "export default {};",
    },
    problem: /a plugin for OpenCode 2 only/,
    registered: false,
  },
  {
    name: "two copies",
    files: {
      "project/opencode.json": config({ plugin: ["PLUGIN", "./copy/carryover.js"] }),
      "project/copy/carryover.js": REEXPORT,
    },
    problem: /2 copies are configured/,
    registered: true,
  },
  {
    name: "an old copy in OpenCode's cache",
    files: {
      "project/opencode.json": config({ plugin: ["carryover"] }),
      [`${CACHE}/package.json`]: packed("0.0.9"),
      [`${CACHE}/server.js`]: REEXPORT,
    },
    problem: /OpenCode runs carryover 0\.0\.9; this is/,
    registered: true,
  },
  {
    name: "a plugin without a hook",
    files: {
      "project/opencode.json": config({ plugin: ["./carryover.js"] }),
      "project/carryover.js": `import plugin from "PLUGIN";
export default { id: "carryover", async server(...input) {
  const hooks = await plugin.server(...input);
  delete hooks["experimental.chat.messages.transform"];
  return hooks;
} };`,
    },
    problem: /does not return the hook experimental\.chat\.messages\.transform/,
    registered: true,
  },
  {
    name: "OPENCODE_PURE",
    files: { "project/opencode.json": config({ plugin: ["PLUGIN"] }) },
    env: { OPENCODE_PURE: "1" },
    problem: /OPENCODE_PURE is set/,
    registered: false,
  },
  {
    name: "no configuration of the project",
    files: { "project/opencode.json": config({ plugin: ["PLUGIN"] }) },
    env: { OPENCODE_DISABLE_PROJECT_CONFIG: "1" },
    problem: /OPENCODE_DISABLE_PROJECT_CONFIG is set/,
    registered: false,
  },
  {
    name: "a plugin file that OpenCode does not load",
    files: { "project/.opencode/plugin/carryover.mjs": REEXPORT },
    problem: /in no configuration/,
    registered: false,
  },
  {
    name: "tools that are switched off",
    files: { "project/opencode.json": config({ plugin: ["PLUGIN"], tools: { fork: false } }) },
    problem: /the tool fork is switched off/,
    registered: true,
  },
];

/** Writes the files of a set-up below a home. */
export function writeSetUp(home: string, { files = {} }: SetUp, plugin: string): void {
  mkdirSync(join(home, "project", ".git"), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text.replaceAll("PLUGIN", plugin));
  }
}
