import { describe, expect, it } from "vitest";
import {
  AT_MS,
  afterEvents,
  completedFork,
  endedRun,
  OWNER,
  type SampleEvent,
  step,
} from "../../../test/rig/forks/fork-samples.ts";
import { type OutboxView, planDelivery } from "./plan-delivery.ts";
import type { ForkRecord } from "./record.ts";

const send = { type: "delivery-sent", run: 1, way: "prompt" } as const;
const seen = { type: "delivery-seen", run: 1 } as const;
const pending = completedFork();
const held = afterEvents(pending, send, { type: "delivery-absent", run: 1 }, send, {
  type: "delivery-absent",
  run: 1,
});

function plan(record: ForkRecord, view: Partial<OutboxView> & { readonly afterMs?: number } = {}): string {
  const { afterMs = 0, ...rest } = view;
  const { send, look, remind, giveUp, nextAtMs } = planDelivery({
    records: [record],
    instanceId: OWNER.instanceId,
    parentSessionId: "parent",
    parent: { status: "idle" },
    moment: "time",
    nowMs: AT_MS + afterMs,
    ...rest,
  });
  const words = [
    send && `send ${send.way}`,
    look.length > 0 && "look",
    remind.length > 0 && "remind",
    giveUp.length > 0 && "give up",
    nextAtMs !== undefined && `again in ${nextAtMs - AT_MS - afterMs}`,
  ];
  return words.filter((word) => typeof word === "string").join(", ") || "wait";
}

const busy = { status: "busy", sinceMs: AT_MS } as const;

describe("planDelivery", () => {
  it.each<[string, ForkRecord, Parameters<typeof plan>[1], string]>([
    ["waits 250 ms for other results", pending, { afterMs: 100 }, "again in 150"],
    ["prompts an idle parent", pending, { afterMs: 250 }, "send prompt"],
    ["rides on a tool output", pending, { parent: busy, moment: "tool-end" }, "send tool-output"],
    ["goes with the user's message", pending, { moment: "user-message" }, "send user-message"],
    ["leaves a busy parent alone", pending, { parent: busy, afterMs: 59_000 }, "again in 1000"],
    ["prompts a parent that is busy for a minute", pending, { parent: busy, afterMs: 60_000 }, "send prompt"],
    [
      "takes shorter waits",
      pending,
      { parent: busy, afterMs: 4_000, waits: { busyMs: 5_000 } },
      "again in 1000",
    ],
    [
      "leaves a compacting parent alone",
      pending,
      { parent: { status: "compacting" }, afterMs: 99_000 },
      "wait",
    ],
    [
      "does not ride on the tools of a compacting parent",
      pending,
      { parent: { status: "compacting" }, moment: "tool-end" },
      "wait",
    ],
    [
      "does not wake a parent that the user stopped",
      pending,
      { parent: { status: "aborted" }, afterMs: 99_000 },
      "wait",
    ],
    [
      "speaks when the user does, also after a stop",
      pending,
      { parent: { status: "aborted" }, moment: "user-message" },
      "send user-message",
    ],
    ["wakes nobody for a held result", held, { afterMs: 999_000 }, "wait"],
    ["lets a held result ride", held, { parent: busy, moment: "tool-end" }, "send tool-output"],
    ["lets a held result go with the user's message", held, { moment: "user-message" }, "send user-message"],
    ["looks two seconds after sending", afterEvents(pending, send), { afterMs: 500 }, "again in 1500"],
    ["never sends again what was sent", afterEvents(pending, send), { afterMs: 90_000 }, "look"],
    [
      "looks whether it was answered",
      afterEvents(pending, send, seen),
      { afterMs: 1_000 },
      "look, again in 29000",
    ],
    [
      "reminds a parent that does not answer",
      afterEvents(pending, send, seen),
      { afterMs: 30_000 },
      "look, remind",
    ],
    [
      "reminds once, then leaves it to the user",
      afterEvents(pending, send, seen, { type: "delivery-reminded", run: 1 }),
      { afterMs: 30_000 },
      "look, give up",
    ],
    [
      "goes on looking without a reminder",
      afterEvents(
        pending,
        send,
        seen,
        { type: "delivery-reminded", run: 1 },
        { type: "delivery-unanswered", run: 1 },
      ),
      { afterMs: 90_000 },
      "look",
    ],
    [
      "lets a busy parent answer",
      afterEvents(pending, send, seen),
      { parent: busy, afterMs: 99_000 },
      "wait",
    ],
    [
      "is done with what was answered",
      afterEvents(pending, send, seen, { type: "delivery-answered", run: 1 }),
      { afterMs: 99_000 },
      "wait",
    ],
    ["leaves the forks of others to them", pending, { instanceId: "i2", afterMs: 999 }, "wait"],
    ["leaves other parents alone", pending, { parentSessionId: "other", afterMs: 999 }, "wait"],
  ])("%s", (_, record, view, expected) => {
    expect(plan(record, view)).toBe(expected);
  });

  it("looks at once, and wakes nobody, for what a dead owner may have sent", () => {
    const owner = { ...OWNER, instanceId: "i2" };
    const unsure = afterEvents(pending, send, { type: "adopted", owner });
    expect(plan(unsure, { instanceId: "i2" })).toBe("look");
    const lost = afterEvents(unsure, { type: "delivery-absent", run: 1 });
    expect(plan(lost, { instanceId: "i2", afterMs: 999_000 })).toBe("wait");
    expect(plan(lost, { instanceId: "i2", moment: "user-message" })).toBe("send user-message");
  });
});

const run = 1;
const absent = { type: "delivery-absent", run } as const;
const adopt = { type: "adopted", owner: { ...OWNER, instanceId: "i2" } } as const;

const sent = afterEvents(pending, send);
const STATES: Readonly<Record<string, ForkRecord>> = {
  pending,
  sent,
  unsure: afterEvents(sent, adopt),
  resent: afterEvents(sent, absent, send),
  held: afterEvents(sent, absent, send, absent),
  reading: afterEvents(pending, { ...send, way: "read" }),
  seen: afterEvents(sent, seen),
  reminded: afterEvents(sent, seen, { type: "delivery-reminded", run }),
  acked: afterEvents(sent, seen, { type: "delivery-answered", run }),
};

const EVENTS: Readonly<Record<string, SampleEvent>> = {
  sent: { ...send, atMs: AT_MS + 1 },
  "sent by reading": { ...send, way: "read", atMs: AT_MS + 1 },
  seen: { ...seen, atMs: AT_MS + 1 },
  absent: { ...absent, atMs: AT_MS + 1 },
  reminded: { type: "delivery-reminded", run, atMs: AT_MS + 1 },
  unanswered: { type: "delivery-unanswered", run, atMs: AT_MS + 1 },
  answered: { type: "delivery-answered", run, atMs: AT_MS + 1 },
  "parent deleted": { type: "parent-deleted", atMs: AT_MS + 1 },
  adopted: { type: "adopted", owner: { ...OWNER, instanceId: "i9" }, atMs: AT_MS + 1 },
  "for another run": { type: "delivery-answered", run: 7, atMs: AT_MS + 1 },
};

/** `=` for a row that stays, else its state, `!` when it is held, `?` when it must be looked for, and who closed it. */
function cell(record: ForkRecord, event: SampleEvent): string {
  const before = endedRun(record).delivery;
  const { delivery } = endedRun(step(record, event).record);
  if (JSON.stringify(delivery) === JSON.stringify(before)) return "=";
  const marks = `${delivery.isHeld === true ? "!" : ""}${delivery.isUnsure === true ? "?" : ""}`;
  if (delivery.closedBy === "parent-deleted") return "closed";
  return delivery.closedBy === undefined ? `${delivery.state}${marks}` : `by ${delivery.closedBy}`;
}

const TABLE = `
event           | pending   | sent      | unsure    | resent    | held      | reading   | seen      | reminded  | acked
sent            | sent      | =         | =         | =         | sent!     | =         | =         | =         | =
sent by reading | sent      | =         | =         | =         | sent!     | =         | by read   | by read   | =
seen            | seen      | seen      | seen!     | seen      | seen!     | by read   | =         | =         | =
absent          | =         | pending   | pending!  | pending!  | =         | pending   | =         | =         | =
reminded        | =         | =         | =         | =         | =         | =         | seen      | =         | =
unanswered      | =         | =         | =         | =         | =         | =         | seen!     | seen!     | =
answered        | =         | by answer | by answer | by answer | =         | by answer | by answer | by answer | =
parent deleted  | closed    | closed    | closed    | closed    | closed    | closed    | closed    | closed    | =
adopted         | pending!  | sent!?    | =         | sent!?    | =         | sent!?    | seen!     | seen!     | =
for another run | =         | =         | =         | =         | =         | =         | =         | =         | =
`;

describe("the outbox row of a run", () => {
  it("moves as the table says", () => {
    const names = Object.keys(STATES);
    const rows = Object.entries(EVENTS).map(([name, event]) => [
      name,
      ...names.map((state) => cell(STATES[state] ?? pending, event)),
    ]);
    const text = [["event", ...names], ...rows]
      .map((row) =>
        row
          .map((each, index) => each.padEnd(index === 0 ? 16 : 10))
          .join("| ")
          .trimEnd(),
      )
      .join("\n");
    expect(`\n${text}\n`).toBe(TABLE);
  });

  it("is written once for every run, also when the end is reported twice", () => {
    const finding = { type: "finished", text: "again", lastText: "", changedFiles: [] } as const;
    const { record, actions } = step(sent, { type: "child-checked", run: 1, finding });
    expect(record).toBe(sent);
    expect(actions).toEqual([]);
  });

  it("tells the user when a result waits for the next message", () => {
    const resent = afterEvents(sent, absent, send);
    expect(step(resent, absent).actions).toMatchObject([{ type: "toast", tone: "warning" }]);
  });
});
