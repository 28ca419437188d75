import { describe, expect, it } from "vitest";
import { AT_MS, afterEvents, completedFork, runningFork } from "../../test/rig/forks/fork-samples.ts";
import type { ForkRecord } from "../fork/life/record.ts";
import type { RecordedForks } from "../plugin/stores/recorded-forks.ts";
import { currentProcess } from "../stores/files/process-identity.ts";
import { forkLines, listLine, sidebarLines } from "./fork-lines.ts";

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
