import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { outputFile } from "../src/cli/files/write-file.ts";
import { builtPage } from "./inspector/server-built-page.ts";
import { buildCli } from "./rig/build-cli.ts";

const sample = join(import.meta.dirname, "../examples/sessions/opencode-session.json");
let cli = "";
let folder = "";
let session = "";

beforeAll(async () => {
  builtPage();
  cli = await buildCli();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "carryover-out-"));
  session = join(folder, "session.json");
  copyFileSync(sample, session);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function carryover(args: readonly string[], stdin: number | "ignore" = "ignore") {
  return spawnSync(process.execPath, [cli, ...args], { encoding: "utf8", stdio: [stdin, "pipe", "pipe"] });
}

/** Every command that writes to a file which a flag names. */
const WRITERS = [
  { name: "fork --out", args: (file: string, out: string) => ["fork", file, "--out", out] },
  {
    name: "fork --as messages --out",
    args: (file: string, out: string) => ["fork", file, "--as", "messages", "--out", out],
  },
  {
    name: "compact --local --out",
    args: (file: string, out: string) => ["compact", file, "--local", "--out", out],
  },
  { name: "inspect --html", args: (file: string, out: string) => ["inspect", file, "--html", out] },
  {
    name: "eval --html",
    args: (file: string, out: string) => [
      ...["eval", file, "--policy", "last-N", "--budget", "25k", "--measure", "recall"],
      ...["--probes", "1", "--jobs", "1", "--no-cache", "--html", out],
    ],
  },
] as const;

describe.each(WRITERS)("$name", ({ args }) => {
  it("writes a new file that only its owner can read", () => {
    const out = join(folder, "out");
    carryover(args(session, out));
    expect(statSync(out).size).toBeGreaterThan(0);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(readFileSync(session, "utf8")).toBe(readFileSync(sample, "utf8"));
  });

  it("never replaces the session that it reads, not even with --force", () => {
    const { status, stderr } = carryover([...args(session, session), "--force"]);
    expect(status).toBe(2);
    expect(stderr).toContain("is the session that is read");
    expect(readFileSync(session, "utf8")).toBe(readFileSync(sample, "utf8"));
  });

  it("replaces a file that exists only with --force", () => {
    const out = join(folder, "out");
    writeFileSync(out, "precious");
    const refused = carryover(args(session, out));
    expect(refused.status).toBe(2);
    expect(refused.stderr).toMatch(/exists already; it was left as it is\n.*--force/);
    expect(readFileSync(out, "utf8")).toBe("precious");
    carryover([...args(session, out), "--force"]);
    expect(readFileSync(out, "utf8")).not.toBe("precious");
  });
});

describe("the rule that all of them ask", () => {
  const check = (path: string) =>
    outputFile("--out", path, { inputs: [session], force: true }).then(
      () => "written",
      (error: Error) => error.message,
    );

  it.each([
    { name: "another spelling", at: () => join(folder, ".", "x", "..", "session.json") },
    {
      name: "a second name of the same file",
      at: () => {
        linkSync(session, join(folder, "second"));
        return join(folder, "second");
      },
    },
  ])("knows the session that is read under $name", async ({ at }) => {
    mkdirSync(join(folder, "x"));
    expect(await check(at())).toContain("is the session that is read");
  });

  it.each([
    { name: "a link", make: (at: string) => symlinkSync(session, at) },
    { name: "a dangling link", make: (at: string) => symlinkSync(`${at}-none`, at) },
    { name: "a pipe", make: (at: string) => void execFileSync("mkfifo", [at]) },
    { name: "a folder", make: (at: string) => mkdirSync(at) },
  ])("refuses $name, also with --force", async ({ name, make }) => {
    const out = join(folder, "out");
    make(out);
    expect(await check(out)).toContain(name.replace("dangling ", ""));
  });

  it("refuses a device, and takes a name that is free", async () => {
    expect(await check("/dev/null")).toContain("is a device");
    expect(await check(join(folder, "free"))).toBe("written");
  });
});

it("knows the session that the shell redirects to standard input", () => {
  const stdin = openSync(session, "r");
  const { status, stderr } = carryover(["fork", "-", "--out", session, "--force"], stdin);
  expect(status).toBe(2);
  expect(stderr).toContain("is the session that is read");
  expect(readFileSync(session, "utf8")).toBe(readFileSync(sample, "utf8"));
});
