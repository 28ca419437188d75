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
import type { ForkRecord } from "./record.ts";

const run = 1;
const send = { type: "delivery-sent", run, way: "prompt" } as const;
const seen = { type: "delivery-seen", run } as const;
const absent = { type: "delivery-absent", run } as const;
const adopt = { type: "adopted", owner: { ...OWNER, instanceId: "i2" } } as const;

const pending = completedFork();
const sent = afterEvents(pending, send);
const STATES: Readonly<Record<string, ForkRecord>> = {
  pending,
  sent,
  unsure: afterEvents(sent, adopt),
  resent: afterEvents(sent, absent, send),
  held: afterEvents(sent, absent, send, absent),
  reading: afterEvents(pending, { ...send, way: "read" }),
  seen: afterEvents(sent, seen),
  kicked: afterEvents(sent, seen, { type: "delivery-kicked", run }),
  acked: afterEvents(sent, seen, { type: "delivery-answered", run }),
};

const EVENTS: Readonly<Record<string, SampleEvent>> = {
  sent: { ...send, atMs: AT_MS + 1 },
  "sent by reading": { ...send, way: "read", atMs: AT_MS + 1 },
  seen: { ...seen, atMs: AT_MS + 1 },
  absent: { ...absent, atMs: AT_MS + 1 },
  kicked: { type: "delivery-kicked", run, atMs: AT_MS + 1 },
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
event           | pending   | sent      | unsure    | resent    | held      | reading   | seen      | kicked    | acked
sent            | sent      | =         | =         | =         | sent!     | =         | =         | =         | =
sent by reading | sent      | =         | =         | =         | sent!     | =         | by read   | by read   | =
seen            | seen      | seen      | seen!     | seen      | seen!     | by read   | =         | =         | =
absent          | =         | pending   | pending!  | pending!  | =         | pending   | =         | =         | =
kicked          | =         | =         | =         | =         | =         | =         | seen      | =         | =
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
