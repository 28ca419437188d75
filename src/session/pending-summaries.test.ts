import { describe, expect, it } from "vitest";
import { createSession } from "../../test/rig/engine-session.ts";
import { createFakeClock, createFakeSummarizer, type FakeClock } from "../../test/rig/fakes.ts";
import { answer, step, user } from "../../test/rig/session.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import type { Transcript } from "../transcript/message.ts";
import type { Journal } from "./journal.ts";
import type { Session } from "./session.ts";

const SECRET = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;

/** Fourteen results, of which four are too many. */
const LOOP: Transcript = [
  user("u", "go"),
  ...Array.from({ length: 14 }, (_, at) => step(`s${at}`, `line ${at}`)),
];

/** The summarizer needs a second of the fake clock. */
function open({ journal = createMemoryJournal(), clock = createFakeClock() }: Setting = {}): Opened {
  const summarizer = createFakeSummarizer(async (_, { signal }) => {
    await clock.sleep(1_000, signal);
    return `All tests passed. ${SECRET}`;
  });
  const session = createSession(
    { clock, journal, summarizer },
    {
      limits: { contextTokens: 200_000, outputTokens: 8_000 },
      // In the default profile summaries have to be asked for.
      compaction: { toolSummaryStrategy: "llm", toolSummaryMode: "background" },
    },
  );
  return { session, clock, journal, calls: summarizer.calls };
}

interface Setting {
  readonly journal?: Journal;
  readonly clock?: FakeClock;
}

interface Opened extends Required<Setting> {
  readonly session: Session;
  readonly calls: readonly unknown[];
}

const summaries = (session: Session): number =>
  session.messages().filter(({ metadata }) => metadata?.kind === "tool_summary").length;

async function started(): Promise<Opened> {
  const opened = open();
  opened.session.observe(LOOP);
  await opened.session.prepare();
  expect(summaries(opened.session)).toBe(0);
  return opened;
}

describe("tool summaries that are on their way", () => {
  it("are in the state and in the journal, and again with their answer", async () => {
    const { session, clock, journal } = await started();
    const results = [0, 1, 2, 3].map((at) => ({
      messageId: `s${at}`,
      partIndex: 0,
      callId: `s${at}-call`,
      tool: "bash",
    }));
    expect(session.toJSON().pendingSummaries).toEqual([{ results }]);
    await clock.advance(1_000);
    const [pending] = session.toJSON().pendingSummaries ?? [];
    expect(pending).toMatchObject({ results, answer: expect.stringContaining("All tests passed.") });
    expect(pending?.answer).not.toContain(SECRET);
    const { entries } = await journal.read();
    expect(entries.map(({ value }) => value)).toMatchObject([
      { type: "pending-summary", results },
      { type: "pending-summary", results, answer: pending?.answer },
    ]);
  });

  it.each(["state", "journal"] as const)(
    "are not asked for again after a restart with the %s",
    async (kept) => {
      const first = await started();
      await first.clock.advance(1_000);
      const state: unknown = JSON.parse(JSON.stringify(first.session.toJSON()));
      const second = open(kept === "journal" ? { journal: first.journal } : {});
      await second.session.restore(LOOP, kept === "state" ? state : undefined);
      await second.session.prepare();
      expect(summaries(second.session)).toBe(1);
      expect(JSON.stringify(second.session.messages())).toContain("All tests passed.");
      expect([first.calls.length, second.calls.length]).toEqual([1, 0]);
      expect(second.session.toJSON().pendingSummaries).toBeUndefined();
    },
  );

  it("are asked for again when the process ended before the answer came", async () => {
    const { session, journal } = await started();
    const second = open({ journal });
    await second.session.restore(LOOP, session.toJSON());
    await second.session.prepare();
    await second.clock.runUntilDone(second.session.settled());
    expect(summaries(second.session)).toBe(1);
    expect(second.calls).toHaveLength(1);
  });

  it("leave no trace when they have been applied before the restart", async () => {
    const { session, clock, journal } = await started();
    await clock.runUntilDone(session.settled());
    const second = open({ journal });
    await second.session.restore(LOOP);
    await second.session.prepare();
    expect(second.session.messages()).toEqual(session.messages());
    expect(second.calls).toEqual([]);
  });

  it("are waited for by settled, whoever calls it", async () => {
    const { session, clock } = await started();
    await clock.runUntilDone(session.settled());
    expect(summaries(session)).toBe(1);
    expect(session.toJSON().pendingSummaries).toBeUndefined();
    await session.settled();
  });

  it("are waited for after the turn that ends a loop, and not before", async () => {
    const { session, clock } = await started();
    session.observe([...LOOP, step("s14", "line 14")]);
    await session.prepare({ moment: "after-turn" });
    expect(summaries(session)).toBe(0);
    session.observe([...LOOP, step("s14", "line 14"), answer("a", "All done.")]);
    await clock.runUntilDone(session.prepare({ moment: "after-turn" }));
    expect(summaries(session)).toBeGreaterThan(0);
    expect(session.toJSON().pendingSummaries).toBeUndefined();
  });

  it("do not hold a caller who gives up waiting", async () => {
    const { session } = await started();
    const controller = new AbortController();
    const waiting = session.settled(controller.signal);
    controller.abort();
    await waiting;
    expect(session.toJSON().pendingSummaries).toHaveLength(1);
  });
});
