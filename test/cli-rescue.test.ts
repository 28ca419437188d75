import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { placeOf } from "../src/cli/handoff/deliver.ts";
import type { Finding } from "../src/cli/rescue/lines/session-lines.ts";
import { anthropic } from "../src/formats/wires/anthropic/anthropic.ts";
import { writeClaudeCode } from "../src/handoff/writers/session-files.ts";
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
  readonly rescued?: {
    readonly path: string;
    readonly commands: readonly string[];
    readonly cwd: string;
    readonly notice: string;
  };
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

  it("says only what is true of a session that can go on", async () => {
    const path = healthy();
    const forced = await carryover("rescue", path, "--dry-run", "--force");
    expect(forced.stdout).toContain("Without --dry-run, --force writes a new session all the same.");
    appendFileSync(path, '{"type":"user"');
    const { stdout } = await carryover("rescue", path);
    expect(stdout).toContain("None of this keeps it from going on, and nothing was done.");
    expect(stdout).not.toContain("Nothing is wrong");
  });

  it("refuses what it cannot do in a sentence", async () => {
    const path = healthy();
    const refused = async (...args: readonly string[]) => {
      const { status, stderr } = await carryover(...args);
      expect(stderr).not.toContain("fault");
      return `${status} ${stderr}`;
    };
    for (const verb of ["rescue", "handoff"]) {
      const rest = verb === "handoff" ? ["--to", "codex"] : [];
      for (const budget of ["0", "1", "999"])
        expect(await refused(verb, path, ...rest, "--budget", budget)).toMatch(
          /^2 .*Give at least 1000 tokens/,
        );
      expect(await refused(verb, path, ...rest, "--cwd", join(home, "nowhere"))).toMatch(
        /^2 .*no such folder/,
      );
      expect(await refused(verb, path, ...rest, "--cwd", path)).toMatch(/^2 .*It is a file/);
    }
    expect(await refused("handoff", path)).toMatch(/^2 .*\n.*claude-code.*codex.*opencode.*pi/);
    const { rescued } = await report(path, "--budget", "1000");
    expect(readFileSync(rescued?.path ?? "", "utf8")).toContain("free the disk of atlas-4");
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

  it("takes a state that a framework keeps, and names the copy that it wrote", async () => {
    const path = join(home, "chat.json");
    const messages = [
      { role: "user", content: [{ type: "text", text: "Read it." }] },
      { role: "assistant", content: [{ type: "thinking", thinking: "Hm.", signature: "s" }] },
      { role: "user", content: [{ type: "text", text: "And?" }] },
    ];
    const [asked] = anthropic.decode(messages);
    const edit = { type: "hide-message", messageId: asked?.id, stage: "prune", reason: "pruned" };
    const batches = [{ id: "b1", step: "prune", reason: "idle", at: 1, edits: [edit] }];
    writeFileSync(path, JSON.stringify({ state: { v: 2, batches }, messages }));
    const dry = await carryover("rescue", path, "--dry-run");
    expect(dry.stdout).toMatch(/stale-thoughts +a state with 1 step of an earlier version/);
    expect(dry.stdout).toContain("Nothing was written.");
    const written = join(home, "chat.rescued.json");
    expect(await report(path)).toMatchObject({
      status: "rescued",
      session: { format: "session-state", states: 1 },
      rescued: { path: written },
    });
    expect(JSON.parse(readFileSync(written, "utf8"))).toMatchObject({
      state: { thoughts: { bound: [[expect.any(String), expect.any(Number)]] } },
      messages,
    });
    expect((await carryover("rescue", written)).stdout).toContain("Nothing is wrong with it");
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

  it("takes the newest in which something was said, and what is piped in", async () => {
    const env = { HOME: join(home, "newest") };
    const at = join(env.HOME, ".claude", "projects", "-p");
    mkdirSync(at, { recursive: true });
    copyFileSync(healthy(), join(at, "said.jsonl"));
    for (const [index, content] of ["", "\n", '{"type":"summary","summary":"x"}\n'].entries()) {
      const path = join(at, `empty-${index}.jsonl`);
      writeFileSync(path, content);
      utimesSync(path, new Date(), new Date(Date.now() + 60_000));
    }
    const { status, stdout, stderr } = await run(["rescue", "--dry-run"], { env });
    expect(status, stderr).toBe(0);
    expect(stdout).toContain("said.jsonl");
    expect(stderr).toContain("a newer session of Claude Code is passed over");
    const input = readFileSync(healthy());
    const piped = await run(["rescue", "-", "--force"], { env, input });
    expect(piped.stdout).toMatch(
      /Rescued by Carryover from standard input\..*stands only in what was piped in/,
    );
    expect((await run(["recall", "-", "atlas-4"], { env, input })).stdout).toContain(
      "the disk of node atlas-4",
    );
  });

  it("of a rescued session says what was done before, and reads the original again first", async () => {
    const folder = join(home, "a\nb");
    mkdirSync(folder);
    const original = join(folder, "original.jsonl");
    copyFileSync(healthy(), original);
    const once = await report(original, "--force");
    const copy = once.rescued?.path ?? "";
    const { notice = "" } = (await report(copy, "--budget", "2000")).rescued ?? {};
    expect(notice).toMatch(/^\[Rescued by Carryover from session \S+, which is untouched\. Here: .*\]$/);
    expect(notice).toContain(`from session ${copy}, which`);
    expect(notice).toMatch(/ Before that: 4 tool calls with their results\. What is missing/);
    const [, first = "", second = ""] =
      / shell: (.*) '<words to look for, or a handle>', and what was said later: (.*) '<words/.exec(notice) ??
      [];
    const shell = (command: string) =>
      spawnSync("bash", ["-c", `${command} E7731`], {
        env: { ...process.env, HOME: home },
        encoding: "utf8",
      });
    expect(first).toContain("original.jsonl");
    expect(second).toContain(copy);
    for (const command of [first, second])
      expect(shell(command).stdout, command).toContain("the disk of node atlas-4 is full");
  });

  it("says in a sentence what the system does not allow", async () => {
    const path = healthy();
    const file = join(home, "a-file");
    writeFileSync(file, "");
    for (const env of [{ HOME: file }, { HOME: home, CODEX_HOME: file }]) {
      const { status, stderr } = await run(["handoff", path, "--to", "codex"], { env });
      expect(stderr).toMatch(/^error: Cannot use \/.*\n.*CODEX_HOME/);
      expect(status).toBe(2);
    }
  });

  it("says how much memory a session needs that Node may not hold, in place of ending without a word", async () => {
    const large = join(home, "large.jsonl");
    writeFileSync(large, "");
    truncateSync(large, 200 * 2 ** 20);
    const env = { HOME: home, NODE_OPTIONS: "--max-old-space-size=64" };
    for (const args of [
      ["recall", large, "words"],
      ["compact", large, "--local"],
    ]) {
      const { status, stderr } = await run(args, { env });
      expect(status, stderr).toBe(2);
      expect(stderr).toMatch(/large\.jsonl has 200\.0 MB, and Node may use .*max-old-space-size=1024/s);
    }
  });

  it("leaves sessions that purge lists one by one, and removes alone", async () => {
    const path = healthy();
    const ids: string[] = [];
    for (const _ of [1, 2, 3])
      ids.push((await report(path, "--force")).rescued?.commands[0]?.split(" ")[2] ?? "");
    const [first = "", second = "", third = ""] = ids;
    const fileOf = (id: string): string => join(dirname(path), `${id}.jsonl`);
    appendFileSync(fileOf(second), "{}\n");
    const { stdout } = await carryover("purge");
    expect(stdout).toMatch(new RegExp(`${first} .*written for Claude Code +\\d`));
    expect(stdout).toMatch(new RegExp(`${second} .*gone on with: only its note goes`));
    expect((await carryover("purge", "--session", first, "--yes")).status).toBe(0);
    expect((await carryover("purge", "--session", second, "--yes")).status).toBe(0);
    expect(ids.map((id) => existsSync(fileOf(id)))).toEqual([false, true, true]);
    const after = (await carryover("purge")).stdout;
    expect(after).not.toContain(first);
    expect(after).not.toContain(second);
    expect(after).toContain(third);
    expect(await carryover("purge", "--session", first, "--yes")).toMatchObject({ status: 2 });
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

  it("finds what Claude Code keeps in files beside the session", async () => {
    const path = healthy();
    const beside = path.replace(/\.jsonl$/, "");
    mkdirSync(join(beside, "tool-results"), { recursive: true });
    mkdirSync(join(beside, "subagents"));
    writeFileSync(join(beside, "tool-results", "b1.txt"), "first line\nthe quota of petrel-9 is used up\n");
    copyFileSync(healthy(), join(beside, "subagents", "agent-ab12.jsonl"));
    appendFileSync(
      join(beside, "subagents", "agent-ab12.jsonl"),
      `${JSON.stringify({ type: "user", uuid: "u1", parentUuid: null, sessionId: "s", message: { role: "user", content: "heron-3 answered" } })}\n`,
    );
    const output = await carryover("recall", path, "quota", "petrel-9");
    expect(output.stdout).toContain("tool-results/b1.txt");
    expect((await carryover("recall", path, "tool-results/b1.txt", "--range", "2-2")).stdout).toContain(
      "petrel-9",
    );
    expect((await carryover("recall", path, "heron-3")).stdout).toContain("heron-3 answered");
  });

  it("does not take a handle for words: where only its name stands, it says so", async () => {
    const path = healthy();
    const line = { type: "user", uuid: "u9", message: { role: "user", content: "look at msg_01Petrel9" } };
    appendFileSync(path, `${JSON.stringify({ ...line, timestamp: "2026-11-16T10:00:00Z" })}\n`);
    const found = await carryover("recall", path, "msg_01Petrel9");
    expect(found).toMatchObject({ status: 2, stdout: "" });
    expect(found.stderr).toContain("nothing under the handle msg_01Petrel9. It is named in u9/0.");
    expect((await carryover("recall", path, "look", "msg_01Petrel9")).stdout).toContain("look at msg_01Pet");
  });

  it.each([
    { args: ["zebra", "crossing"], says: 'Nothing in the session holds "zebra crossing"' },
    { args: [""], says: "Give words to look for, or a handle" },
    { args: ["x", "--range", "many"], says: "many is no range" },
    { args: ["disk", "full", "--range", "1-2"], says: "--range is a piece of what a handle names" },
    { args: ["disk", "--range", "1-2"], says: "nothing under the handle disk" },
    { args: ["msg_01AbC/2"], says: "nothing under the handle msg_01AbC/2" },
    { args: ["toolu_01XyZ"], says: "nothing under the handle toolu_01XyZ" },
    { args: ["3f2a9c1b…"], says: "nothing under the handle 3f2a9c1b…" },
    { args: ["HANDLE", "--range", "500-600"], says: "lines and 1," },
  ])("says what it cannot give: $args", async ({ args, says }) => {
    const path = healthy();
    const { stdout } = await carryover("recall", path, "E7731");
    const [, handle = ""] = /^(\S+\/\d+) line/m.exec(stdout) ?? [];
    const asked = args.map((arg) => (arg === "HANDLE" ? handle : arg));
    const found = await carryover("recall", path, ...asked);
    expect(found).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining(says) });
  });
});
