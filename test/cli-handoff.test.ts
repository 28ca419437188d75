import {
  appendFileSync,
  existsSync,
  mkdirSync,
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
const shop = join(home, "shop");
mkdirSync(shop);
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
  readonly cwd: string;
  readonly source: string;
  readonly notice: string;
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
    ["claude-code", /\/\.claude\/projects\/-[\w-]+-shop\/([0-9a-f-]{36})\.jsonl$/, "claude --resume"],
    [
      "codex",
      /\/\.codex\/sessions\/\d{4}\/\d\d\/\d\d\/rollout-[\dT-]{19}-([0-9a-f-]{36})\.jsonl$/,
      "codex resume",
    ],
    ["pi", /\/\.pi\/agent\/sessions\/--[\w-]+-shop--\/[\dTZ-]+_([0-9a-f-]{36})\.jsonl$/, "pi --session"],
  ])(
    "writes a session for %s in its own place, and names the command that goes on",
    async (to, place, command) => {
      const before = readFileSync(session);
      const { path, commands, calls, results } = await handed("--to", to, "--cwd", shop);
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
    const both = await carryover("handoff", session, "--to", "codex", "--whole", "--budget", "9k");
    expect(both).toMatchObject({ status: 2, stderr: expect.stringContaining("exclude each other") });
  });

  it("warns of a whole that is more than the window, and of nothing that fits", async () => {
    const large = join(home, "large.jsonl");
    const line = (text: string, index: number) => ({
      type: "user",
      uuid: `u${index}`,
      parentUuid: index === 0 ? null : `u${index - 1}`,
      timestamp: "2026-11-16T10:00:00Z",
      sessionId: "large",
      cwd: shop,
      message: { role: "user", content: text },
    });
    const words = Array.from({ length: 60_000 }, (_, word) => `word${word % 97}`).join(" ");
    const lines = Array.from({ length: 12 }, () => words)
      .map(line)
      .map((each) => JSON.stringify(each));
    writeFileSync(large, `${lines.join("\n")}\n`);
    const whole = await carryover("handoff", large, "--to", "codex", "--whole", "--dry-run");
    expect(whole.status, whole.stderr).toBe(0);
    expect(whole.stderr).toMatch(/^warning: [\d,]+ tokens are more than its model takes \(922,000\)$/m);
    const fitted = await carryover("handoff", large, "--to", "codex", "--dry-run");
    expect(fitted).toMatchObject({ status: 0, stderr: "" });
  });

  it("takes a session by its id, names damaged lines, and hands the rest over", async () => {
    const { path } = await handed("--to", "claude-code", "--cwd", shop);
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

  it("goes on in the folder of the session, and says where that is", async () => {
    const made = await handed("--to", "claude-code", "--cwd", shop);
    const { path, cwd } = made;
    expect(cwd).toBe(shop);
    const { status, stdout, stderr } = await carryover("handoff", path, "--to", "codex");
    expect(status, stderr).toBe(0);
    expect(stdout).toContain(`It goes on in ${shop}:\n  cd ${shop} && codex resume `);
    const gone = join(home, "gone.jsonl");
    writeFileSync(gone, readFileSync(path, "utf8").replaceAll(shop, `${shop}-that-was`));
    const other = await carryover("handoff", gone, "--to", "codex", "--json");
    expect(other.stderr).toContain(
      `the folder of the session, ${shop}-that-was, is not there: it goes on in`,
    );
    expect(JSON.parse(other.stdout)).toMatchObject({ cwd: process.cwd() });
    rmSync(path);
  });

  it("hands the user's newest session over, not a copy that nobody has gone on with", async () => {
    const own = join(home, "second");
    const folder = join(own, ".claude/projects/-shop");
    mkdirSync(folder, { recursive: true });
    const original = await handed("--to", "claude-code", "--cwd", shop);
    const file = join(folder, "00000000-0000-4000-8000-000000000000.jsonl");
    writeFileSync(file, readFileSync(original.path));
    rmSync(original.path);
    const env = { HOME: own, OPENCODE_BIN: join(home, "none") };
    const again = async (): Promise<Report> => {
      const { status, stdout, stderr } = await run(["handoff", "--to", "pi", "--json"], { env });
      expect(status, stderr).toBe(0);
      return JSON.parse(stdout) as Report;
    };
    const first = await again();
    const second = await again();
    expect([first.source, second.source]).toEqual([file, file]);
    expect(second.notice.match(/Handed over by Carryover/g)).toHaveLength(1);
    expect(readFileSync(second.path, "utf8").match(/Handed over by Carryover/g)).toHaveLength(1);
    appendFileSync(second.path, "{}\n");
    expect((await again()).source).toBe(second.path);
  });

  it("keeps the calls of a session of the same agent as they are", async () => {
    const name = "f0000000-0000-4000-8000-000000000000.jsonl";
    const file = join(home, name);
    const line = (uuid: string, parentUuid: string | null, role: string, content: unknown) =>
      `${JSON.stringify({ uuid, parentUuid, type: role, sessionId: "f", timestamp: "2026-11-16T10:00:00Z", cwd: shop, message: { role, content } })}\n`;
    const result = { type: "tool_result", tool_use_id: "c", content: "a.ts" };
    writeFileSync(
      file,
      line("1", null, "user", "Look.") +
        line("2", "1", "assistant", [{ type: "tool_use", id: "c", name: "Glob", input: { pattern: "*" } }]) +
        line("3", "2", "user", [{ ...result, content: "a.ts \0\0 b.ts" }]).replaceAll("\\u0000", "\0"),
    );
    const same = await carryover("handoff", file, "--to", "claude-code", "--json");
    const report = JSON.parse(same.stdout) as Report;
    expect(readFileSync(report.path, "utf8")).toContain('"name":"Glob","input":{"pattern":"*"}');
    expect(readFileSync(report.path, "utf8")).toContain("a.ts \u2400 b.ts");
    expect(report.notice).toContain("1 tool call with its result; 1 damaged line read as far as possible.");
    expect(same.stderr).toContain("line 3 is nul-bytes: NUL bytes stand in it; 1 record in it could be read");
  });

  it("says what it would do, and does nothing, with --dry-run", async () => {
    const own = join(home, "dry");
    const env = { HOME: own };
    const { status, stdout, stderr } = await run(["handoff", session, "--to", "pi", "--dry-run"], { env });
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(
      /^\[Handed over by Carryover from OpenCode[\s\S]*Nothing was written. Without --dry-run/,
    );
    expect(existsSync(own)).toBe(false);
    const both = await run(["handoff", session, "--to", "pi", "--dry-run", "--go"], { env });
    expect(both).toMatchObject({ status: 2, stderr: expect.stringContaining("exclude each other") });
  });

  it("warns of a budget above the window, and says in a sentence that a program is missing", async () => {
    const large = await carryover("handoff", session, "--to", "codex", "--budget", "1m", "--dry-run");
    expect(large.stderr).toContain("1,000,000 tokens are more than its model takes (922,000)");
    const env = { HOME: home, PATH: home };
    const go = await run(["handoff", session, "--to", "codex", "--go"], { env });
    expect(go.status).toBe(3);
    expect(go.stderr).toContain("there is no program codex on the PATH");
    expect(go.stderr).not.toContain("ENOENT");
    const named = await run(["handoff", session, "--to", "opencode"], { env });
    expect(named.stderr.match(/OPENCODE_BIN/g)).toHaveLength(1);
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
    const left = await handed("--to", "claude-code", "--cwd", shop);
    const gone = await handed("--to", "pi", "--cwd", shop);
    appendFileSync(left.path, "{}\n");
    const { status, stdout, stderr } = await carryover("purge", "--all", "--yes", "--json");
    expect(status, stdout + stderr).toBe(0);
    expect([existsSync(left.path), existsSync(gone.path)]).toEqual([true, false]);
    expect(existsSync(session)).toBe(true);
  });
});
