import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { CLAUDE_CODE } from "./claude-code.ts";
import { install, programOf, uninstall } from "./install.ts";

const root = mkdtempSync(join(tmpdir(), "carryover-install-"));
afterAll(() => {
  vi.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

let home: string;
let printed: string;
beforeAll(() => {
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += text;
    return true;
  });
});
beforeEach(() => {
  home = mkdtempSync(join(root, "home-"));
  printed = "";
  write("bin/claude", FAKE_CLAUDE, 0o755);
});

const write = (path: string, text: string, mode = 0o600): void => {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text, { mode });
};
const read = (path: string): string => readFileSync(join(home, path), "utf8");
const folder = (): string => join(home, ".local/share/carryover-agents/claude-code");

/** A package of this version in a home of its own. */
function setup({ version = "1.0.0", config }: { version?: string; config?: string } = {}) {
  write(`package-${version}/carryover/hook.js`, version);
  write(`package-${version}/carryover/.claude-plugin/plugin.json`, JSON.stringify({ version }));
  const env = {
    HOME: home,
    PATH: `${join(home, "bin")}:${dirname(process.execPath)}`,
    ...(config && { CLAUDE_CONFIG_DIR: join(home, config) }),
  };
  return { env, from: join(home, `package-${version}`) };
}

it.each([
  ["pi", "pi install /"],
  ["openclaw", "plugins.slots.contextEngine"],
  ["opencode", "opencode.json"],
  ["vim", "Choose from claude-code, codex, opencode, pi, openclaw."],
])("says what is done instead for %s", (agent, advice) => {
  expect(() => programOf(agent)).toThrow(
    expect.objectContaining({ advice: [expect.stringContaining(advice)] }) as Error,
  );
});

it("leaves the folder to another account that has it", async () => {
  await install(CLAUDE_CODE, {}, setup());
  await install(CLAUDE_CODE, {}, setup({ config: "work" }));
  await install(CLAUDE_CODE, {}, setup({ config: "third" }));
  await uninstall(CLAUDE_CODE, {}, setup({ config: "work" }));
  expect(printed).toContain(
    `Leaves ${folder()}, which is named in ${join(home, ".claude/settings.json")}, ${join(home, "third/settings.json")} too`,
  );
  expect(existsSync(join(home, "work/settings.json"))).toBe(false);
  await uninstall(CLAUDE_CODE, {}, setup());
  expect(existsSync(join(folder(), "carryover/hook.js"))).toBe(true);
  await uninstall(CLAUDE_CODE, {}, setup({ config: "third" }));
  expect(existsSync(folder())).toBe(false);
  expect(existsSync(`${folder()}.used-by.json`)).toBe(false);
  expect(existsSync(dirname(folder())), "nothing around it either").toBe(false);
});

it("leaves no settings behind that it made, and those that were there as they were", async () => {
  await install(CLAUDE_CODE, { statusLine: true }, setup());
  await install(CLAUDE_CODE, {}, setup());
  await uninstall(CLAUDE_CODE, {}, setup());
  expect(existsSync(join(home, ".claude/settings.json"))).toBe(false);
  for (const text of ["{\n}\n", '{"model" :"x",\n\t"env":{ } }', '{\r\n  "a": [1,\r\n 2]\r\n}\r\n']) {
    write(".claude/settings.json", text);
    await install(CLAUDE_CODE, { statusLine: true }, setup());
    await uninstall(CLAUDE_CODE, {}, setup());
    expect(read(".claude/settings.json")).toBe(text);
  }
});

it("keeps what the agent itself has changed meanwhile, and the rest byte for byte", async () => {
  const text = '{"model" :"x",\n\t"env":{"A":"1"} }';
  write(".claude/settings.json", text);
  write("bin/claude", FAKE_CLAUDE.replace("const [, verb", 'settings.theme = "dark";\nconst [, verb'), 0o755);
  await install(CLAUDE_CODE, {}, setup());
  await uninstall(CLAUDE_CODE, {}, setup());
  expect(read(".claude/settings.json")).toMatch(
    /^\{"model" :"x",\n\t"env":\{"A":"1"\},\s*"theme": "dark" ?\}/,
  );
});

it("brings the agent's record to the version that is installed", async () => {
  await install(CLAUDE_CODE, {}, setup());
  expect(read(".claude/record")).toBe("1.0.0");
  await install(CLAUDE_CODE, {}, setup({ version: "1.1.0" }));
  expect(read(".claude/record")).toBe("1.1.0");
});

it.each([
  ["a comment", '{\n  // mine\n  "model": "x"\n}\n', "line 2: a comment"],
  ["a comma too many", '{\n  "model": "x",\n}\n', "line 3"],
  ["no object", "[]", "line 1"],
])("refuses settings with %s, names the line and leaves nothing behind", async (_, text, line) => {
  write(".claude/settings.json", text);
  for (const flags of [{ dryRun: true } as const, {}]) {
    const refused = install(CLAUDE_CODE, flags, setup());
    await expect(refused).rejects.toThrow(`${join(home, ".claude/settings.json")} is not JSON (${line}`);
    await expect(refused).rejects.toMatchObject({ advice: [expect.stringMatching(/\w/)] });
  }
  expect(existsSync(dirname(folder()))).toBe(false);
  expect(read(".claude/settings.json")).toBe(text);
});

it("leaves nothing behind where the agent fails, and shows what it says once", async () => {
  write(
    "bin/claude",
    `${FAKE_CLAUDE}if (verb === "install") { console.error("no room"); process.exit(1); }`,
    0o755,
  );
  const failed = install(CLAUDE_CODE, {}, setup());
  await expect(failed).rejects.toMatchObject({ advice: ["no room"] });
  expect(existsSync(folder())).toBe(false);
  expect(existsSync(`${folder()}.used-by.json`)).toBe(false);
  expect(existsSync(join(home, ".claude/settings.json"))).toBe(false);
});

it("takes our server off the list of those that Claude Code no longer starts", async () => {
  const file = ".claude/mcp-needs-auth-cache.json";
  write(file, JSON.stringify({ "plugin:carryover:carryover": { timestamp: 1 }, other: { timestamp: 2 } }));
  await install(CLAUDE_CODE, {}, setup());
  expect(JSON.parse(read(file))).toEqual({ other: { timestamp: 2 } });
  await uninstall(CLAUDE_CODE, {}, setup());
  expect(printed).toMatch(/open session.*\/reload-plugins/);
});

/** Does to settings and record what the real program does. */
const FAKE_CLAUDE = `#!${process.execPath}
const { mkdirSync, readFileSync, writeFileSync } = require("node:fs");
const config = process.env.CLAUDE_CONFIG_DIR || process.env.HOME + "/.claude";
mkdirSync(config, { recursive: true });
const read = (name, or) => { try { return readFileSync(config + "/" + name, "utf8"); } catch { return or; } };
const settings = JSON.parse(read("settings.json", "{}"));
const [, verb, what, path] = process.argv.slice(2);
const market = settings.extraKnownMarketplaces ??= {};
const plugins = settings.enabledPlugins ??= {};
const known = market.carryover?.source.path;
const version = () => JSON.parse(readFileSync(known + "/carryover/.claude-plugin/plugin.json", "utf8")).version;
if (verb === "marketplace" && what === "add") market.carryover = { source: { source: "directory", path } };
if (verb === "marketplace" && what === "remove") delete market.carryover;
if (verb === "install") plugins["carryover@carryover"] = true;
if (verb === "install" && read("record") === undefined) writeFileSync(config + "/record", version());
if (verb === "update") writeFileSync(config + "/record", version());
if (verb === "uninstall") delete plugins["carryover@carryover"];
for (const key of Object.keys(settings)) if (JSON.stringify(settings[key]) === "{}") delete settings[key];
writeFileSync(config + "/settings.json", JSON.stringify(settings, null, 2));
`;
