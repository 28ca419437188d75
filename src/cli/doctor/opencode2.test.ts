import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { writeSetUp } from "../../../test/rig/opencode/set-ups.ts";
import { SET_UPS_2 } from "../../../test/rig/opencode2/set-ups2.ts";
import { diagnoseOpencode } from "./opencode.ts";

const root = mkdtempSync(join(tmpdir(), "carryover-doctor2-"));
const plugin = join(root, "carryover.mjs");
const program = join(root, "opencode2");
writeFileSync(plugin, 'export default { id: "carryover", server() {}, setup() {} };');
// It says what it is, and runs JavaScript as the real one does.
writeFileSync(
  program,
  `#!/bin/sh\ncase "$1" in --version) echo 'opencode2 v2.0.1';; *) exec "${process.execPath}" "$@";; esac\n`,
);
chmodSync(program, 0o755);
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("carryover doctor with OpenCode 2", () => {
  it.each(SET_UPS_2)("$name", async (setUp) => {
    const home = mkdtempSync(join(root, "home-"));
    writeSetUp(home, setUp, plugin);
    const findings = await diagnoseOpencode({
      directory: join(home, "project"),
      env: { PATH: root, HOME: home },
      store: join(home, "store"),
      selfTest: false,
    });
    const problems = findings.filter(({ level }) => level === "problem");
    if (setUp.problem === undefined) expect(problems).toEqual([]);
    else expect(problems.map(({ what }) => what).join("\n")).toMatch(setUp.problem);
    for (const { advice } of problems) expect(advice).toMatch(/\w/);
    // The program was found by its own name.
    expect(findings[0]?.what).toContain(program);
    expect(findings.find(({ check }) => check === "terminal")).toMatchObject({
      level: setUp.terminal ? "ok" : setUp.terminalProblem ? "problem" : "note",
      what: expect.stringMatching(
        setUp.terminalProblem ?? (setUp.terminal ? /the part for the terminal is/ : /named nowhere/),
      ),
    });
    expect(findings.map(({ advice }) => advice).join("\n")).not.toContain("`opencode plugin");
  });

  it("a configuration that only OpenCode 2 reads is judged by its rules where no program is found", async () => {
    const home = mkdtempSync(join(root, "home-"));
    const files = { "project/opencode.json": JSON.stringify({ plugins: ["PLUGIN"] }) };
    writeSetUp(home, { name: "two", files, registered: true }, plugin);
    const findings = await diagnoseOpencode({
      directory: join(home, "project"),
      env: { PATH: "", HOME: home },
      store: join(home, "store"),
      selfTest: true,
    });
    expect(findings.find(({ check }) => check === "opencode")?.advice).toMatch(/version 2: /);
    expect(findings.find(({ check }) => check === "configured")).toMatchObject({ level: "ok" });
    const said = findings.map(({ what, advice }) => `${what} ${advice}`).join("\n");
    expect(said).not.toMatch(/The key is|--no-self-test/);
  });

  it.each([
    { version: "0.0.0-next-20260819", help: "--standalone", what: /tried is/ },
    { version: "0.15.3", help: "--port", what: /does not load this plugin/ },
  ])("a program of $version is known by what it can do: $help", async ({ version, help, what }) => {
    const home = mkdtempSync(join(root, "home-"));
    const file = join(home, "opencode");
    writeFileSync(file, `#!/bin/sh\n[ "$1" = --version ] && echo ${version} || echo "${help}"\n`);
    chmodSync(file, 0o755);
    const [found] = await diagnoseOpencode({
      directory: home,
      env: { PATH: home, HOME: home },
      store: join(home, "store"),
      selfTest: false,
    });
    expect(found?.what).toMatch(what);
  });
});
