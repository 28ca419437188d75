import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { placeOf } from "../src/cli/handoff/places.ts";
import type { Finding } from "../src/cli/rescue/lines/session-lines.ts";
import { writeClaudeCode } from "../src/handoff/writers/claude-code.ts";
import { type BrokenSession, brokenSessions, talk } from "./rig/agents/broken-sessions.ts";
import { buildCli } from "./rig/build-cli.ts";
import { createCliRunner } from "./rig/run-cli.ts";

const home = mkdtempSync(join(tmpdir(), "carryover-rescue-"));
const project = join(home, "project");
let cli = "";
const run = createCliRunner(() => cli);
const carryover = (...args: readonly string[]) => run(args, { env: { HOME: home } });

beforeAll(async () => {
  mkdirSync(project);
  cli = await buildCli("cli-rescue-unit");
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A session file where its agent would look for it. */
function written(agent: BrokenSession["agent"], content: BrokenSession["content"]): string {
  const head = {
    id: randomUUID(),
    cwd: project,
    at: Date.now(),
    title: "A session",
    newId: () => randomUUID(),
  };
  const { path } = placeOf(agent, { ...head, program: undefined }, { HOME: home });
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content(head));
  return path;
}

const healthy = (): string =>
  written("claude-code", (head) =>
    Buffer.from(
      writeClaudeCode(talk("claude-code", 4_000), head)
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    ),
  );

interface Report {
  readonly status: string;
  readonly findings: readonly Finding[];
  readonly rescued?: { readonly path: string; readonly commands: readonly string[]; readonly cwd: string };
}

async function report(path: string, ...args: readonly string[]): Promise<Report> {
  const { status, stdout, stderr } = await carryover("rescue", path, ...args, "--json");
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout) as Report;
}

const named = (part: string): BrokenSession["content"] => {
  const session = brokenSessions(900_000).find(({ name }) => name.includes(part));
  if (session === undefined) throw new Error(`no broken session is called ${part}`);
  return session.content;
};

describe("carryover rescue", () => {
  it("does nothing to a session that can go on", async () => {
    const path = healthy();
    const { stdout, status } = await carryover("rescue", path);
    expect(status).toBe(0);
    expect(stdout).toContain("Nothing is wrong with it, and nothing was done.");
    expect(await report(path, "--budget", "2000")).toMatchObject({ status: "rescued" });
  });

  it("says what is wrong by line, and writes nothing with --dry-run", async () => {
    const path = written("claude-code", named("cut, zeroed"));
    const { stdout } = await carryover("rescue", path, "--dry-run");
    expect(stdout).toMatch(/damaged-line +line 7 +cut or overwritten: /);
    expect(stdout).toMatch(/damaged-line +line 9 +zeroed: /);
    expect(stdout).toMatch(/Also seen\n +damaged-line +line 13 +not written to its end: /);
    expect(stdout).toContain("Nothing was written.");
    expect(await report(path, "--dry-run")).not.toHaveProperty("rescued");
  });

  it("finds a session by its id, or the newest, and goes on in its folder", async () => {
    const path = healthy();
    const id = /([0-9a-f-]{36})\.jsonl$/.exec(path)?.[1] ?? "";
    const byId = await report(id, "--force");
    expect(byId.rescued).toMatchObject({
      cwd: project,
      commands: [expect.stringMatching(/^claude --resume /)],
    });
    expect(dirname(byId.rescued?.path ?? "")).toBe(dirname(path));
    expect(await carryover("rescue", "no-such-session")).toMatchObject({ status: 2 });
  });

  it("leaves what purge removes, and never the original", async () => {
    const path = healthy();
    const { rescued } = await report(path, "--force");
    expect((await carryover("purge", "--all", "--yes")).status).toBe(0);
    expect(existsSync(rescued?.path ?? "")).toBe(false);
    expect(existsSync(path)).toBe(true);
  });
});

describe("carryover recall", () => {
  it("finds by words what the rescued session no longer holds, and reads it by its handle", async () => {
    const path = written("claude-code", named("longer than the window"));
    const found = await carryover("recall", path, "disk", "of", "node", "atlas-4", "full");
    expect(found.stdout).toContain("ERROR E7731: the disk of node atlas-4 is full");
    const [, handle = ""] = /^(\S+\/\d+) line/m.exec(found.stdout) ?? [];
    const whole = await carryover("recall", path, handle, "--range", "1-1");
    expect(whole.stdout).toContain("ERROR E7731");
    expect(whole.stdout).toContain("cat deploy.log");
  });

  it("says when nothing is found, and what is wrong with a range", async () => {
    const path = healthy();
    expect((await carryover("recall", path, "zebra", "crossing")).stdout).toContain(
      'Nothing in the session holds "zebra crossing"',
    );
    expect(await carryover("recall", path, "x", "--range", "many")).toMatchObject({ status: 2 });
  });
});
