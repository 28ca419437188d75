import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SET_UPS, writeSetUp } from "../../../test/rig/opencode/set-ups.ts";
import type { Finding } from "./check.ts";
import { checkProgram, diagnoseOpencode } from "./opencode.ts";

const root = mkdtempSync(join(tmpdir(), "carryover-doctor-"));
const plugin = join(root, "plugin", "carryover.mjs");

// It says what it is, and runs JavaScript as the real one does.
const programs = join(root, "programs");
mkdirSync(programs);
writeFileSync(
  join(programs, "opencode"),
  `#!/bin/sh\ncase "$1" in --version) echo 1.18.33;; *) exec "${process.execPath}" "$@";; esac\n`,
  { mode: 0o755 },
);

/** The plugin as one file, so that any program can load it. */
beforeAll(async () => {
  const bundle = await rolldown({
    input: resolve(import.meta.dirname, "../../server.ts"),
    platform: "node",
    external: ["pg"],
    logLevel: "silent",
  });
  await bundle.write({ file: plugin, format: "esm", codeSplitting: false });
  await bundle.close();
}, 60_000);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const problemsOf = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ level, check }) => level === "problem" && check !== "opencode");

function environment(home: string, more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { PATH: programs, HOME: home, ...more };
}

describe("carryover doctor", () => {
  it.each(SET_UPS)("$name", async (setUp) => {
    const home = mkdtempSync(join(root, "home-"));
    writeSetUp(home, setUp, plugin);
    const findings = await diagnoseOpencode({
      directory: join(home, "project"),
      env: environment(home, setUp.env),
      store: join(home, "store"),
      selfTest: false,
    });
    const problems = problemsOf(findings);
    if (setUp.problem === undefined) expect(problems).toEqual([]);
    else expect(problems.map(({ what }) => what).join("\n")).toMatch(setUp.problem);
    for (const { advice } of problems) expect(advice).toMatch(/\w/);
    expect(findings.some(({ check }) => check === "registered")).toBe(true);
    if (setUp.problem === undefined)
      expect(findings.find(({ check }) => check === "terminal")?.what).toContain("/forks is missing");
  });

  it("sees that the terminal has its part of the plugin", async () => {
    const home = mkdtempSync(join(root, "home-"));
    const list = JSON.stringify({ plugin: ["PLUGIN"] });
    const files = { "project/opencode.json": list, "project/tui.json": list };
    writeSetUp(home, { name: "both", files, registered: true }, plugin);
    const findings = await diagnoseOpencode({
      directory: join(home, "project"),
      env: environment(home),
      store: join(home, "store"),
      selfTest: false,
    });
    expect(findings.find(({ check }) => check === "terminal")).toMatchObject({
      level: "ok",
      what: expect.stringContaining(join(home, "project/tui.json")),
    });
  });

  it.each([
    { name: "a file where the store should be", store: "a-file", problem: /is not a folder/ },
    { name: "a place that cannot be written", store: "/proc/carryover", problem: /cannot be written/ },
    {
      name: "a home that cannot be written",
      store: "/proc/self/home/.local/share",
      problem: /cannot be written/,
    },
  ])("says so of $name", async ({ store, problem }) => {
    const home = mkdtempSync(join(root, "home-"));
    mkdirSync(join(home, "project"));
    writeFileSync(join(home, "a-file"), "");
    const findings = await diagnoseOpencode({
      directory: join(home, "project"),
      env: environment(home),
      store: resolve(home, store),
      selfTest: false,
    });
    expect(findings.find(({ check }) => check === "store")).toMatchObject({
      level: "problem",
      what: expect.stringMatching(problem),
    });
  });
});

describe("the program of OpenCode", () => {
  it.each([
    ["opencode2 v2.0.1", "note", /^OpenCode 2\.0\.1; tried is/],
    ["0.15.3", "problem", /does not load this plugin/],
    ["1.18.33", "ok", /the tested version/],
    ["1.19.0", "note", /tested is/],
  ])("of version %s", async (version, level, what) => {
    const file = join(root, `opencode-${version}`);
    writeFileSync(file, `#!/bin/sh\necho ${version}\n`);
    chmodSync(file, 0o755);
    expect(await checkProgram(file)).toMatchObject({ level, what: expect.stringMatching(what) });
  });

  it("is the one that OPENCODE_BIN names, as everywhere else", async () => {
    const home = mkdtempSync(join(root, "home-"));
    const file = join(home, "my-opencode");
    writeFileSync(file, "#!/bin/sh\necho 1.18.33\n");
    chmodSync(file, 0o755);
    const findings = await diagnoseOpencode({
      directory: home,
      env: { ...environment(home, {}), PATH: "/nowhere", OPENCODE_BIN: file },
      store: join(home, "store"),
      selfTest: false,
    });
    expect(findings.find(({ check }) => check === "opencode")).toMatchObject({ level: "ok" });
  });

  it("that is missing, or says nothing", async () => {
    expect(await checkProgram(undefined)).toMatchObject({ level: "problem" });
    expect(await checkProgram("/dev/null")).toMatchObject({ level: "problem" });
  });
});
