import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import { afterAll, describe, expect, it } from "vitest";
import { withOurs, withoutOurs, withoutStatusLine, withStatusLine } from "./claude-code.ts";
import { withKeys, withTrust } from "./codex.ts";
import { copyFolder } from "./plugin-folder.ts";

const root = mkdtempSync(join(tmpdir(), "carryover-install-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const SETTINGS = [
  "{}",
  '{\n    "model":   "sonnet",\n  "env": { "A": "1" }, "list": [1,\n 2]\n}\n',
  '{\n\t"enabledPlugins": { "other@x": true }\n}\n',
];

describe("the user's settings of Claude Code", () => {
  it.each(SETTINGS)("come back byte for byte: %j", (text) => {
    const ours = withOurs(text, { folder: "/f" });
    expect(parse(ours)).toMatchObject({
      enabledPlugins: { "carryover@carryover": true },
      extraKnownMarketplaces: { carryover: { source: { source: "directory", path: "/f" } } },
    });
    expect(withOurs(ours, { folder: "/f" })).toBe(ours);
    expect(withoutOurs(ours)).toBe(text);
  });
});

describe("the status line", () => {
  it.each(SETTINGS)("is set where there is none, and taken out again: %j", (text) => {
    const ours = withStatusLine(text, { folder: "/f" }) ?? "";
    expect(parse(ours).statusLine.command).toBe('node "/f/carryover/report.js" status claude-code');
    expect(withStatusLine(ours, { folder: "/f" })).toBe(ours);
    expect(withoutStatusLine(ours, { folder: "/f" })).toBe(text);
  });

  it("of the user's own stays", () => {
    const theirs = '{ "statusLine": { "type": "command", "command": "date" } }';
    expect(withStatusLine(theirs, { folder: "/f" })).toBeUndefined();
    expect(withoutStatusLine(theirs, { folder: "/f" })).toBe(theirs);
  });
});

describe("the trust of hooks in Codex's configuration", () => {
  const TEXT =
    '# mine\nmodel =   "x"  # keep\n\n[hooks.state."/other:stop:0:0"]\ntrusted_hash = "sha256:1"\n\n[tui]\n a = 1\n';
  const HOOKS = [{ key: "carryover@carryover:hooks/codex.json:stop:0:0", hash: "sha256:2/sha256:3" }];

  it("is added behind everything else, once, and taken out again", () => {
    const trusted = withTrust(TEXT, HOOKS);
    expect(trusted.startsWith(TEXT)).toBe(true);
    expect(trusted).toContain(
      '[hooks.state."carryover@carryover:hooks/codex.json:stop:0:0"]\ntrusted_hash = "sha256:2"\ntrusted_content_hash = "sha256:3"',
    );
    expect(withTrust(trusted, HOOKS)).toBe(trusted);
    expect(withTrust(trusted, []).trim()).toBe(TEXT.trim());
  });
});

it("names the variables of the user's own providers for the server of tools in Codex, once", () => {
  const server = JSON.stringify({
    mcpServers: { carryover: { command: "node", cwd: ".", env_vars: ["CODEX_HOME"] } },
  });
  const settings =
    '[model_providers.a]\nenv_key = "A_KEY"\n[model_providers.b]\n  env_key = \'B_KEY\'\n# env_key = "NO"\n';
  const facts = { settings, program: "/f/mcp.js" };
  const named = withKeys(withKeys(server, facts), facts);
  const carryover = {
    command: "node",
    args: ["/f/mcp.js", "codex"],
    env_vars: ["CODEX_HOME", "A_KEY", "B_KEY"],
  };
  expect(JSON.parse(named)).toEqual({ mcpServers: { carryover } });
});

describe("the plugin folder", () => {
  const folder = join(root, "installed");
  const parts = (): readonly string[] => readdirSync(join(folder, "carryover", "lib")).sort();
  const packaged = (build: string): string => {
    const from = join(root, build);
    mkdirSync(join(from, "carryover", "lib"), { recursive: true });
    writeFileSync(join(from, "carryover", "hook.js"), build);
    writeFileSync(join(from, "carryover", `${build}.md`), build);
    writeFileSync(join(from, "carryover", "lib", `fork-${build}.js`), build);
    return from;
  };
  const makeOlder = (days: number): void => {
    const at = new Date(Date.now() - days * 86_400_000);
    for (const file of ["hook.js", ...parts().map((part) => join("lib", part))])
      utimesSync(join(folder, "carryover", file), at, at);
  };

  it("keeps the parts that a running server of the install before loads, and no older ones", async () => {
    await copyFolder(packaged("one"), folder);
    makeOlder(30);
    await copyFolder(packaged("two"), folder);
    expect(parts()).toEqual(["fork-one.js", "fork-two.js"]);
    expect(readdirSync(join(folder, "carryover")).sort()).toEqual(["hook.js", "lib", "two.md"]);
    await copyFolder(packaged("two"), folder);
    expect(parts()).toEqual(["fork-one.js", "fork-two.js"]);
    await copyFolder(packaged("three"), folder);
    expect(parts()).toEqual(["fork-three.js", "fork-two.js"]);
  });

  it("leaves nothing half-written behind a failure", async () => {
    const from = packaged("four");
    // Its name fits, that of its copy on the way does not.
    writeFileSync(join(from, "carryover", "n".repeat(254)), "");
    const to = join(root, "failed");
    await expect(copyFolder(from, to)).rejects.toThrow();
    expect(readdirSync(root)).not.toContain("failed");
    expect(readdirSync(root).filter((name) => name.endsWith(".new"))).toEqual([]);
  });
});
