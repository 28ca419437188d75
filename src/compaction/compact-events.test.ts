import { describe, expect, it } from "vitest";
import { createFakeClock, createFakeSummarizer, startsAndEnds } from "../../test/rig/fakes.ts";
import { deepFreeze, transcript as read } from "../../test/rig/notation.ts";
import type { Transcript } from "../transcript/message.ts";
import { type CompactionEvent, compact } from "./compact.ts";
import { planCompaction } from "./plan/plan-compaction.ts";

const PROSE = "## Goal\nBuild the parser.";
const LONG = "u:400 a:900 u:80 a(read:40000) a(bash:9000) u:60 a(read:4000)";

async function run(transcript: Transcript, listener?: (event: CompactionEvent) => void) {
  const clock = createFakeClock();
  const events: CompactionEvent[] = [];
  const onEvent = listener ?? startsAndEnds(events);
  const plan = planCompaction({ transcript, trigger: "threshold" });
  const ports = { summarizer: createFakeSummarizer(PROSE), clock };
  return { outcome: await clock.runUntilDone(compact(plan, ports, { at: 5, onEvent })), events };
}

describe("compact: events and aborts", () => {
  it("emits one start and one end with the same facts", async () => {
    const { events, outcome } = await run(read(LONG));
    if (outcome.status === "unchanged") throw new Error(outcome.reason);
    const { tokensBefore, tokensAfter } = outcome;
    const about = { trigger: "threshold", auto: true, before: 7, tokensBefore };
    expect(events).toEqual([
      { type: "compaction_start", ...about },
      { type: "compaction_end", ...about, after: 5, tokensAfter },
    ]);
  });

  it("emits no event when there is nothing to do", async () => {
    expect((await run(read("u:40"))).events).toEqual([]);
  });

  it("survives a listener that throws", async () => {
    const onEvent = () => {
      throw new Error("no");
    };
    expect((await run(read(LONG), onEvent)).outcome.status).toBe("compacted");
  });

  it.each([
    { phase: "before it begins", at: 0 },
    { phase: "while a hook runs", at: 500 },
    { phase: "while the summarizer runs", at: 5_000 },
    { phase: "during the second call", at: 60_000 },
  ])("changes nothing when it is aborted $phase", async ({ at }) => {
    const clock = createFakeClock();
    const abort = new AbortController();
    const events: CompactionEvent[] = [];
    const slow = (ms: number) => () => clock.sleep(ms, new AbortController().signal);
    const summarizer = createFakeSummarizer(() => slow(50_000)().then(() => ""), slow(50_000));
    const transcript = deepFreeze(read(LONG));
    const plan = planCompaction({ transcript, trigger: "threshold" });
    const work = compact(
      plan,
      { summarizer, clock },
      {
        at: 5,
        signal: abort.signal,
        onEvent: startsAndEnds(events),
        hooks: [{ name: "slow", compacting: slow(1_000) }],
      },
    );
    if (at > 0) await clock.advance(at);
    abort.abort();
    expect(await clock.runUntilDone(work)).toMatchObject({
      status: "unchanged",
      reason: "aborted",
      edits: [],
    });
    expect(events.map((event) => event.type)).toEqual(["compaction_start", "compaction_end"]);
    expect(events[1]).toMatchObject({ error: "aborted" });
    // Nothing is left in progress: the same transcript can be compacted again.
    const again = await clock.runUntilDone(
      compact(plan, { summarizer: createFakeSummarizer(PROSE), clock }, { at: 6 }),
    );
    expect(again.status).toBe("compacted");
  });

  it("does not compact a transcript twice at the same time", async () => {
    const clock = createFakeClock();
    const plan = planCompaction({ transcript: read(LONG), trigger: "threshold" });
    const ports = { clock, summarizer: createFakeSummarizer(PROSE) };
    const [first, second] = [compact(plan, ports, { at: 5 }), compact(plan, ports, { at: 5 })];
    expect(await clock.runUntilDone(second)).toMatchObject({
      status: "unchanged",
      reason: "already-running",
    });
    expect((await clock.runUntilDone(first)).status).toBe("compacted");
  });
});
