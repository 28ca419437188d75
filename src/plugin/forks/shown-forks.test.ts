import { expect, it } from "vitest";
import { AT_MS, afterEvents, OWNER, runningFork } from "../../../test/rig/forks/fork-samples.ts";
import type { ForkRecord } from "../../fork/life/record.ts";
import { opencodeTools } from "../../hosts/opencode/tools.ts";
import type { ShownPiece } from "../host/host-parts.ts";
import { createShownForks } from "./shown-forks.ts";

function startShowing() {
  const pieces: ShownPiece[] = [];
  let nowMs = AT_MS;
  const shown = createShownForks({
    show: (piece) => void pieces.push(piece),
    now: () => nowMs,
    host: { directory: "/project", tools: opencodeTools },
  });
  return {
    pieces,
    step: (tool: string, input: unknown) =>
      shown.step(askedFork().id, { sessionId: "ses_2", callId: "call_9", tool, input }),
    update(record: ForkRecord, afterMs = 0) {
      nowMs = AT_MS + afterMs;
      shown.update(record);
    },
  };
}

const askedFork = (): ForkRecord => runningFork({ askedBy: { messageId: "msg_1", callId: "call_1" } });

const ended = (text: string): ForkRecord =>
  afterEvents(askedFork(), {
    type: "child-checked",
    run: 1,
    finding: { type: "finished", text, lastText: text, changedFiles: [] },
    atMs: AT_MS + 9_000,
  });

it("a fork that runs is shown below the call that started it, with calls, time and cost", () => {
  const { pieces, update } = startShowing();
  update(askedFork(), 5_000);
  expect(pieces).toMatchObject([
    {
      type: "child",
      callId: "call_1",
      name: "fork 1",
      state: "running",
      text: "find the bug · 0 calls · 5 s",
      childSessionId: expect.any(String),
    },
  ]);
});

it("is shown again when something changed, and not more often than every second and a half", () => {
  const { pieces, update } = startShowing();
  for (let ms = 5_000; ms < 11_000; ms += 500) update(askedFork(), ms);
  expect(pieces).toHaveLength(4);
  update(askedFork(), 11_000);
  update(askedFork(), 11_000);
  expect(pieces).toHaveLength(5);
});

it.each([
  {
    tool: "bash",
    input: { command: "npm test\n  --silent", description: "Test" },
    says: "bash npm test --silent",
  },
  { tool: "read", input: { filePath: "/project/src/a.ts" }, says: "read src/a.ts" },
  { tool: "write", input: { content: "x".repeat(9_000), filePath: "/project/b.ts" }, says: "write b.ts" },
  { tool: "grep", input: { limit: 3, pattern: "y".repeat(90) }, says: `grep ${"y".repeat(44)}…` },
  { tool: "mcp_list", input: undefined, says: "mcp_list" },
])("the line of a fork that runs ends with its last step: $says", ({ tool, input, says }) => {
  const { pieces, update, step } = startShowing();
  step("glob", { pattern: "*.ts" });
  step(tool, input);
  update(askedFork(), 5_000);
  expect(pieces).toMatchObject([{ text: `find the bug · 0 calls · 5 s · ${says}` }]);
  update(ended("Done."), 9_000);
  expect(pieces[1]).toMatchObject({ text: "find the bug · completed · 0 calls · 9 s" });
});

it("one that asks for a permission says so in its line", () => {
  const { pieces, update } = startShowing();
  update(afterEvents(askedFork(), { type: "permission-asked", askId: "a1", atMs: AT_MS }), 4_000);
  expect(pieces[0]).toMatchObject({ text: "find the bug · asks for a permission · 0 calls · 4 s" });
});

it("at its end the line says how it went, and the report can be read, once", () => {
  const { pieces, update } = startShowing();
  update(askedFork(), 4_000);
  update(ended("It was the cat.\nAnd the dog."), 9_000);
  update(ended("It was the cat.\nAnd the dog."), 10_000);
  expect(pieces.slice(1)).toMatchObject([
    { type: "child", state: "ended", text: "find the bug · completed · 0 calls · 9 s" },
    {
      type: "text",
      text: "**Carryover: Fork 1 (find the bug) completed**\n\n> It was the cat.\n> And the dog.",
    },
  ]);
});

it("of a long report both ends are shown, and what is missing is counted in the whole", () => {
  const { pieces, update } = startShowing();
  update(askedFork(), 4_000);
  update(ended(`Begin. ${"x".repeat(59_000)} End.`), 9_000);
  const report = pieces.find(({ type }) => type === "text")?.text ?? "";
  const [, missing = ""] = /truncated (\d+) chars/.exec(report) ?? [];
  expect(report.length).toBeLessThan(4_000);
  expect(Number(missing)).toBeGreaterThan(56_000);
});

it("what had ended before is left alone", () => {
  const { pieces, update } = startShowing();
  update(ended("Long ago."), 9_000);
  expect(pieces).toEqual([]);
});

it("a fork of which nobody knows the call has a report, and no line", () => {
  const { pieces, update } = startShowing();
  update(runningFork(), 4_000);
  expect(pieces).toEqual([]);
});

it("time in which no program looked after it is not shown as its own", () => {
  const { pieces, update } = startShowing();
  update(askedFork(), 5_000);
  const owner = { ...OWNER, instanceId: "i2" };
  update(afterEvents(askedFork(), { type: "adopted", owner, atMs: AT_MS + 60_000 }), 62_000);
  expect(pieces.at(-1)).toMatchObject({ text: "find the bug · 0 calls · 2 s" });
});
