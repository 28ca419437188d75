import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildCli } from "./rig/build-cli.ts";
import { createCliRunner } from "./rig/run-cli.ts";

let cli = "";
const carryover = createCliRunner(() => cli);

/** The shells that must be installed, so that no verdict depends on which happen to be: `CARRYOVER_SHELLS="bash zsh fish"`. */
const shells = (process.env.CARRYOVER_SHELLS ?? "bash").split(" ");
const parseOnly: Readonly<Record<string, readonly string[]>> = {
  bash: ["--norc", "-n"],
  zsh: ["-f", "-n"],
  fish: ["--no-config", "--no-execute"],
};

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
  it.runIf(shells.includes("bash")).each([
    { words: ["carryover", "co"], expected: ["compact", "cost", "completion"] },
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
  });

  it.for(Object.keys(parseOnly))("is a script that %s can parse", async (shell, { skip }) => {
    if (!shells.includes(shell)) skip(`${shell} is not in CARRYOVER_SHELLS`);
    const { stdout } = await carryover(["completion", shell]);
    // From a file: fish does not read a script from the kind of socket that Node gives it as its input.
    const script = join(mkdtempSync(join(tmpdir(), "carryover-completion-")), "script");
    writeFileSync(script, stdout);
    const { status, stderr } = spawnSync(shell, [...(parseOnly[shell] ?? []), script], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it("knows three shells", async () => {
    const { status, stderr } = await carryover(["completion", "cmd"]);
    expect(status).toBe(2);
    expect(stderr).toContain("Allowed choices are bash, zsh, fish");
  });
});
