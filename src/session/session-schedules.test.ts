import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSession } from "../../test/rig/engine-session.ts";
import {
  createFakeClock,
  createFakeSummarizer,
  type FakeAnswer,
  type FakeClock,
} from "../../test/rig/fakes.ts";
import { deepFreeze } from "../../test/rig/notation.ts";
import { runs } from "../../test/rig/runs.ts";
import { filterCompacted } from "../stages/boundary.ts";
import { repairPairing } from "../stages/repair.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import type { OutputStore } from "../tool-output/output-store.ts";
import { applyEdits } from "../transcript/edit.ts";
import { findFaults } from "../transcript/format.ts";
import { type Message, project, type Transcript } from "../transcript/message.ts";
import type { SessionEvent } from "./events.ts";
import type { EditBatch } from "./history.ts";
import type { Session } from "./session.ts";

const SUMMARY = "## Goal\nShip the parser.\n## Progress\nTwo files were read, one was changed.";
const never = () => new Promise<string>(() => {});

const ANSWERS: Readonly<Record<string, FakeAnswer>> = {
  good: SUMMARY,
  throws: new Error("503 overloaded"),
  hangs: never,
  blank: "   ",
  huge: "word ".repeat(400_000),
  nonsense: () => 42,
  overflow: () => Promise.reject(new Error("prompt is too long: 9000 tokens > 8000 maximum")),
  "throws at once": () => {
    throw new Error("sync");
  },
};

const ERRORS: readonly unknown[] = [
  { status: 400, message: "prompt is too long: 12000 tokens > 10000 maximum" },
  { status: 400, message: "This model's maximum context length is 8192 tokens" },
  { status: 400, message: "input length and `max_tokens` exceed context limit: 9000 + 32000 > 10000" },
  { status: 413, message: "Request exceeds the maximum size" },
  { status: 429, message: "Request too large for x on tokens per min (TPM): Limit 5000, Requested 9000." },
  { status: 429, message: "slow down" },
  new Error("ECONNRESET"),
  undefined,
];

type Move =
  | { readonly type: "request"; readonly words: number; readonly media: boolean }
  | {
      readonly type: "step";
      readonly words: number;
      readonly calls: number;
      readonly usage: number;
      readonly pending: boolean;
    }
  | { readonly type: "answer"; readonly words: number; readonly usage: number; readonly broken: boolean }
  | { readonly type: "error"; readonly index: number }
  | {
      readonly type: "prepare";
      readonly moment: "before-call" | "after-turn";
      readonly manual: boolean;
      readonly abortAfterMs: number;
    }
  | { readonly type: "undo" }
  | { readonly type: "revert"; readonly keep: number }
  | { readonly type: "restart" };

const anyMove: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("request" as const),
      words: fc.constantFrom(3, 40, 900, 30_000),
      media: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("step" as const),
      words: fc.constantFrom(0, 5, 300, 2_500, 40_000),
      calls: fc.integer({ min: 1, max: 4 }),
      usage: fc.constantFrom(0, 500, 9_500, 90_000),
      pending: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("answer" as const),
      words: fc.constantFrom(0, 5, 300, 2_000),
      usage: fc.constantFrom(0, 500, 9_500),
      broken: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("error" as const), index: fc.nat(ERRORS.length - 1) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("prepare" as const),
      moment: fc.constantFrom("before-call" as const, "after-turn" as const),
      manual: fc.boolean(),
      abortAfterMs: fc.constantFrom(-1, -1, -1, 0, 20_000, 100_000),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: "undo" as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("revert" as const), keep: fc.integer({ min: 0, max: 12 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ type: "restart" as const }) },
);

const words = (count: number, seed: number): string =>
  Array.from(
    { length: count },
    (_, index) => ["src/parse.ts", "ok", "数据", "error:", "value"][(index + seed) % 5],
  ).join(" ");

function messageFor(move: Extract<Move, { type: "request" | "step" | "answer" }>, number: number): Message {
  const id = `m${number}`;
  if (move.type === "request") {
    const file = { type: "file" as const, mime: "image/png" };
    return {
      id,
      role: "user",
      parts: [{ type: "text", text: words(move.words, number) }, ...(move.media ? [file] : [])],
    };
  }
  const usage = {
    inputTokens: move.usage,
    outputTokens: 1,
    reasoningTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  };
  const counted = move.usage > 0 ? { usage } : {};
  if (move.type === "answer") {
    const text = { type: "text" as const, text: words(move.words, number) };
    const how = move.broken ? { unfinished: true as const } : { finish: "stop" };
    return { id, role: "assistant", parts: [text], ...how, ...counted };
  }
  const parts = Array.from({ length: move.calls }, (_, call) => ({
    type: "tool" as const,
    callId: `${id}-${call}`,
    tool: call === 3 ? "skill" : "read",
    input: { filePath: `src/file-${number % 3}.ts` },
    outcome:
      move.pending && call === 0
        ? { status: "pending" as const }
        : { status: "done" as const, output: words(move.words, call), attachments: [] },
  }));
  return { id, role: "assistant", parts, finish: "tool-calls", ...counted };
}

/** Answers without leaving the thread, since the clock of the test stands still for everything else. */
function createOutputs(): OutputStore {
  const kept = new Map<string, string>();
  return {
    async put(content) {
      const handle = `output-${kept.size}`;
      kept.set(handle, String(content));
      return { status: "stored", handle, sha256: handle, bytes: content.length };
    },
    get: async (handle) => kept.get(handle),
  };
}

/** What some batches make of a base, computed from nothing else. */
function messagesToSendOf(base: Transcript, batches: readonly EditBatch[]): Transcript {
  const applied = batches.reduce((current, { edits, at }) => applyEdits(current, edits, { at }), base);
  const window = filterCompacted(applied);
  return project(applyEdits(window, repairPairing(window), { at: 0 }));
}

const timeless = (messages: Transcript): Transcript =>
  messages.map(({ createdAt: _, ...message }) => message);

/** Whatever happens, these hold at every moment. */
function expectSound(session: Session, base: Transcript): void {
  const shown = session.messages();
  expect(findFaults(shown)).toEqual([]);
  expect(timeless(project(applyEdits(base, session.edits(), { at: 0 })))).toEqual(timeless(shown));
}

function expectBalanced(events: readonly SessionEvent[]): void {
  let open = "";
  for (const { type } of events) {
    if (type.endsWith("_start")) {
      expect(open).toBe("");
      open = type.slice(0, -"_start".length);
    }
    if (type.endsWith("_end")) {
      expect(type).toBe(`${open}_end`);
      open = "";
    }
  }
  expect(open).toBe("");
}

/** The reasons for which a window may be over its limit with nothing left to do for the session. */
const EXCUSES = new Set([
  "cooling-down",
  "after-undo",
  "nothing-to-gain",
  "summary-failed",
  "auto-off",
  "aborted",
  "host-compacts",
  // A person asked, and there is nothing to compact.
  "manual",
]);

/** Marks so low that these short schedules reach them. */
const PRUNING = {
  clear: { protectTokens: 1_000, minimumTokens: 200 },
  lines: { lowTokens: 600, highTokens: 1_200, protectResults: 2 },
} as const;

interface Play {
  readonly keeps: "all" | "state";
  readonly moves: readonly Move[];
  readonly answer: FakeAnswer;
  readonly summaries: "llm" | "heuristic";
  readonly how: keyof typeof PRUNING;
}

async function play({ moves, answer, summaries, how, keeps }: Play): Promise<void> {
  const clock: FakeClock = createFakeClock();
  const journal = { ...createMemoryJournal(), keeps };
  const events: SessionEvent[] = [];
  let callsInCompaction = 0;
  const summarizer = createFakeSummarizer((request, options, index) => {
    callsInCompaction++;
    return typeof answer === "function"
      ? answer(request, options, index)
      : answer instanceof Error
        ? Promise.reject(answer)
        : answer;
  });
  const open = (): Session =>
    createSession(
      { clock, journal, summarizer, outputs: createOutputs() },
      {
        limits: { contextTokens: 10_000, outputTokens: 1_000 },
        compaction: { reserveTokens: 1_000, toolCallCutoff: 6, toolSummaryStrategy: summaries },
        prune: PRUNING[how],
        onEvent(event) {
          events.push(event);
          if (event.type === "compaction_start") callsInCompaction = 0;
          if (event.type === "compaction_end") expect(callsInCompaction).toBeLessThanOrEqual(2);
        },
      },
    );
  let session = open();
  let base: readonly Message[] = [];
  let isOverflow = false;
  for (const [number, move] of moves.entries()) {
    switch (move.type) {
      case "request":
      case "step":
      case "answer":
        base = deepFreeze([...base, messageFor(move, number)]);
        session.observe(base);
        break;
      case "revert":
        base = base.slice(0, Math.max(0, base.length - move.keep));
        session.observe(base);
        break;
      case "error":
        isOverflow = session.onProviderError(ERRORS[move.index]).isOverflow;
        break;
      case "undo": {
        const { batches } = session.status();
        const isFolded = batches.at(-1)?.step === "folded";
        const expected = messagesToSendOf(base, isFolded ? batches : batches.slice(0, -1));
        await clock.runUntilDone(session.undo());
        expect(timeless(session.messages())).toEqual(timeless(expected));
        break;
      }
      case "restart": {
        const before = timeless(session.messages());
        session = open();
        await clock.runUntilDone(session.restore(base));
        expect(timeless(session.messages())).toEqual(before);
        break;
      }
      case "prepare": {
        const controller = new AbortController();
        if (move.abortAfterMs === 0) controller.abort();
        if (move.abortAfterMs > 0)
          void clock.sleep(move.abortAfterMs, new AbortController().signal).then(() => controller.abort());
        const demand = move.manual ? "manual" : "none";
        const before = structuredClone(session.messages());
        const newestBefore = session.status().batches.at(-1)?.id;
        const action = await clock.runUntilDone(
          session.prepare({ moment: move.moment, demand, signal: controller.signal }),
        );
        expect("version" in action).toBe(false);
        expect(session.status().isRunning).toBe(false);
        const { tokens, limitTokens = Number.POSITIVE_INFINITY } = session.status();
        if (action.type === "none" && !action.fits) expect(EXCUSES).toContain(action.reason);
        if (action.type === "none" && action.fits) expect(tokens).toBeLessThan(limitTokens);
        // A failed summary leaves a window in force only while the model still takes it.
        if (action.type === "none" && action.reason === "summary-failed")
          expect(tokens).toBeLessThanOrEqual(10_000);
        const isCounted = session.status().estimate.source === "usage";
        if (action.type === "retry" && isOverflow && !isCounted)
          expect(tokens).toBeLessThanOrEqual(limitTokens);
        if (action.type === "give-up") expect(action.message.length).toBeGreaterThan(20);
        if (session.status().batches.at(-1)?.id === newestBefore) expect(session.messages()).toEqual(before);
        break;
      }
      default:
        move satisfies never;
    }
    expectSound(session, base);
  }
  expectBalanced(events);
}

describe("any schedule of messages, errors, aborts, undos and restarts", () => {
  it.each(Object.keys(ANSWERS))(
    "with a summarizer that is %j: events balanced, at most 2 calls, no fault, no exception",
    async (name) => {
      const answer = ANSWERS[name] ?? SUMMARY;
      await fc.assert(
        fc.asyncProperty(
          fc.array(anyMove, { minLength: 3, maxLength: 30 }),
          fc.constantFrom("llm" as const, "heuristic" as const),
          fc.constantFrom("clear" as const, "lines" as const),
          fc.constantFrom("all" as const, "state" as const),
          (moves, summaries, how, keeps) => play({ moves, answer, summaries, how, keeps }),
        ),
        { numRuns: runs(40, 15), endOnFailure: true },
      );
    },
  );
});
