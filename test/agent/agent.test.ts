import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AgentEvent, MAIN, startAgent } from "./run-agent.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "carryover-agent-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const answerOf = (events: readonly AgentEvent[]): unknown =>
  events.find(({ type }) => type === "answer")?.answer;
const said = (events: readonly AgentEvent[]): string => events.map(({ text = "" }) => text).join("");
/** Runs it once, as in a script. */
const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
    encoding: "utf8",
    input: "",
  });

describe("the agent without a key", () => {
  it("reads, edits, runs, and goes on with the session in the next process", async () => {
    const agent = await startAgent(["--yes"], { folder });
    expect(said(await agent.type("run echo the harbour is open > note.txt"))).toContain("The end of it");
    await agent.type("edit note.txt open => closed");
    expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("the harbour is closed\n");
    expect(readdirSync(folder).filter((name) => name.startsWith("note"))).toEqual(["note.txt"]);
    expect(said(await agent.type("read note.txt"))).toContain("the harbour is closed");
    const context = answerOf(await agent.type("/context"));
    const filledBy = { bash: expect.any(Number), edit: expect.any(Number), read: expect.any(Number) };
    expect(context).toMatchObject({ filledBy });
    const { tokens, filledBy: parts } = context as { tokens: number; filledBy: Record<string, number> };
    expect(Object.values(parts).reduce((sum, each) => sum + each)).toBe(tokens);
    expect(await agent.leave()).toBe(0);
    const next = await startAgent(["--yes", "--continue"], { folder });
    expect(answerOf(await next.type("/context"))).toEqual(context);
    await next.leave();
  });

  it("writes and runs nothing that nobody allowed", async () => {
    const agent = await startAgent([], { folder });
    writeFileSync(join(folder, "note.txt"), "open");
    for (const line of ["run touch made.txt", "edit note.txt open => closed"])
      expect(said(await agent.type(line))).toContain("The user did not allow this");
    expect(readdirSync(folder)).not.toContain("made.txt");
    expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("open");
    await agent.leave();
  });

  it("compacts, recalls what has left, and takes that back in the next process", async () => {
    const agent = await startAgent(["--yes"], { folder });
    await agent.type("run seq 1 30000");
    const compacted = await agent.type("/compact");
    expect(compacted.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["compaction_start", "compaction_end"]),
    );
    expect(answerOf(compacted)).toMatchObject({ step: "compact", outcome: "applied" });
    expect(answerOf(await agent.type("/recall 15432"))).toMatchObject({
      text: expect.stringMatching(/line 15432 of 30000\n.*\n15432: 15432\n/s),
    });
    await agent.leave();
    const next = await startAgent(["--yes", "--continue"], { folder });
    expect(answerOf(await next.type("/context"))).toMatchObject({
      filledBy: { summary: expect.any(Number) },
    });
    expect(answerOf(await next.type("/undo"))).toMatchObject({ status: "undone" });
    expect(answerOf(await next.type("/undo"))).toMatchObject({ status: "undone" });
    expect(answerOf(await next.type("/undo"))).toMatchObject({ status: "nothing" });
    await next.leave();
  });

  it("changes settings for this and the next run, and none that is wrong", async () => {
    const agent = await startAgent([], { folder });
    expect(answerOf(await agent.type("/auto off"))).toMatchObject({ compactAt: "never" });
    expect(answerOf(await agent.type("/set keepTokens 2000"))).toMatchObject({ keepTokens: 2_000 });
    const [wrong] = await agent.type("/set keepToken 5");
    expect(wrong).toMatchObject({
      type: "error",
      message: expect.stringContaining("did you mean keepTokens?"),
    });
    expect((await agent.type("/auto perhaps"))[0]).toMatchObject({ type: "error" });
    await agent.leave();
    const next = await startAgent(["--continue"], { folder });
    expect(answerOf(await next.type("/set"))).toMatchObject({ compactAt: "never", keepTokens: 2_000 });
    await next.leave();
  });

  it("shows what is set for a name without a value, and changes nothing", async () => {
    const agent = await startAgent([], { folder });
    const all = answerOf(await agent.type("/set"));
    expect(all).toEqual({ profile: "default" });
    expect(answerOf(await agent.type("/set profile"))).toEqual({ profile: "default" });
    expect(answerOf(await agent.type("/auto"))).toEqual({ compactAt: "It is not set." });
    expect(answerOf(await agent.type("/set"))).toEqual(all);
    expect(answerOf(await agent.type("/set profile documented"))).toMatchObject({ profile: "documented" });
    await agent.leave();
  });

  it("forks: a child that knows the conversation does a task, and its report is here", async () => {
    const agent = await startAgent(["--yes"], { folder });
    await agent.type("run echo the harbour is open");
    expect(answerOf(await agent.type("/fork run echo done by the child"))).toMatchObject({
      text: "The end of it: done by the child",
    });
    expect(answerOf(await agent.type("/context"))).toMatchObject({ filledBy: { bash: expect.any(Number) } });
    await agent.leave();
    const sessions = readdirSync(join(folder, ".local/state/carryover/agent")).sort();
    expect(sessions).toEqual([sessions[0], expect.stringMatching(new RegExp(`^${sessions[0]}-fork-\\d+$`))]);
    const child = await startAgent(["--yes", "--resume", sessions[1] ?? ""], { folder });
    expect(said(await child.type("recall harbour"))).toContain("Nothing out of sight");
    expect(answerOf(await child.type("/context"))).toMatchObject({ filledBy: { bash: expect.any(Number) } });
    await child.leave();
  });

  it("forks and counts by its profile", async () => {
    const agent = await startAgent(["--yes"], { folder });
    await agent.type("/set profile documented");
    await agent.type("run seq 2000");
    const context = answerOf(await agent.type("/context")) as { filledBy: Record<string, number> };
    expect(Math.abs(context.filledBy["not in these estimates"] ?? Number.NaN)).toBeLessThan(5);
    await agent.type("/fork run echo done by the child");
    await agent.leave();
    const sessions = join(folder, ".local/state/carryover/agent");
    const [, child = ""] = readdirSync(sessions).sort();
    const said = readdirSync(join(sessions, child), { recursive: true, encoding: "utf8" })
      .filter((name) => statSync(join(sessions, child, name)).isFile())
      .map((name) => readFileSync(join(sessions, child, name), "utf8"));
    expect(said.join("")).toContain("0 truncated to 3000 chars");
  });

  it("is interrupted by the first Ctrl-C and left with the second; nothing is left half done", async () => {
    const agent = await startAgent(["--yes"], { folder });
    const called = agent.hear("call");
    const interrupted = agent.type("run echo begun; sleep 60");
    await called;
    await new Promise((resolve) => setTimeout(resolve, 500));
    agent.process.kill("SIGINT");
    const types = (await interrupted).map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(["call", "result", "interrupted", "ready"]));
    agent.process.kill("SIGINT");
    expect(await agent.ended).toBe(130);
    const next = await startAgent(["--yes", "--continue"], { folder });
    expect(said(await next.type("read /dev/null"))).toContain("The end of it");
    await next.leave();
  });
});

describe("what is wrong", () => {
  it.each([
    { args: ["-m", "gpt-5"], says: '"gpt-5" is no model. Give one such as openai/gpt-5, or scripted.' },
    { args: ["-m", "openai/gpt-5"], says: "Set OPENAI_API_KEY to your key, or use --model scripted." },
    { args: ["-m", "acme/x"], says: "For acme/x run first: npm install @ai-sdk/acme" },
    { args: ["--continue"], says: "No such session; there are: none." },
    { args: ["--modle", "x"], says: "Unknown option '--modle'" },
  ])("is said with what to do: $args", ({ args, says }) => {
    const { status, stderr } = run(...args);
    expect(stderr).toContain(says);
    expect(status).toBe(2);
  });

  it("is said about a command too, and the agent goes on", async () => {
    const agent = await startAgent([], { folder });
    expect(await agent.type("/fork")).toMatchObject([
      { message: "Give a task for the child." },
      { type: "ready" },
    ]);
    expect((await agent.type("/contxt"))[0]).toMatchObject({ message: "There is no /contxt; see /help." });
    expect(answerOf(await agent.type("/help"))).toMatchObject({
      text: expect.stringContaining("/recall <text>"),
    });
    await agent.leave();
  });
});

it("prints for people without colours where there is no terminal", () => {
  const { stdout, status } = run("--yes", "run printf 'a\\033[31mred'");
  expect(stdout).toContain("The end of it: ared");
  expect(stdout).not.toContain("\x1b");
  expect(status).toBe(0);
});

it("prints what a child answers once", () => {
  const { stdout } = run("--yes", "/fork run echo done by the child");
  expect(stdout.match(/The end of it: done by the child/g)).toHaveLength(1);
});

it("reads a message that was said long ago no more: a long session does not get slower", async () => {
  // In place of a plain object, to see who reads it.
  let reads = 0;
  const first = {
    role: "user",
    get content() {
      reads++;
      return "the harbour is open";
    },
  };
  const { openAgent } = (await import(join(dirname(MAIN), "agent.mjs"))) as {
    openAgent: (options: object) => Promise<{ say(message: object): Promise<void> }>;
  };
  const model = { specificationVersion: "v3", provider: "none", modelId: "none" };
  const agent = await openAgent({ folder, model, compactionModel: model, tools: {}, emit: () => {} });
  await agent.say(first);
  const readsOfOne = reads;
  for (let turn = 0; turn < 20; turn++) {
    const call = { toolCallId: `call-${turn}`, toolName: "read" };
    await agent.say({ role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] });
    const output = { type: "text", value: "done" };
    await agent.say({ role: "tool", content: [{ type: "tool-result", ...call, output }] });
  }
  expect(reads).toBe(readsOfOne);
});

it("is about 400 lines to copy from", () => {
  const files = readdirSync(dirname(MAIN)).map((name) => readFileSync(join(dirname(MAIN), name), "utf8"));
  expect(files.join("").split("\n").length - 1).toBeLessThanOrEqual(410);
});
