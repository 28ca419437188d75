import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import {
  isCarryover,
  parseJsonc,
  readHostConfiguration,
  readTerminalConfiguration,
} from "./configuration.ts";

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function home(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "carryover-config-"));
  made.push(root);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

describe("OpenCode's configuration", () => {
  it("is the user's, then the project's from the outside in, then the environment's", async () => {
    const root = home({
      ".config/opencode/opencode.json": '{"plugin": ["first"], "compaction": {"auto": false, "prune": true}}',
      "opencode.json": '{"plugin": ["not of this project"]}',
      "project/.git/HEAD": "",
      "project/opencode.jsonc": '{"plugin": [["carryover", {"prune": "auto"}],],} // ours',
      "project/deep/.opencode/opencode.json": '{"compaction": {"auto": true}}',
      "project/deep/.opencode/plugin/local.ts": "",
    });
    const { plugins, settings } = await readHostConfiguration({
      directory: join(root, "project/deep"),
      env: { HOME: root, OPENCODE_CONFIG_CONTENT: '{"plugin": ["last"]}' },
    });
    expect(plugins.map(({ spec }) => spec)).toEqual([
      "first",
      "carryover",
      pathToFileURL(join(root, "project/deep/.opencode/plugin/local.ts")).href,
      "last",
    ]);
    expect(plugins[1]?.options).toEqual({ prune: "auto" });
    expect(settings.compaction).toEqual({ auto: true, prune: true });
  });

  it("names a file that cannot be read, and uses the others", async () => {
    const root = home({
      ".config/opencode/opencode.json": "{",
      "project/opencode.json": '{"plugin": ["a"]}',
    });
    const { files, plugins } = await readHostConfiguration({
      directory: join(root, "project"),
      env: { HOME: root },
    });
    expect(files[0]?.problem).toEqual(expect.any(String));
    expect(plugins).toMatchObject([{ spec: "a" }]);
  });

  it.each(["null", "[]", "5", '{"plugin": 5}', '{"plugin": [5, null, []]}'])(
    "takes %s for nothing",
    async (text) => {
      const root = home({ "project/opencode.json": text });
      expect(
        (await readHostConfiguration({ directory: join(root, "project"), env: { HOME: root } })).plugins,
      ).toEqual([]);
    },
  );
});

it.each([
  [
    '{"a": "// no comment, /* none */", /* one */ "b": [1, 2,], } // end',
    { a: "// no comment, /* none */", b: [1, 2] },
  ],
  ['{"a": "quote \\" , }"}', { a: 'quote " , }' }],
])("reads %s", (text, value) => {
  expect(parseJsonc(text)).toEqual(value);
});

it.each([
  ["carryover", true],
  ["carryover@1.2.3", true],
  ["file:///x/carryover/dist/server.js", true],
  ["/x/carryover.mjs", true],
  ["not-carryover", false],
  ["@someone/carryover-theme", false],
])("tells whether %s is this package", (spec, isOurs) => {
  expect(isCarryover({ spec })).toBe(isOurs);
});

it("of the terminal is in tui.json, wherever OpenCode's is and where OPENCODE_TUI_CONFIG says", async () => {
  const root = home({
    ".config/opencode/tui.json": '{"plugin": ["user"]}',
    ".config/opencode/opencode.json": '{"plugin": ["not of the terminal"]}',
    "named.json": '{"plugin": ["named"]}',
    "project/.git/HEAD": "",
    "project/tui.jsonc": '{"plugin": ["project",]} // comment',
    "project/.opencode/tui.json": '{"plugin": ["./node_modules/carryover"]}',
    "project/.opencode/plugin/not-of-the-terminal.ts": "",
    "broken/tui.json": "{",
  });
  const specsIn = async (more: Readonly<Record<string, string>>) => {
    const place = { directory: join(root, "project"), env: { HOME: root, ...more } };
    const { plugins, files } = await readTerminalConfiguration(place);
    return [plugins.map(({ spec }) => spec), files.filter(({ problem }) => problem).length];
  };
  const own = pathToFileURL(join(root, "project/.opencode/node_modules/carryover")).href;
  expect(await specsIn({ OPENCODE_TUI_CONFIG: join(root, "named.json") })).toEqual([
    ["user", "named", "project", own],
    0,
  ]);
  expect(await specsIn({ OPENCODE_DISABLE_PROJECT_CONFIG: "1" })).toEqual([["user"], 0]);
  expect(await specsIn({ OPENCODE_CONFIG_DIR: join(root, "broken") })).toEqual([["user", "project", own], 1]);
});
