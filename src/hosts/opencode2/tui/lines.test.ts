import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AT_MS, afterEvents, completedFork, runningFork } from "../../../../test/rig/forks/fork-samples.ts";
import type { ForkRecord } from "../../../fork/life/record.ts";
import type { RecordedForks } from "../../../plugin/stores/plugin-stores.ts";
import { currentProcess } from "../../../stores/files/exclusive-access.ts";
import {
  forkLines,
  forkNews,
  forkStates,
  lastStep,
  listLine,
  shortCount,
  sidebarLines,
  statusLine,
  windowFill,
} from "./lines.ts";

const owner = { instanceId: "i1", process: currentProcess(), heartbeatAtMs: AT_MS };
const recorded = (...records: readonly ForkRecord[]): RecordedForks => ({
  records,
  elsewhere: [],
  leases: [],
  problems: [],
});
const asking = (record: ForkRecord): ForkRecord =>
  afterEvents(record, { type: "permission-asked", askId: "per_1", what: "shell ls" });

const ASK = "shell npm run test:everything -- --reporter=verbose --bail";

describe("the lines of forks", () => {
  const question = {
    rootSessionId: "root",
    nowMs: AT_MS + 42_000,
    stepOf: () => "shell grep -n round",
    askOf: () => ASK,
  };

  it("say state, calls, time, cost and the last step, by number, for one conversation", () => {
    const elsewhere = runningFork({ id: "f9", rootSessionId: "another", owner });
    const second = completedFork({ id: "f2", number: 2, title: "write tests", owner });
    const lines = forkLines(recorded(elsewhere, second, runningFork({ owner })), question);
    expect(lines).toEqual([
      {
        title: "#1 find the bug",
        state: "running",
        facts: ["0 calls", "42 s"],
        tone: "running",
        sessionId: "child",
        step: "shell grep -n round",
      },
      {
        title: "#2 write tests",
        state: "completed",
        facts: ["0 calls", "0 s"],
        tone: "ended",
        sessionId: "child",
        step: "The bug is in a.ts:1.",
      },
    ]);
  });

  it("say that one asks, and for what, before anything else, and are cut at their ends", () => {
    const lines = forkLines(recorded(asking(runningFork({ owner }))), question);
    expect(lines).toMatchObject([{ tone: "asks", state: "asks for a permission", step: ASK }]);
    expect(lines.map(sidebarLines)).toEqual([
      ["asks for a permission · 0 calls...", "↳ shell npm run test:everything..."],
    ]);
    expect(lines.map(listLine)).toEqual(["asks for a permission: shell npm run test:everything..."]);
  });

  it("of one at work are its state, what it took, and its last step", () => {
    const lines = forkLines(recorded(runningFork({ owner })), question);
    expect(lines.map(sidebarLines)).toEqual([["running · 0 calls · 42 s", "↳ shell grep -n round"]]);
    expect(lines.map(listLine)).toEqual(["running · 0 calls · 42 s"]);
  });

  it("say that the program of one is gone", () => {
    const gone = { ...owner, process: { ...owner.process, start: "another boot/1" } };
    const [line] = forkLines(recorded(runningFork({ owner: gone })), question);
    expect(line).toMatchObject({ tone: "failed", state: "interrupted: its program is gone" });
  });

  it("say why one failed", () => {
    const record = completedFork({ owner });
    const error = { kind: "other", message: "the provider refused: no credit", retryable: false };
    const runs = record.runs.map((run) => ({ ...run, state: "failed", text: "", error }));
    const [line] = forkLines(recorded({ ...record, runs } as never), question);
    expect(line).toMatchObject({ tone: "failed", step: "the provider refused: no credit" });
  });

  it("have no escape sequence of a model in them", () => {
    const [line] = forkLines(recorded(runningFork({ owner, title: "a\u001b[31m\nb" })), question);
    expect(line?.title).toMatch(/^#1 a\S*\s?b$/);
    expect(line?.title).not.toContain("\u001b");
  });
});

describe("the last step", () => {
  const file = new URL("../../../../test/recordings/opencode2/plain-tools.json", import.meta.url);
  const { messages } = JSON.parse(readFileSync(file, "utf8")) as { readonly messages: readonly unknown[] };

  it.each([
    { of: 2, step: "read README.md" },
    { of: 4, step: "Seen." },
    { of: 1, step: undefined },
  ])("of $of recorded messages is $step", ({ of, step }) => {
    expect(lastStep(messages.slice(0, of))).toBe(step);
  });

  it("of what is not understood is none", () => {
    expect(lastStep([null, 7, { type: "x" }])).toBeUndefined();
  });
});

describe("how full the window is", () => {
  const models = [{ id: "m", providerID: "p", limit: { context: 200_000 } }];
  const answer = (input: number) => ({
    type: "assistant",
    model: { id: "m", providerID: "p" },
    tokens: { input, output: 10, reasoning: 0, cache: { read: 990, write: 0 } },
  });
  it.each([
    {
      name: "by the newest answer",
      messages: [answer(1), answer(9_000)],
      fill: { tokens: 10_000, limitTokens: 200_000 },
    },
    {
      name: "not by one before a compaction",
      messages: [answer(9_000), { type: "compaction" }],
      fill: undefined,
    },
    {
      name: "by one before a compaction that failed",
      messages: [answer(9_000), { type: "compaction", status: "failed" }],
      fill: { tokens: 10_000, limitTokens: 200_000 },
    },
    { name: "unknown before the first answer", messages: [{ type: "user" }], fill: undefined },
  ])("$name", ({ messages, fill }) => {
    expect(windowFill(messages, models)).toEqual(fill);
  });

  it("is said without a share where the limit is not known", () => {
    expect(windowFill([answer(9_000)], [])).toEqual({ tokens: 10_000 });
  });
});

it.each([
  { tokens: 0, running: 0, line: "" },
  { tokens: 41_234, running: 0, line: "41k saved" },
  { tokens: 41_234, running: 2, line: "41k saved · 2 forks" },
])("the status line is $line", ({ tokens, running, line }) => {
  const left = tokens === 0 ? [] : [{ why: "pruned", count: 1, tokens, isStored: true }];
  expect(statusLine({ left, running })).toBe(line);
});

it.each([
  [0, "0"],
  [999, "999"],
  [3_800, "3.8k"],
  [9_949, "9.9k"],
  [9_950, "10k"],
  [41_234, "41k"],
  [1_240_000, "1.2M"],
])("%d is %s in short", (count, short) => {
  expect(shortCount(count)).toBe(short);
});

describe("news of forks", () => {
  const running = runningFork();
  const ended = completedFork();
  const none = new Map();
  it.each([
    {
      name: "one that ended",
      before: forkStates([running]),
      now: ended,
      news: [{ type: "ended", text: "completed" }],
    },
    { name: "one that ended is said once", before: forkStates([ended]), now: ended, news: [] },
    { name: "what ended before is none", before: none, now: ended, news: [] },
    {
      name: "one that began and ended since",
      before: none,
      now: ended,
      sinceMs: AT_MS - 1,
      news: [{ type: "ended", tone: "success" }],
    },
    {
      name: "one that asks",
      before: forkStates([running]),
      now: asking(running),
      news: [{ type: "asks", name: "Fork 1 (find the bug)", sessionId: "child" }],
    },
    {
      name: "a question is said once",
      before: forkStates([asking(running)]),
      now: asking(running),
      news: [],
    },
    { name: "one at work is none", before: none, now: running, news: [] },
  ])("$name", ({ before, now, sinceMs = AT_MS + 1, news }) => {
    const found = forkNews([now], { before, sinceMs });
    expect(found).toHaveLength(news.length);
    expect(found).toMatchObject(news);
  });
});
