import { spawnSync } from "node:child_process";
import { beforeAll, describe, expect, it } from "vitest";
import { buildCli } from "./rig/build-cli.ts";
import { createCliRunner } from "./rig/run-cli.ts";

let cli = "";
const carryover = createCliRunner(() => cli);
const isThere = (shell: string) => spawnSync(shell, ["--version"]).status === 0;

beforeAll(async () => {
  cli = await buildCli("cli-completion");
});

async function completed(words: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await carryover(["completion", "bash"]);
  const line = words.map((word) => `'${word}'`).join(" ");
  const ask = `${stdout}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _carryover; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return spawnSync("bash", ["--norc", "-c", ask], { encoding: "utf8" }).stdout.trim().split("\n");
}

describe("carryover completion", () => {
  it.skipIf(!isThere("bash")).each([
    { words: ["carryover", "co"], expected: ["compact", "completion"] },
    { words: ["carryover", "fork", "--a"], expected: ["--as"] },
    { words: ["carryover", "fork", "--as", "m"], expected: ["messages"] },
    { words: ["carryover", "completion", "z"], expected: ["zsh"] },
    { words: ["carryover", "inspect", "package.js"], expected: ["package.json"] },
  ])("completes $words in bash", async ({ words, expected }) => {
    expect(await completed(words)).toEqual(expected);
  });

  it.each(["bash", "zsh", "fish"])("gives %s every command and option that help shows", async (shell) => {
    const { status, stdout } = await carryover(["completion", shell]);
    expect(status).toBe(0);
    for (const command of ["inspect", "fork", "compact", "stats", "eval", "completion"])
      expect(stdout).toMatch(new RegExp(`\\b${command}\\b`));
    expect(stdout).toMatch(shell === "fish" ? /-l key-env / : /--key-env\b/);
    expect(stdout).not.toContain("--worker");
    if (isThere(shell)) expect(spawnSync(shell, ["-n"], { input: stdout }).status).toBe(0);
  });

  it("knows three shells", async () => {
    const { status, stderr } = await carryover(["completion", "cmd"]);
    expect(status).toBe(2);
    expect(stderr).toContain("Allowed choices are bash, zsh, fish");
  });
});
