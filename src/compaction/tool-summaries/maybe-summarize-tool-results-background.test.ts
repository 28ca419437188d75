import { describe, expect, it } from "vitest";
import { createFakeClock, createFakeSummarizer } from "../../../test/rig/fakes.ts";
import {
  archived,
  background,
  handlesOf,
  loop,
  run,
  summaries,
  summaryText,
} from "../../../test/rig/tool-summaries.ts";
import { applyEdits } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { countCodePoints } from "../summary/text.ts";
import { planToolSummaries } from "./plan-tool-summaries.ts";

const at = 1_000;

/** Answers only when it is told to. */
function heldSummarizer() {
  const answers: ((text: string) => void)[] = [];
  const summarizer = createFakeSummarizer(() => new Promise<string>((resolve) => answers.push(resolve)));
  return { summarizer, answers };
}

/** Lets everything that is ready to run, run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("time", () => {
  it("after 30 seconds the heuristic takes over, and a late answer is dropped", async () => {
    const clock = createFakeClock();
    const { summarizer: held, answers } = heldSummarizer();
    const running = run(loop(3), { summarizer: held, clock });
    await settle();
    await clock.advance(29_999);
    await settle();
    expect(held.calls[0]?.options.signal.aborted).toBe(false);
    await clock.advance(1);
    const { edits, notes } = await running;
    answers[0]?.("too late");
    await settle();
    expect(held.calls[0]?.options.signal.aborted).toBe(true);
    expect(notes).toEqual([{ reason: "timed-out", handles: ["m2/0"] }]);
    expect(summaryText(summaries(applyEdits(loop(3), edits, { at }))[0])).not.toContain("too late");
  });

  it("does not ask on when calls fail: the whole run costs one time limit", async () => {
    const clock = createFakeClock();
    const { summarizer: held, answers } = heldSummarizer();
    const running = run(loop(30), { summarizer: held, clock });
    await settle();
    await clock.advance(30_000);
    const { edits, notes } = await running;
    expect({ calls: answers.length, sleepers: clock.waiting }).toEqual({ calls: 4, sleepers: 0 });
    expect(handlesOf(edits)).toHaveLength(28);
    expect(notes.map((note) => note.reason).slice(3, 6)).toEqual(["timed-out", "given-up", "given-up"]);
  });
});

describe("in the background", () => {
  it("asks for batches of 4 and applies them in the next call, one message a batch", async () => {
    const asked = createFakeSummarizer((request) => `about ${request.prompt.match(/number=/g)?.length}`);
    const first = await run(loop(20), { settings: background, summarizer: asked });
    expect(first.edits).toEqual([]);
    expect(first.pending.map(({ batch }) => batch.results.length)).toEqual([4, 4]);
    await settle();
    const second = await run(loop(20), { settings: background, summarizer: asked, pending: first.pending });
    const after = applyEdits(loop(20), second.edits, { at });
    expect(summaries(after).map((message) => summaryText(message).split("\n").at(-2))).toEqual([
      "about 4",
      "about 4",
    ]);
    expect(archived(after)).toBe(8);
    expect(second.pending.map(({ batch }) => batch.results.length)).toEqual([2]);
  });

  it("quotes 4,000 code points of each result, 24,000 together, and keeps 2,200 of the answer", async () => {
    const before = withOutput(loop(14), "😀".repeat(9_000));
    const asked = createFakeSummarizer(() => "😀".repeat(5_000));
    const { pending } = await run(before, { settings: background, summarizer: asked });
    const { prompt = "", maxOutputTokens } = asked.calls[0]?.request ?? {};
    expect(countCodePoints(prompt)).toBeGreaterThan(4 * 3_900);
    expect(countCodePoints(prompt)).toBeLessThan(24_000);
    expect(maxOutputTokens).toBe(2_200);
    await settle();
    const { edits } = await run(before, { settings: background, summarizer: asked, pending });
    const summary =
      summaryText(summaries(applyEdits(before, edits, { at }))[0])
        .split("\n")
        .at(-2) ?? "";
    expect(countCodePoints(summary)).toBe(2_200);
  });

  it("falls back to one line of 220 code points a result", async () => {
    const before = withOutput(loop(14), "one\ntwo\n".repeat(500));
    const { edits, notes } = await run(before, { settings: background, summarizer: undefined });
    const lines = summaryText(summaries(applyEdits(before, edits, { at }))[0])
      .split("\n")
      .slice(-5, -1);
    expect(lines.map((line) => line.slice(0, 18))).toEqual([1, 2, 3, 4].map((n) => `${n}. x (ok): one two`));
    expect(lines.every((line) => countCodePoints(line) <= 220)).toBe(true);
    expect(notes.map((note) => note.reason)).toEqual(["no-summarizer"]);
  });

  it("awaits the summaries above twice the cutoff", async () => {
    const asked = createFakeSummarizer("short");
    const { edits, pending } = await run(loop(21), { settings: background, summarizer: asked });
    expect(archived(applyEdits(loop(21), edits, { at }))).toBe(11);
    expect({ calls: asked.calls.length, pending }).toEqual({ calls: 3, pending: [] });
  });

  it("above twice the cutoff also awaits what is pending", async () => {
    const { summarizer: held, answers } = heldSummarizer();
    const { pending } = await run(loop(14), { settings: background, summarizer: held });
    const running = run(loop(22), { settings: background, pending });
    await settle();
    answers[0]?.("the pending one");
    const { edits, pending: left } = await running;
    const after = applyEdits(loop(22), edits, { at });
    expect({ archived: archived(after), left }).toEqual({ archived: 12, left: [] });
    expect(summaryText(summaries(after)[0])).toContain("the pending one");
  });

  it("does not wait for a model that has nothing to say about empty outputs", async () => {
    const before = withOutput(loop(11), " ");
    const { edits, pending } = await run(before, { settings: background });
    expect({ archived: archived(applyEdits(before, edits, { at })), pending }).toEqual({
      archived: 1,
      pending: [],
    });
  });

  it("never archives below the cutoff, however often it is called", async () => {
    const { summarizer: held, answers } = heldSummarizer();
    const first = await run(loop(12), { settings: background, summarizer: held });
    const second = await run(loop(13), { settings: background, summarizer: held, pending: first.pending });
    const third = await run(loop(13), { settings: background, summarizer: held, pending: second.pending });
    expect(third.pending.map(({ batch }) => batch.results.length)).toEqual([2, 1]);
    for (const answer of answers) answer("done");
    await settle();
    const last = await run(loop(13), { settings: background, summarizer: held, pending: third.pending });
    const after = applyEdits(loop(13), last.edits, { at });
    expect(planToolSummaries(after, background).visibleResults).toBe(10);
    expect(last.pending).toEqual([]);
  });

  it("a result that was cleared or taken back meanwhile is not archived, and a note says so", async () => {
    const { summarizer: held, answers } = heldSummarizer();
    const { pending } = await run(loop(14), { settings: background, summarizer: held });
    answers[0]?.("about four results");
    await settle();
    const partly = loop(14).filter((message) => message.id !== "m3");
    const some = await run(partly, { settings: background, summarizer: held, pending });
    expect(handlesOf(some.edits)).toEqual(["m2/0", "m4/0", "m5/0"]);
    expect(some.notes.map((note) => note.reason)).toEqual(["partly-gone"]);
    expect(summaryText(summaries(applyEdits(partly, some.edits, { at }))[0])).not.toContain("about four");

    const none = await run(loop(14).slice(6), { settings: background, summarizer: held, pending });
    expect(none.edits).toEqual([]);
    expect(none.notes).toEqual([{ reason: "gone", handles: ["m2/0", "m3/0", "m4/0", "m5/0"] }]);
    expect(none.degraded).toBe(false);
  });

  it("a result of another call in the same place is not archived", async () => {
    const { pending } = await run(loop(11), { settings: background });
    await settle();
    const other = loop(11).map((message): Message => {
      const [part] = message.parts;
      return part?.type === "tool"
        ? { ...message, parts: [{ ...part, callId: `${part.callId}-b` }] }
        : message;
    });
    expect(handlesOf((await run(other, { settings: background, pending })).edits)).toEqual([]);
  });

  it("a result that an undo made unanswered again is not archived", async () => {
    const { pending } = await run(loop(11), { settings: background });
    await settle();
    const undone = loop(11).slice(0, 2);
    const { edits, notes } = await run(undone, { settings: background, pending });
    expect({ edits, reasons: notes.map((note) => note.reason) }).toEqual({ edits: [], reasons: ["gone"] });
  });

  it("waits at the end of a loop as long as it is told, and keeps what is not there yet", async () => {
    const clock = createFakeClock();
    const { summarizer: held, answers } = heldSummarizer();
    const { pending } = await run(loop(18), { settings: background, summarizer: held, clock });
    const ending = run(loop(18), { settings: background, summarizer: held, clock, pending, waitMs: 5_000 });
    await settle();
    answers[0]?.("first");
    await settle();
    await clock.advance(5_000);
    const { edits, pending: kept } = await ending;
    expect(handlesOf(edits)).toEqual(["m2/0", "m3/0", "m4/0", "m5/0"]);
    expect(kept.map(({ batch }) => batch.results.length)).toEqual([4]);
    answers[1]?.("second");
    await settle();
    const next = await run(applyEdits(loop(18), edits, { at }), {
      settings: background,
      clock,
      pending: kept,
    });
    expect(handlesOf(next.edits)).toEqual(["m6/0", "m7/0", "m8/0", "m9/0"]);
  });

  it("an abort ends the calls, archives nothing and loses nothing", async () => {
    const stop = new AbortController();
    const { summarizer: held } = heldSummarizer();
    const first = await run(loop(18), { settings: background, summarizer: held, signal: stop.signal });
    stop.abort();
    await settle();
    expect(held.calls.map((call) => call.options.signal.aborted)).toEqual([true, true]);
    const stopped = await run(loop(18), {
      settings: background,
      summarizer: held,
      signal: stop.signal,
      pending: first.pending,
    });
    expect(stopped.edits).toEqual([]);
    expect(stopped.pending).toEqual(first.pending.map(({ batch }) => ({ batch })));

    const stored = JSON.parse(JSON.stringify(stopped.pending));
    const asked = createFakeSummarizer("short");
    const resumed = await run(loop(18), { settings: background, summarizer: asked, pending: stored });
    await settle();
    const last = await run(loop(18), { settings: background, summarizer: asked, pending: resumed.pending });
    expect(asked.calls).toHaveLength(2);
    expect(archived(applyEdits(loop(18), last.edits, { at }))).toBe(8);
  });

  it("an abort while summaries are awaited leaves results as they are, and keeps what was pending", async () => {
    const stop = new AbortController();
    const { summarizer: held } = heldSummarizer();
    const { pending } = await run(loop(14), { settings: background, summarizer: held, signal: stop.signal });
    const running = run(loop(30), { settings: background, summarizer: held, signal: stop.signal, pending });
    await settle();
    stop.abort();
    const { edits, notes, pending: kept, degraded } = await running;
    expect(edits).toEqual([]);
    expect(kept).toEqual(pending.map(({ batch }) => ({ batch })));
    expect(new Set(notes.map((note) => note.reason))).toEqual(new Set(["aborted"]));
    expect(degraded).toBe(false);
  });

  it("keeps what is pending while summaries are switched off", async () => {
    const { pending } = await run(loop(14), { settings: background });
    const off = await run(loop(14), { settings: { ...background, toolSummaryStrategy: "off" }, pending });
    expect(off).toMatchObject({ edits: [], pending });
  });
});

function withOutput(messages: Transcript, output: string): Transcript {
  return messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.type === "tool"
        ? { ...part, outcome: { status: "done", output, attachments: [] } as const }
        : part,
    ),
  }));
}
