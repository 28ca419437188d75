import type { SetUp } from "../opencode/set-ups.ts";

/** A home with OpenCode 2, and what `carryover doctor` must say of the two parts of the plugin. */
export interface SetUp2 extends SetUp {
  /** Whether the part for the terminal is named. */
  readonly terminal?: true;
  /** What is wrong with it. */
  readonly terminalProblem?: RegExp;
}

const CACHE = ".cache/opencode/packages/carryover/node_modules/carryover";
const CLI = ".config/opencode/cli.json";
const packed = JSON.stringify({
  name: "carryover",
  version: "9.9.9",
  exports: { "./server": "./server.js" },
});
const REEXPORT = 'export { default } from "PLUGIN";';
const config = (value: object): string => JSON.stringify(value);

export const SET_UPS_2: readonly SetUp2[] = [
  {
    name: "a file under `plugins`, and the part for the terminal",
    files: {
      "project/opencode.json": config({ plugins: ["PLUGIN"] }),
      [CLI]: config({ plugins: ["carryover"] }),
    },
    registered: true,
    terminal: true,
  },
  {
    name: "options beside the package, and a tui.json of version 1",
    files: {
      "project/opencode.json": config({ plugins: [{ package: "PLUGIN", options: { prune: "auto" } }] }),
      ".config/opencode/tui.json": config({ plugin: [["carryover", {}]] }),
    },
    registered: true,
    terminal: true,
  },
  {
    name: "the list of version 1, and a file for the terminal",
    files: {
      "project/opencode.json": config({ plugin: [["PLUGIN", { prune: "auto" }]] }),
      "project/.opencode/plugins/tui/carryover.js": REEXPORT,
    },
    registered: true,
    terminal: true,
  },
  {
    name: "a cli.json that names others",
    files: {
      "project/opencode.json": config({ plugins: ["PLUGIN"] }),
      [CLI]: config({ plugins: ["another"] }),
      ".config/opencode/tui.json": config({ plugin: ["carryover"] }),
    },
    registered: true,
  },
  {
    name: "the package in OpenCode's cache",
    files: {
      "project/opencode.json": config({ plugins: ["carryover"] }),
      [`${CACHE}/package.json`]: packed,
      [`${CACHE}/server.js`]: REEXPORT,
    },
    registered: true,
  },
  { name: "nothing at all", problem: /in no configuration for this folder .*found\)$/, registered: false },
  {
    name: "the part for the terminal alone",
    files: { [CLI]: config({ plugins: ["carryover"] }) },
    problem: /only the part for the terminal is, in .*cli\.json/,
    registered: false,
    terminal: true,
  },
  {
    name: "a plugin for OpenCode 1 alone",
    files: {
      "project/opencode.json": config({ plugins: ["./carryover.js"] }),
      "project/carryover.js": 'export default { id: "carryover", server: async () => ({}) };',
    },
    problem: /no setup\(\): it is a plugin for OpenCode 1 only, which OpenCode 2 refuses/,
    registered: false,
  },
  {
    name: "a folder",
    files: {
      "project/opencode.json": config({ plugins: ["./node_modules/carryover"] }),
      "project/node_modules/carryover/package.json": packed,
      "project/node_modules/carryover/server.js": REEXPORT,
    },
    problem: /carryover is a folder, and OpenCode 2 imports a file/,
    registered: false,
  },
  {
    name: "options that are wrong",
    files: {
      "project/opencode.json": config({ plugins: [{ package: "PLUGIN", options: { prune: "on" } }] }),
    },
    problem: /because of an option: prune is "on"/,
    // It is loaded, and starts nothing.
    registered: false,
  },
  {
    name: "a package that is not installed",
    files: { "project/opencode.json": config({ plugins: ["carryover"] }) },
    problem: /the package carryover is not in OpenCode's cache/,
    registered: false,
  },
  {
    name: "a path where nothing is",
    files: { "project/opencode.json": config({ plugins: ["./nowhere/carryover.js"] }) },
    problem: /there is no .*nowhere\/carryover/,
    registered: false,
  },
  {
    name: "two copies, one in each list",
    files: {
      "project/opencode.json": config({ plugin: ["PLUGIN"], plugins: ["./copy/carryover.js"] }),
      "project/copy/carryover.js": REEXPORT,
    },
    problem: /2 copies are configured/,
    registered: true,
  },
  {
    name: "a pair of a name and options, as version 1 has it, under the key of version 2",
    files: { "project/opencode.json": config({ plugins: [["PLUGIN", { prune: "auto" }]] }) },
    problem: /stands in brackets with its options under `plugins`.*does not read/,
    registered: false,
  },
  {
    name: "a configuration that is broken",
    files: { "project/opencode.json": '{ "plugins": ["carryover" }' },
    problem: /^\S+opencode\.json cannot be read: [^\n]*$/,
    registered: false,
  },
  {
    name: "a cli.json that is broken",
    files: { "project/opencode.json": config({ plugins: ["PLUGIN"] }), [CLI]: '{ "plugins": [' },
    problem: /^\S+cli\.json cannot be read: [^\n]*$/,
    registered: true,
    terminalProblem: /cli\.json cannot be read/,
  },
  {
    name: "a part for the terminal where nothing is",
    files: {
      "project/opencode.json": config({ plugins: ["PLUGIN"] }),
      [CLI]: config({ plugins: ["/nowhere/carryover/dist/tui.js"] }),
    },
    problem: /^the part for the terminal is not there: there is no \/nowhere\/carryover\/dist\/tui\.js$/,
    registered: true,
    terminalProblem: /there is no \/nowhere/,
  },
];
