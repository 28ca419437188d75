import { describe, expect, it } from "vitest";
import {
  AT_MS,
  afterEvents,
  endedRun,
  OWNER,
  type SampleEvent,
  sampleFork,
  step,
  watchedUntil,
} from "../../../test/rig/forks/fork-samples.ts";
import type { ForkAction } from "./events.ts";
import { currentRun, type ForkRecord, isLive } from "./record.ts";

const error = { kind: "server", message: "500" };
const rateLimit = { kind: "rate_limit", message: "429" };
const aborted = { kind: "aborted", message: "" };
const last = { lastText: "so far", changedFiles: ["a.ts"] };

const queued = sampleFork();
const starting = afterEvents(queued, { type: "slot-given" });
const prompted = afterEvents(starting, { type: "child-created", run: 1, childSessionId: "child" });
const running = afterEvents(prompted, { type: "prompt-accepted", run: 1, prompt: 1, messageId: "m1" });
const asking = afterEvents(running, { type: "permission-asked", askId: "ask1" });
const nudged = afterEvents(
  running,
  { type: "child-checked", run: 1, finding: { type: "finished", text: " ", ...last }, atMs: AT_MS + 1 },
  { type: "prompt-accepted", run: 1, prompt: 2, messageId: "m2" },
);
const wrapping = afterEvents(running, { type: "root-cost-reached" });
const asked = afterEvents(wrapping, { type: "request-started", answered: "a1" });
const stopping = afterEvents(running, { type: "cancel-asked", reason: "not needed" });
const adopted = afterEvents(running, { type: "adopted", owner: { ...OWNER, instanceId: "i2" } });
const completed = afterEvents(running, {
  type: "child-checked",
  run: 1,
  finding: { type: "finished", text: "done", ...last },
});

const STATES: Readonly<Record<string, ForkRecord>> = {
  queued,
  starting,
  prompted,
  running,
  asking,
  nudged,
  wrapping,
  asked,
  stopping,
  adopted,
  completed,
};

const LATER_MS = AT_MS + 10_000;
const EVENTS: Readonly<Record<string, SampleEvent>> = {
  "slot-given": { type: "slot-given" },
  "child-created": { type: "child-created", run: 1, childSessionId: "other" },
  "child-refused": { type: "child-refused", run: 1, error },
  "child-refused 429": { type: "child-refused", run: 1, error: rateLimit },
  "prompt-accepted": { type: "prompt-accepted", run: 1, prompt: 1, messageId: "m1" },
  "prompt-refused": { type: "prompt-refused", run: 1, prompt: 1, error },
  "prompt-refused 429": { type: "prompt-refused", run: 1, prompt: 1, error: rateLimit },
  "status busy": { type: "status", status: "busy" },
  "status retry": { type: "status", status: "retry" },
  "status idle": { type: "status", status: "idle" },
  "child-failed": { type: "child-failed", error },
  "child-deleted": { type: "child-deleted" },
  "finds a report": { type: "child-checked", run: 1, finding: { type: "finished", text: "done", ...last } },
  "finds an empty report": {
    type: "child-checked",
    run: 1,
    finding: { type: "finished", text: "\n", ...last },
  },
  "finds an error": { type: "child-checked", run: 1, finding: { type: "failed", error, ...last } },
  "finds a 429": { type: "child-checked", run: 1, finding: { type: "failed", error: rateLimit, ...last } },
  "finds an abort": { type: "child-checked", run: 1, finding: { type: "failed", error: aborted, ...last } },
  "finds it working": { type: "child-checked", run: 1, finding: { type: "working" } },
  "finds it just stopped": { type: "child-checked", run: 1, finding: { type: "stopped", ...last } },
  "finds it stopped": {
    type: "child-checked",
    run: 1,
    finding: { type: "stopped", ...last },
    atMs: LATER_MS,
  },
  "finds no prompt": { type: "child-checked", run: 1, finding: { type: "unprompted" }, atMs: LATER_MS },
  "finds no child": { type: "child-checked", run: 1, finding: { type: "missing" } },
  "child-stopped": { type: "child-stopped", run: 1, text: "last", changedFiles: [] },
  "tool-called": { type: "tool-called", callId: "c1", hash: "h" },
  "request-started": { type: "request-started", answered: "a1" },
  "request once more": { type: "request-started", answered: "a2" },
  "spent too much": { type: "spent", costUSD: 2, tokens: 1, steps: 1 },
  "root-cost-reached": { type: "root-cost-reached" },
  "permission-asked": { type: "permission-asked", askId: "ask2" },
  "permission-answered": { type: "permission-answered", askId: "ask1" },
  "cancel-asked": { type: "cancel-asked", reason: "no" },
  "resume-asked": { type: "resume-asked", task: "also this", requestId: "r1" },
  "parent-aborted": { type: "parent-aborted" },
  "parent-deleted": { type: "parent-deleted" },
  "tick at once": { type: "tick" },
  "tick after 31 s": { type: "tick", atMs: AT_MS + 31_000 },
  "tick after 20 min": { type: "tick", atMs: AT_MS + 20 * 60_000 },
  adopted: { type: "adopted", owner: { ...OWNER, instanceId: "i3" } },
  "owner-leaving": { type: "owner-leaving" },
};

const CODES: Readonly<Record<ForkAction["type"], string>> = {
  "create-child": "C",
  "send-prompt": "P",
  "look-at-status": "S",
  "check-child": "K",
  "abort-child": "A",
  "reject-permission": "R",
  "fill-slots": "F",
  "plan-delivery": "D",
  toast: "T",
};

/** `=` for a record that stays the same, else its state and what marks it; then the actions, a letter each. */
function cell(before: ForkRecord, event: SampleEvent): string {
  const { record, actions } = step(before, event);
  const run = currentRun(record);
  const marks = isLive(run)
    ? [run.wrapUp && "w", run.stopping && "s", run.adoption && "a"].filter(Boolean).join("")
    : "";
  const number = run.number > 1 ? `#${run.number}` : "";
  const name = record === before ? "=" : `${run.state}${number}${marks && `/${marks}`}`;
  return [name, actions.map(({ type }) => CODES[type]).join("")].filter((text) => text !== "").join(" ");
}

function tableOf(columns: readonly string[]): string {
  const rows = Object.entries(EVENTS).map(([name, event]) => [
    name,
    ...columns.map((column) => cell(STATES[column] ?? queued, event)),
  ]);
  return [["event", ...columns], ...rows]
    .map((row) =>
      row
        .map((text, index) => text.padEnd(index === 0 ? 22 : 18))
        .join("| ")
        .trimEnd(),
    )
    .join("\n");
}

const START_TABLE = `
event                 | queued            | starting          | prompted          | running           | asking
slot-given            | starting CT       | =                 | =                 | =                 | =
child-created         | queued            | starting P        | =                 | =                 | =
child-refused         | =                 | failed FDT        | =                 | =                 | =
child-refused 429     | =                 | queued FF         | =                 | =                 | =
prompt-accepted       | =                 | =                 | running           | =                 | =
prompt-refused        | =                 | =                 | failed FDT        | =                 | =
prompt-refused 429    | =                 | =                 | queued FF         | =                 | =
status busy           | =                 | =                 | running           | =                 | =
status retry          | =                 | =                 | running           | running           | running
status idle           | =                 | =                 | =                 | = K               | = K
child-failed          | =                 | =                 | starting K        | running K         | running K
child-deleted         | =                 | =                 | failed FDT        | failed FDT        | failed FDT
finds a report        | =                 | =                 | completed FDT     | completed FDT     | completed FDT
finds an empty report | =                 | =                 | =                 | running P         | running P
finds an error        | =                 | =                 | failed FDT        | failed FDT        | failed FDT
finds a 429           | =                 | =                 | queued FF         | queued FF         | queued FF
finds an abort        | =                 | =                 | cancelled FDT     | cancelled FDT     | cancelled FDT
finds it working      | =                 | =                 | running           | running           | running
finds it just stopped | =                 | =                 | =                 | =                 | =
finds it stopped      | =                 | =                 | =                 | running P         | running P
finds no prompt       | =                 | =                 | =                 | running P         | running P
finds no child        | =                 | =                 | failed FDT        | failed FDT        | failed FDT
child-stopped         | =                 | =                 | =                 | =                 | =
tool-called           | =                 | =                 | starting          | running           | running
request-started       | =                 | =                 | =                 | =                 | =
request once more     | =                 | =                 | =                 | =                 | =
spent too much        | queued            | starting          | starting/w        | running/w         | running/w
root-cost-reached     | failed FDT        | failed FDT        | starting/w        | running/w         | running/w
permission-asked      | =                 | =                 | starting T        | running T         | running T
permission-answered   | =                 | =                 | =                 | =                 | running
cancel-asked          | cancelled FDT     | cancelled FDT     | starting/s A      | running/s A       | running/s A
resume-asked          | queued            | starting          | starting          | running P         | running P
parent-aborted        | =                 | =                 | =                 | =                 | =
parent-deleted        | cancelled F       | cancelled F       | starting/s A      | running/s A       | running/s A
tick at once          | = F               | =                 | =                 | =                 | =
tick after 31 s       | = F               | starting C        | starting PS       | running S         | running S
tick after 20 min     | = F               | starting C        | starting PS       | running S         | running RS
adopted               | interrupted FDT   | interrupted FDT   | starting/a K      | running/a K       | running/a K
owner-leaving         | interrupted FDT   | interrupted FDT   | interrupted FDT   | interrupted FDT   | interrupted FDT`;

const WORK_TABLE = `
event                 | nudged            | wrapping          | asked             | stopping          | adopted           | completed
slot-given            | =                 | =                 | =                 | =                 | =                 | =
child-created         | =                 | =                 | =                 | =                 | =                 | =
child-refused         | =                 | =                 | =                 | =                 | =                 | =
child-refused 429     | =                 | =                 | =                 | =                 | =                 | =
prompt-accepted       | =                 | =                 | =                 | =                 | =                 | =
prompt-refused        | =                 | =                 | =                 | =                 | =                 | =
prompt-refused 429    | =                 | =                 | =                 | =                 | =                 | =
status busy           | =                 | =                 | =                 | =                 | =                 | =
status retry          | running           | running/w         | running/w         | running/s         | running/a         | =
status idle           | = K               | = K               | = K               | = K               | = K               | =
child-failed          | running K         | running/w K       | running/w K       | running/s K       | running/a K       | =
child-deleted         | failed FDT        | failed FDT        | failed FDT        | cancelled FDT     | failed FDT        | =
finds a report        | completed FDT     | completed FDT     | completed FDT     | cancelled FDT     | completed FDT     | =
finds an empty report | failed FDT        | failed FDT        | failed FDT        | cancelled FDT     | interrupted FDT   | =
finds an error        | failed FDT        | failed FDT        | failed FDT        | cancelled FDT     | failed FDT        | =
finds a 429           | queued FF         | failed FDT        | failed FDT        | cancelled FDT     | interrupted FDT   | =
finds an abort        | cancelled FDT     | cancelled FDT     | cancelled FDT     | cancelled FDT     | interrupted FDT   | =
finds it working      | running           | running/w         | running/w         | running/s         | running           | =
finds it just stopped | =                 | =                 | =                 | cancelled FDT     | interrupted FDT   | =
finds it stopped      | failed FDT        | failed FDT        | failed FDT        | cancelled FDT     | interrupted FDT   | =
finds no prompt       | failed FDT        | failed FDT        | failed FDT        | cancelled FDT     | interrupted FDT   | =
finds no child        | failed FDT        | failed FDT        | failed FDT        | cancelled FDT     | failed FDT        | =
child-stopped         | =                 | =                 | =                 | cancelled FDT     | =                 | =
tool-called           | running           | =                 | =                 | =                 | running/a         | =
request-started       | =                 | running/w         | =                 | =                 | =                 | =
request once more     | =                 | running/w         | running/ws A      | =                 | =                 | =
spent too much        | running/w         | running/w         | running/w         | running/s         | running/a         | completed
root-cost-reached     | running/w         | =                 | =                 | =                 | =                 | =
permission-asked      | running T         | running/w T       | running/w T       | running/s T       | running/a T       | =
permission-answered   | =                 | =                 | =                 | =                 | =                 | =
cancel-asked          | running/s A       | running/ws A      | running/ws A      | =                 | running/sa A      | =
resume-asked          | running P         | =                 | =                 | =                 | =                 | queued#2 F
parent-aborted        | =                 | =                 | =                 | =                 | =                 | =
parent-deleted        | running/s A       | running/ws A      | running/ws A      | running/s         | running/sa A      | completed
tick at once          | =                 | =                 | =                 | =                 | =                 | = D
tick after 31 s       | running S         | running/w S       | running/w S       | running/s AS      | running/a K       | = D
tick after 20 min     | running S         | running/w S       | running/w S       | running/s AS      | running/a K       | = D
adopted               | running/a K       | running/wa K      | running/wa K      | running/sa K      | running/a K       | completed
owner-leaving         | interrupted FDT   | interrupted FDT   | interrupted FDT   | cancelled FDT     | interrupted FDT   | =`;

describe("advanceFork", () => {
  it("answers every event before and while a child works as the table says", () => {
    expect(`\n${tableOf(["queued", "starting", "prompted", "running", "asking"])}`).toBe(START_TABLE);
  });

  it("answers every event towards and after the end as the table says", () => {
    expect(`\n${tableOf(["nudged", "wrapping", "asked", "stopping", "adopted", "completed"])}`).toBe(
      WORK_TABLE,
    );
  });

  const ended: Readonly<Record<string, ForkRecord>> = {
    completed,
    failed: afterEvents(running, { type: "child-deleted" }),
    cancelled: afterEvents(stopping, { type: "child-stopped", run: 1, text: "last", changedFiles: [] }),
    "timed-out": afterEvents(watchedUntil(running, AT_MS + 22 * 60_000), {
      type: "child-stopped",
      run: 1,
      text: "last",
      changedFiles: [],
    }),
    interrupted: afterEvents(adopted, {
      type: "child-checked",
      run: 1,
      finding: { type: "stopped", ...last },
    }),
  };

  it.each(Object.entries(ended))("lets nothing change a run that is %s", (state, record) => {
    const run = endedRun(record);
    expect(run.state).toBe(state);
    for (const event of Object.values(EVENTS)) {
      const now = step(record, event).record.runs[0];
      expect(now).toMatchObject({ state, text: run.text, endedAtMs: run.endedAtMs });
    }
  });

  it("believes nothing about a run that was found out about another", () => {
    const second = afterEvents(
      completed,
      { type: "resume-asked", task: "more", requestId: "r1" },
      { type: "slot-given" },
      { type: "prompt-accepted", run: 2, prompt: 1, messageId: "m3" },
    );
    for (const name of [
      "finds a report",
      "finds an error",
      "finds an abort",
      "finds it stopped",
      "child-stopped",
    ]) {
      const event = EVENTS[name];
      if (event === undefined) throw new Error(name);
      expect(step(second, event)).toEqual({ record: second, actions: [] });
    }
  });

  it("stops a child that a late prompt woke after the end", () => {
    const steered = afterEvents(running, { type: "resume-asked", task: "more", requestId: "r1" });
    const ended = afterEvents(steered, { type: "child-deleted" });
    const late = { type: "prompt-accepted", run: 1, prompt: 2, messageId: "m2" } as const;
    const woken = step(ended, late);
    expect(woken.actions).toEqual([{ type: "abort-child", run: 1 }]);
    expect(step(woken.record, late).actions).toEqual([]);
  });

  it("lets nobody adopt his own fork, or one that somebody else has taken meanwhile", () => {
    const other = { ...OWNER, instanceId: "i2" };
    expect(step(running, { type: "adopted", owner: OWNER }).record).toBe(running);
    expect(step(running, { type: "adopted", owner: other, fromInstanceId: "i0" }).record).toBe(running);
    expect(step(running, { type: "adopted", owner: other, fromInstanceId: "i1" }).record.owner).toEqual(
      other,
    );
  });

  it.each(Object.entries(STATES))("takes the same event twice as once, when %s", (_, record) => {
    for (const [name, event] of Object.entries(EVENTS)) {
      const once = step(record, event).record;
      const twice = step(once, event).record;
      expect({ name, record: twice }).toEqual({ name, record: once });
    }
  });
});

it("a run that lost its count takes what the child's session holds, and never less than it knows", () => {
  const finding = { type: "stopped", ...last } as const;
  const counted = (calls: number) =>
    endedRun(afterEvents(adopted, { type: "child-checked", run: 1, finding, calls })).calls.total;
  expect([counted(7), counted(0)]).toEqual([7, 0]);
  const known = afterEvents(running, { type: "tool-called", callId: "c1", hash: "h" });
  const taken = afterEvents(known, { type: "adopted", owner: { ...OWNER, instanceId: "i2" } });
  const ended = afterEvents(taken, { type: "child-checked", run: 1, finding, calls: 0 });
  expect(endedRun(ended).calls.total).toBe(1);
});
