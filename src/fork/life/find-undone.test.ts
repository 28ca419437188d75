import { expect, it } from "vitest";
import { afterEvents, completedFork, runningFork } from "../../../test/rig/forks/fork-samples.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { findUndone } from "./find-undone.ts";
import type { ForkRecord } from "./record.ts";

const askedBy = { messageId: "m1", callId: "c1" };
const LAUNCH: Message = {
  id: "m1",
  role: "assistant",
  parts: [
    {
      type: "tool",
      callId: "c1",
      tool: "fork",
      input: {},
      outcome: { status: "done", output: "", attachments: [] },
    },
  ],
};
const RESULT: Message = {
  id: "m2",
  role: "user",
  parts: [{ type: "text", text: '<fork_result delivery="f1.1" fork="1">' }],
};

const live = runningFork({ askedBy });
const pending = completedFork({ askedBy });
const delivered = afterEvents(
  pending,
  { type: "delivery-sent", run: 1, way: "prompt" },
  { type: "delivery-answered", run: 1 },
);
const launchUndone = afterEvents(live, { type: "launch-undone", run: 1 });
const resultUndone = afterEvents(delivered, { type: "delivery-undone", run: 1 });

it.each<{ name: string; record: ForkRecord; standing: Transcript; undone: Transcript; events: string }>([
  { name: "all stands", record: delivered, standing: [LAUNCH, RESULT], undone: [], events: "" },
  { name: "the launch is undone", record: live, standing: [], undone: [LAUNCH], events: "launch-undone" },
  { name: "it knows that", record: launchUndone, standing: [], undone: [LAUNCH], events: "" },
  {
    name: "the launch is back",
    record: launchUndone,
    standing: [LAUNCH],
    undone: [],
    events: "launch-restored",
  },
  { name: "the launch is gone", record: launchUndone, standing: [], undone: [], events: "launch-gone" },
  { name: "gone without a sign of it", record: pending, standing: [], undone: [], events: "launch-gone" },
  {
    name: "the result is undone",
    record: delivered,
    standing: [LAUNCH],
    undone: [RESULT],
    events: "delivery-undone",
  },
  { name: "it is known", record: resultUndone, standing: [LAUNCH], undone: [RESULT], events: "" },
  {
    name: "the result is back",
    record: resultUndone,
    standing: [LAUNCH, RESULT],
    undone: [],
    events: "delivery-restored",
  },
  {
    name: "the result is gone",
    record: resultUndone,
    standing: [LAUNCH],
    undone: [],
    events: "delivery-gone",
  },
  {
    name: "both are undone",
    record: delivered,
    standing: [],
    undone: [LAUNCH, RESULT],
    events: "launch-undone delivery-undone",
  },
  { name: "both are gone", record: resultUndone, standing: [], undone: [], events: "launch-gone" },
  {
    name: "a result that was not seen to be undone",
    record: delivered,
    standing: [LAUNCH],
    undone: [],
    events: "",
  },
  {
    name: "another call of that message",
    record: live,
    standing: [{ ...LAUNCH, parts: [] }],
    undone: [LAUNCH],
    events: "launch-undone",
  },
  { name: "a call that the host did not name", record: runningFork(), standing: [], undone: [], events: "" },
])("an undo and its forks: $name", ({ record, standing, undone, events }) => {
  const found = findUndone({ records: [record], standing, undone });
  expect(found.map(({ event }) => event.type).join(" ")).toBe(events);
});

it("does not bring again what was undone together with its launch, also where the agent shows only its window", () => {
  const after = (record: ForkRecord, undone: Transcript): ForkRecord =>
    afterEvents(
      record,
      ...findUndone({ records: [record], standing: [], undone, isPartial: true }).map(({ event }) => event),
    );
  const undone = after(delivered, [LAUNCH, RESULT]);
  const gone = after(undone, []);
  expect(gone.runs[0]).toMatchObject({ undone: "gone", delivery: { state: "acked", closedBy: "answer" } });
  // Read again with fork_result, in a message that is undone too.
  expect(after(after(gone, [RESULT]), [])).toEqual(gone);
});

it("takes a launch for gone that the agent does not show only if it was taken back before", () => {
  const events = (record: ForkRecord, isPartial?: true) =>
    findUndone({ records: [record], standing: [], undone: [], isPartial }).map(({ event }) => event.type);
  expect(events(live)).toEqual(["launch-gone"]);
  expect(events(live, true)).toEqual([]);
  expect(events(launchUndone, true)).toEqual(["launch-gone"]);
});
