import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import { runs } from "../../test/rig/runs.ts";
import { SUMMARY, step, user } from "../../test/rig/session.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import { createSystemClock } from "../stores/system-clock.ts";
import type { Transcript } from "../transcript/message.ts";
import type { SessionEvent } from "./events.ts";
import type { Journal } from "./journal.ts";
import { createSessionLog } from "./log.ts";
import { createPersistJournal } from "./persist.ts";
import { createSession, type Session } from "./session.ts";

const STEPS = 40;
const messages: Transcript = [
  user("u", "Read every file."),
  ...Array.from({ length: STEPS }, (_, index) =>
    step(`s${index}`, `file ${index} ${"words ".repeat(2_000)}`),
  ),
];

/** The same request gets the same summary, in whichever process. */
const numbered = () => createFakeSummarizer((_, __, index) => Promise.resolve(`${SUMMARY} Part ${index}.`));

/** Rows that somebody else keeps, behind a connection that answers, hangs, is slow or fails. */
function connection() {
  const rows: unknown[] = [];
  let mode: "answers" | "hangs" | "slow" | "fails" = "answers";
  const late: (() => void)[] = [];
  return {
    rows,
    now(next: typeof mode): void {
      mode = next;
    },
    /** What was slow has arrived now. */
    arrive(): void {
      for (const land of late.splice(0)) land();
    },
    store(row: unknown): Promise<void> {
      const value: unknown = structuredClone(row);
      if (mode === "fails") return Promise.reject(new Error("connection lost"));
      if (mode === "hangs") return new Promise(() => {});
      if (mode === "answers") return Promise.resolve(void rows.push(value));
      return new Promise((resolve) => late.push(() => resolve(void rows.push(value))));
    },
  };
}

type Connection = ReturnType<typeof connection>;

/** Both ways in which a session's records are kept by code from outside. */
const KEPT = {
  persist: (to: Connection, clock: ReturnType<typeof createFakeClock>): Journal =>
    createPersistJournal(
      { load: () => structuredClone(to.rows), append: (delta) => to.store(delta) },
      { clock },
    ),
  journal: (to: Connection): Journal => ({
    async append(value) {
      await to.store(value);
      return { status: "appended", sequence: to.rows.length };
    },
    read: async () => ({
      entries: to.rows.map((value, sequence) => ({ sequence, writer: "w", value })),
      problems: [],
    }),
  }),
} as const;

const LIMITS = { limits: { contextTokens: 30_000, outputTokens: 1_000 } };
const CODES = { persist: "not-persisted", journal: "not-journalled" } as const;

function open(kept: keyof typeof KEPT, to: Connection, clock = createFakeClock()) {
  const events: SessionEvent[] = [];
  const session = createSession(
    { clock, journal: KEPT[kept](to, clock), summarizer: numbered() },
    { ...LIMITS, onEvent: (event) => events.push(event) },
  );
  const warnings = () => events.filter((event) => event.type === "warning" && event.code === CODES[kept]);
  const play = async (from: number, until: number): Promise<void> => {
    for (let known = from; known <= until; known++) {
      session.observe(messages.slice(0, known));
      await clock.runUntilDone(session.prepare({ moment: "after-turn" }));
    }
  };
  return { session, clock, warnings, play };
}

type Moment = "answers" | "fails" | "hangs" | "slow" | "arrives";
/** A snapshot that comes late, beside another write, and stands behind newer records. */
const LATE_SNAPSHOT: readonly Moment[] = [
  ...Array<Moment>(5).fill("answers"),
  ...(["fails", "fails", "slow"] as const),
  ...Array<Moment>(5).fill("answers"),
  "slow",
];

const bytes = (session: Session): string =>
  JSON.stringify(session.messages(), (key, value: unknown) => (key === "createdAt" ? undefined : value));

/** What the next process shows the model. */
async function shownNext(kept: keyof typeof KEPT, to: Connection, known = messages.length): Promise<string> {
  const { session } = open(kept, to);
  expect(await session.restore(messages.slice(0, known))).toMatchObject({ dropped: 0, unreadable: 0 });
  return bytes(session);
}

describe.each(["persist", "journal"] as const)("a %s", (kept) => {
  it("that hangs for ever holds up one request, for two seconds, in forty steps; every edit is sent, and told once", async () => {
    const to = connection();
    const { session, clock, play, warnings } = open(kept, to);
    await session.restore([]);
    to.now("hangs");
    const startedAt = clock.now();
    await play(1, messages.length);
    expect(clock.now() - startedAt).toBe(2_000);
    const { batches, unsaved } = session.status();
    expect(batches.length).toBeGreaterThan(1);
    expect(unsaved).toEqual(expect.arrayContaining(batches.map(({ id }) => id)));
    expect(warnings()).toHaveLength(1);
    const undisturbed = open(kept, connection());
    await undisturbed.session.restore([]);
    await undisturbed.play(1, messages.length);
    expect(bytes(session)).toBe(bytes(undisturbed.session));
  });

  it.each(["hangs", "fails", "slow"] as const)(
    "that %s for a while is written again at the next boundary, nothing is lost and nothing counts twice",
    async (mode) => {
      const to = connection();
      const { session, play, warnings } = open(kept, to);
      await session.restore([]);
      await play(1, 20);
      to.now(mode);
      await play(21, messages.length - 1);
      expect(session.status().unsaved).not.toEqual([]);
      expect(warnings()).toHaveLength(1);
      to.arrive();
      to.now("answers");
      await play(messages.length - 1, messages.length);
      expect(session.status().unsaved).toEqual([]);
      expect(await shownNext(kept, to)).toBe(bytes(session));
      const before = to.rows.length;
      await session.prepare({ moment: "after-turn" });
      expect(to.rows).toHaveLength(before);
    },
  );

  it("in whatever order it answers, fails, hangs and is late: the next process shows the model the same", async () => {
    const moment = fc.constantFrom<Moment>("answers", "answers", "fails", "hangs", "slow", "arrives");
    const moments = fc.array(moment, {
      minLength: 5,
      maxLength: 15,
    });
    await fc.assert(
      fc.asyncProperty(moments, async (modes) => {
        const to = connection();
        const { session, play, clock } = open(kept, to);
        await session.restore([]);
        let known = 1;
        for (const mode of modes) {
          if (mode === "arrives") to.arrive();
          else to.now(mode);
          await play(known, known + 2);
          known += 2;
        }
        to.now("answers");
        to.arrive();
        // A request without an edit does not wait for what it writes again.
        await clock.advance(2_000);
        await play(known, known);
        await clock.advance(0);
        expect(session.status().unsaved).toEqual([]);
        // What came late may stand behind what it was written again as, and is then written once more.
        await play(known, known);
        expect(await shownNext(kept, to, known)).toBe(bytes(session));
      }),
      { numRuns: runs(30), examples: [[[...LATE_SNAPSHOT]]] },
    );
  });

  it("that is merely slow is waited for again once it answers in time", async () => {
    const to = connection();
    const { session, play, clock, warnings } = open(kept, to);
    await session.restore([]);
    for (const round of [1, 2]) {
      to.now("slow");
      await play((round - 1) * 20 + 1, round * 20 - 1);
      to.arrive();
      to.now("answers");
      await play(round * 20, round * 20);
      await clock.advance(0);
      expect(warnings()).toHaveLength(round);
    }
    expect(await shownNext(kept, to, 40)).toBe(bytes(session));
  });
});

it("no record is written behind one that failed: a snapshot stands for both", async () => {
  const types: string[] = [];
  const journal: Journal = {
    async append(record) {
      types.push((record as { type: string }).type);
      return types.length === 1
        ? { status: "failed", code: "ENOSPC", reason: "full" }
        : { status: "appended", sequence: 1 };
    },
    read: async () => ({ entries: [], problems: [] }),
  };
  const log = createSessionLog({
    ...{ journal, clock: createFakeClock(), onEvent: undefined, store: (batch) => batch },
    snapshot: () => ({ v: 2, type: "snapshot", at: 1, state: { v: 3, batches: [] }, ledger: [] }),
  });
  for (const batchId of ["a", "b", "c"]) log.write({ v: 1, type: "undo", batchId, at: 1 });
  await log.written();
  log.write({ v: 1, type: "undo", batchId: "d", at: 1 });
  await log.written();
  expect(types).toEqual(["undo", "snapshot", "undo"]);
});

it("a persist whose load hangs too holds up no more than one request, for two seconds", async () => {
  const clock = createFakeClock();
  const hang = (): Promise<never> => new Promise(() => {});
  const journal = createPersistJournal({ load: hang, append: hang }, { clock });
  const session = createSession({ clock, journal, summarizer: numbered() }, LIMITS);
  const startedAt = clock.now();
  await clock.runUntilDone(session.restore([]));
  for (let known = 1; known <= messages.length; known++) {
    session.observe(messages.slice(0, known));
    await clock.runUntilDone(session.prepare({ moment: "after-turn" }));
  }
  expect(clock.now() - startedAt).toBe(2_000);
});

it("a persist that hangs on a real clock takes two seconds of forty steps", async () => {
  const clock = createSystemClock();
  const journal = createPersistJournal(
    { load: () => [], append: () => new Promise<never>(() => {}) },
    { clock },
  );
  const session = createSession({ clock, journal, summarizer: numbered() }, LIMITS);
  await session.restore([]);
  const startedAt = performance.now();
  for (let known = 1; known <= messages.length; known++) {
    session.observe(messages.slice(0, known));
    await session.prepare({ moment: "after-turn" });
  }
  expect(session.status().batches.length).toBeGreaterThan(1);
  expect(performance.now() - startedAt).toBeLessThan(4_500);
});

it.each([
  ["hangs", () => new Promise<never>(() => {})],
  ["rejects", () => Promise.reject(new Error("listener"))],
  [
    "throws",
    () => {
      throw new Error("listener");
    },
  ],
])("a listener that %s is never waited for, and is told everything", async (_, fail) => {
  const clock = createFakeClock();
  const seen: string[] = [];
  const session = createSession(
    { clock, journal: createMemoryJournal(), summarizer: numbered() },
    {
      ...LIMITS,
      onEvent(event) {
        seen.push(event.type);
        return fail();
      },
    },
  );
  const startedAt = clock.now();
  for (let known = 1; known <= messages.length; known++) {
    session.observe(messages.slice(0, known));
    await clock.runUntilDone(session.prepare({ moment: "after-turn" }));
  }
  expect(clock.now()).toBe(startedAt);
  expect(seen.filter((type) => type === "context_changed").length).toBeGreaterThan(1);
});
