import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTranscript } from "../src/formats/read-transcript.ts";
import { buildCli } from "./rig/build-cli.ts";
import { createCliRunner } from "./rig/run-cli.ts";

const home = mkdtempSync(join(tmpdir(), "carryover-handoff-"));
const session = join(import.meta.dirname, "../examples/sessions/opencode-session.json");
let cli = "";
const run = createCliRunner(() => cli);
const carryover = (...args: readonly string[]) => run(args, { env: { HOME: home } });

beforeAll(async () => {
  cli = await buildCli("cli-handoff-unit");
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Report {
  readonly path: string;
  readonly commands: readonly string[];
  readonly calls: number;
  readonly results: number;
}

async function handed(...args: readonly string[]): Promise<Report> {
  const { status, stdout, stderr } = await carryover("handoff", session, ...args, "--json");
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout) as Report;
}

describe("carryover handoff", () => {
  it.each([
    ["claude-code", /\/\.claude\/projects\/-home-you-shop\/([0-9a-f-]{36})\.jsonl$/, "claude --resume"],
    [
      "codex",
      /\/\.codex\/sessions\/\d{4}\/\d\d\/\d\d\/rollout-[\dT-]{19}-([0-9a-f-]{36})\.jsonl$/,
      "codex resume",
    ],
    ["pi", /\/\.pi\/agent\/sessions\/--home-you-shop--\/[\dTZ-]+_([0-9a-f-]{36})\.jsonl$/, "pi --session"],
  ])(
    "writes a session for %s in its own place, and names the command that goes on",
    async (to, place, command) => {
      const before = readFileSync(session);
      const { path, commands, calls, results } = await handed("--to", to, "--cwd", "/home/you/shop");
      const [, id = "none"] = place.exec(path) ?? [];
      expect(commands).toEqual([`${command} ${to === "pi" ? path : id}`]);
      expect(calls).toBe(results);
      const { format, transcript } = await readTranscript(readFileSync(path));
      expect(format).toBe(to);
      expect(transcript.length).toBeGreaterThan(10);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(readFileSync(session).equals(before)).toBe(true);
    },
  );

  it("fits it to a budget, or hands over all of it", async () => {
    const whole = await handed("--to", "codex", "--whole");
    const small = await handed("--to", "codex", "--budget", "5000");
    expect(statSync(small.path).size).toBeLessThan(statSync(whole.path).size / 3);
    expect(readFileSync(small.path, "utf8")).toContain("shortened to fit");
    const both = await carryover("handoff", session, "--to", "codex", "--whole", "--budget", "9");
    expect(both).toMatchObject({ status: 2, stderr: expect.stringContaining("exclude each other") });
  });

  it("takes a session by its id, names damaged lines, and hands the rest over", async () => {
    const { path } = await handed("--to", "claude-code", "--cwd", "/home/you/shop");
    const id = basename(path, ".jsonl");
    const lines = readFileSync(path, "utf8").split("\n");
    const damaged = join(dirname(path), `${id.replace(/^.{8}/, "facade00")}.jsonl`);
    writeFileSync(damaged, [...lines.slice(0, 3), '{"type":"user","mess', ...lines.slice(3)].join("\n"));
    const before = readFileSync(damaged);
    const { status, stdout, stderr } = await carryover("handoff", "facade00", "--to", "pi", "--json");
    expect(status, stderr).toBe(0);
    expect(stderr).toContain("facade00");
    expect(stderr).toContain("line 4 is not-json: Unterminated string");
    const report = JSON.parse(stdout) as Report & {
      source: string;
      problems: readonly string[];
      notice: string;
    };
    expect(report).toMatchObject({ source: damaged, problems: [expect.stringContaining("line 4")] });
    expect(report.notice).toContain("1 damaged line left out");
    expect(report.calls).toBe(report.results);
    expect(report.calls).toBeGreaterThan(20);
    expect(readFileSync(damaged).equals(before)).toBe(true);
    rmSync(damaged);
  });

  it("hands no example over where there is no session", async () => {
    const env = { HOME: join(home, "empty-home"), OPENCODE_BIN: join(home, "none") };
    expect(await run(["handoff", "--to", "pi"], { env })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("There is no session"),
    });
  });

  it("says what is wrong, and writes nothing then", async () => {
    const empty = join(home, "empty.json");
    writeFileSync(empty, JSON.stringify({ info: { id: "ses_1" }, messages: [] }));
    expect(await carryover("handoff", session)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("--to"),
    });
    expect(await carryover("handoff", session, "--to", "emacs")).toMatchObject({ status: 2 });
    expect(await carryover("handoff", join(home, "none"), "--to", "pi")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("there is no such file"),
    });
    expect(await carryover("handoff", empty, "--to", "pi")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("no message that could be handed over"),
    });
    const noOpenCode = await run(["handoff", session, "--to", "opencode"], {
      env: { HOME: home, OPENCODE_BIN: join(home, "none") },
    });
    expect(noOpenCode).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("Is it installed?"),
    });
  });

  it("leaves what purge can remove, but for what somebody has gone on with", async () => {
    const left = await handed("--to", "claude-code", "--cwd", "/home/you/shop");
    const gone = await handed("--to", "pi", "--cwd", "/home/you/shop");
    appendFileSync(left.path, "{}\n");
    const { status, stdout, stderr } = await carryover("purge", "--all", "--yes", "--json");
    expect(status, stdout + stderr).toBe(0);
    expect([existsSync(left.path), existsSync(gone.path)]).toEqual([true, false]);
    expect(existsSync(session)).toBe(true);
  });
});
