import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { parseChecked } from "../../test/rig/check-json.ts";
import { completedFork, OWNER, sampleFork } from "../../test/rig/forks/fork-samples.ts";
import { createTestContext, type TestContext } from "../../test/rig/plugin-context.ts";
import type { NewFork } from "../fork/life/create-fork-record.ts";
import { currentProcess } from "../stores/files/process-identity.ts";
import { createFileRecordStore } from "../stores/files/record-store.ts";
import { forksCommand } from "./forks.ts";

const answer = vi.hoisted(() => ({ now: undefined as object | undefined }));
vi.mock("../plugin/stores/ask-plugin.ts", async (original) => {
  const real = await original<typeof import("../plugin/stores/ask-plugin.ts")>();
  const askPlugin: typeof real.askPlugin = async (request) =>
    (answer.now as Awaited<ReturnType<typeof real.askPlugin>>) ?? real.askPlugin(request);
  return { ...real, askPlugin };
});

afterEach(() => {
  answer.now = undefined;
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const HERE = { ...OWNER, process: currentProcess() };
const GONE = { ...OWNER, process: { ...currentProcess(), pid: 2 ** 22 + 1 } };

async function record({ context }: TestContext, ...forks: readonly Partial<NewFork>[]): Promise<void> {
  for (const [index, fork] of forks.entries()) {
    const store = createFileRecordStore({ root: join(context.folders.forks, `project${index % 2}`) });
    const value = sampleFork(fork);
    await store.put({ id: value.id, value, expected: "missing" });
  }
}

async function run(...args: readonly string[]): Promise<string> {
  const lines: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  await forksCommand()
    .exitOverride()
    .parseAsync([...args], { from: "user" });
  return lines.join("");
}

describe("carryover forks", () => {
  it("lists the forks of all projects, newest first, and tells whose program is gone", async () => {
    const test = createTestContext();
    await record(test, { id: "old", atMs: 1, owner: GONE }, { id: "new", number: 2, atMs: 2, owner: HERE });
    const { forks } = parseChecked("forks", await run("--store", test.folder, "--json"));
    expect(forks).toMatchObject([
      { id: "new", number: 2, isLive: true, state: expect.stringMatching(/^queued for/) },
      { id: "old", isLive: false, state: "interrupted (its program is gone)" },
    ]);
    expect(await run("--store", test.folder)).toMatch(/#2 +find the bug +queued for[\s\S]*\n +#1 /);
  });

  it("says of which project and session each is, so that two of one number are told apart", async () => {
    const test = createTestContext();
    await record(
      test,
      { id: "fk_a", project: "/home/me/app", rootSessionId: "ses_a", owner: HERE, atMs: 2 },
      { id: "fk_b", rootSessionId: "ses_b", owner: HERE, atMs: 1 },
      { id: "fk_c", number: 2, project: "/home/me/app", rootSessionId: "ses_a", owner: HERE, atMs: 0 },
    );
    expect(
      (await run("--store", test.folder)).split("\n").map((line) => line.replace(/find .*/, "…")),
    ).toEqual([
      "/home/me/app, session ses_a",
      "  #1  …",
      "  #2  …",
      "a project that was not noted, session ses_b",
      "  #1  …",
      "",
    ]);
    const { forks } = parseChecked("forks", await run("--store", test.folder, "--json"));
    expect(forks[0]).toMatchObject({ project: "/home/me/app", rootSessionId: "ses_a" });
  });

  it("shows a title, which a model chose, without what a terminal would obey", async () => {
    const test = createTestContext();
    await record(test, { title: "\u001b]0;owned\u0007find\u001b[2J the \u202ebug", owner: HERE });
    expect(await run("--store", test.folder)).toMatch(/#1 +find the bug +queued/);
  });

  it("says so when there are none", async () => {
    expect(await run("--store", createTestContext().folder)).toContain("No forks are recorded");
  });
});

describe("carryover forks open", () => {
  it("finds a fork by its number when it has ended too, one that runs before others", async () => {
    const test = createTestContext();
    const store = createFileRecordStore({ root: join(test.context.folders.forks, "project0") });
    await store.put({ id: "over", value: { ...completedFork(), id: "over" }, expected: "missing" });
    const open = (id: string) => run("open", id, "--store", test.folder);
    await expect(open("1")).rejects.toThrow("Fork over does not run: its OpenCode has ended");
    await record(test, { id: "runs", owner: GONE });
    await expect(open("#1")).rejects.toThrow("Fork runs does not run");
    await record(test, { id: "runs too", owner: GONE });
    await expect(open("1")).rejects.toThrow("2 forks have the number 1");
    await expect(open("9")).rejects.toThrow("No fork is called 9");
    await expect(open("all")).rejects.toThrow("Only one fork can be shown");
  });
});

describe("what the plugin answers", () => {
  it.each([
    { action: "open", outcome: "done", isDone: true },
    { action: "open", outcome: "failed", isDone: false },
    { action: "open", outcome: "nothing", isDone: false },
    { action: "cancel", outcome: "nothing", isDone: true },
    { action: "cancel", outcome: "failed", isDone: false },
  ])("forks $action: $outcome", async ({ action, outcome, isDone }) => {
    const test = createTestContext();
    await record(test, { owner: HERE });
    answer.now = { status: "answered", outcome, text: "So it is." };
    const said = await run(action, "1", "--store", test.folder).catch((error: unknown) => error);
    if (isDone) expect(said).toBe("So it is.\n");
    else expect(said).toMatchObject({ message: "So it is.", exitCode: 2 });
  });
});

describe("carryover forks with a database", () => {
  it("says why it cannot be used, and never shows its address", async () => {
    vi.stubEnv("CARRYOVER_TEST_ADDRESS", "postgres://agent:hidd3n@127.0.0.1:1/db");
    const plugin = [["carryover", { store: "{env:CARRYOVER_TEST_ADDRESS}" }]];
    vi.stubEnv("OPENCODE_CONFIG_CONTENT", JSON.stringify({ plugin }));
    const failed = await run().catch((error: unknown) => error);
    expect(failed).toMatchObject({ message: expect.stringContaining("ECONNREFUSED"), exitCode: 3 });
    expect(String(failed)).not.toContain("hidd3n");
  });

  it("refuses an address with a password where everybody can read it", async () => {
    const failed = await run("--store", "postgres://agent:hidd3n@127.0.0.1:1/db").catch(
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ message: expect.stringContaining("password"), exitCode: 2 });
    expect(String(failed)).not.toContain("hidd3n");
  });
});

describe("carryover forks cancel", () => {
  it.each([
    { name: "without an id", args: ["cancel"], says: "Which fork?" },
    { name: "of one that is not there", args: ["cancel", "9"], says: "No fork that runs is called 9" },
    { name: "of a number that two have", args: ["cancel", "1"], says: "2 forks that run have the number 1" },
    { name: "of one whose OpenCode has ended", args: ["cancel", "a"], says: "its OpenCode has ended" },
    { name: "of something else", args: ["delete", "a"], says: 'There is no "forks delete"' },
  ])("$name is refused with what to do", async ({ args, says }) => {
    const test = createTestContext();
    await record(test, { id: "a", owner: GONE }, { id: "b", owner: GONE });
    await expect(run(...args, "--store", test.folder)).rejects.toThrow(says);
  });

  it("of one that runs, in an agent that looks for no requests, says so", async () => {
    const test = createTestContext();
    await record(test, { id: "a", owner: HERE });
    await expect(run("cancel", "a", "--store", test.folder)).rejects.toThrow(
      "Fork a runs, and its agent takes no requests from here",
    );
  });

  it("all, when none runs, is refused too", async () => {
    await expect(run("cancel", "all", "--store", createTestContext().folder)).rejects.toThrow("No fork runs");
  });
});
