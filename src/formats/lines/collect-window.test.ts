import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type History,
  historyOf,
  modelSays,
  resultOf,
  type Step,
  userSays,
} from "../../../test/rig/random-history/history.ts";
import { lowerToClaudeCode, lowerToCodex } from "../../../test/rig/random-history/lower-to-files.ts";
import { randomSession } from "../../../test/rig/random-history/random-history.ts";
import { runs } from "../../../test/rig/runs.ts";
import { profileSession } from "../../cli/inspect/profile-session.ts";
import { readRequests } from "../../cost/read-requests.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { charsOf } from "../../transcript/estimate-message.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { Part, ToolPart } from "../../transcript/part.ts";
import { claudeCode, collectClaudeCodeWindow } from "../files/claude-code/claude-code.ts";
import { codex, collectCodexWindow } from "../files/codex/codex.ts";
import { readTranscript } from "../read-transcript.ts";
import type { WindowLimits } from "./decode-lines.ts";

const FORMATS = [
  { name: "claude-code", lower: lowerToClaudeCode, collect: collectClaudeCodeWindow, format: claudeCode },
  { name: "codex", lower: lowerToCodex, collect: collectCodexWindow, format: codex },
] as const;

describe.each(FORMATS)("the window of a file of $name, collected", ({ name, lower, collect, format }) => {
  it("is that of all lines, whatever was dropped before it", () => {
    fc.assert(
      fc.property(randomSession(), fc.integer({ min: 1, max: 40 }), (history, roomChars) => {
        fc.pre(!answersAcrossCompaction(history));
        const lines = lower(history);
        const collector = collect({ roomChars });
        for (const line of lines) collector.take(line, 1);
        const { messages, isRewound } = collector.past?.() ?? { messages: [], isRewound: false };
        if (isRewound) return;
        const whole = format.decode(lines);
        const read = [...messages, ...format.decode(collector.lines() as never)];
        expect(said(filterCompacted(read))).toEqual(said(filterCompacted(whole)));
        expect(read).toHaveLength(whole.length);
        expect(sum(read, recordedChars)).toBe(sum(whole, recordedChars));
      }),
      { numRuns: runs(300) },
    );
  });

  it("has all older messages in sums, however few are kept", () => {
    fc.assert(
      fc.property(randomSession(), fc.integer({ min: 1, max: 12 }), (history, maxMessages) => {
        const collected = (limits: WindowLimits) => {
          const collector = collect({ roomChars: 5, ...limits });
          for (const line of lower(history)) collector.take(line, 1);
          return collector.past?.();
        };
        const [whole, bounded] = [collected({}), collected({ maxMessages })];
        if (whole === undefined || bounded === undefined || whole.isRewound) return;
        const gone = whole.messages.slice(0, whole.messages.length - bounded.messages.length);
        expect(bounded.messages).toEqual(whole.messages.slice(gone.length));
        expect(gone.length === 0 || bounded.messages.length >= maxMessages).toBe(true);
        const { messages, toolResults, chars, compactions } = profileSession(gone, { top: 0 });
        expect(bounded.older).toEqual({ messages, toolResults, chars, compactions });
      }),
      { numRuns: runs(100) },
    );
  });

  it("is read of 20 MB without their texts, and with all that was paid", async () => {
    const lines = lower(longHistory());
    const bytes = bytesOf(lines);
    const requestsOf = (wire: readonly unknown[]) => readRequests({ format: name, wire, transcript: [] });
    const seen: unknown[] = [];
    const onLine = (line: unknown): void => void seen.push(line);
    const whole = await readTranscript(bytes);
    const read = await readTranscript(chunks(bytes), { keep: "window", onLine });
    expect(read.past).toMatchObject({ isRewound: false });
    expect(read.transcript).toHaveLength(whole.transcript.length);
    expect(filterCompacted(read.transcript)).toEqual(filterCompacted(whole.transcript));
    expect(sum(read.transcript, recordedChars)).toBe(sum(whole.transcript, recordedChars));
    expect(bytes.length).toBeGreaterThan(20e6);
    // Eight megabytes are read before anything is dropped.
    expect(JSON.stringify(read.wire).length).toBeLessThan(8.4e6);
    expect(requestsOf(seen)).toEqual(requestsOf(lines));
  });

  it("keeps a file whole that has no compaction", async () => {
    const lines = lower(historyOf(longHistory().steps.filter(({ type }) => type !== "compaction")));
    const read = await readTranscript(chunks(bytesOf(lines)), { keep: "window" });
    expect(read.past).toBeUndefined();
    expect(read.transcript).toEqual(format.decode(lines));
  });
});

it("says that a user has gone back to before a compaction", async () => {
  const history = longHistory();
  const back: Step = { type: "rewind", steps: 200 };
  const lines = lowerToClaudeCode(historyOf([...history.steps, back, userSays("again")]));
  const read = await readTranscript(chunks(bytesOf(lines)), { keep: "window" });
  expect(read.past).toMatchObject({ isRewound: true });
});

const TEXT = "a line of some output that a tool has written\n".repeat(4_000);

/** Twelve times ten calls of 180 KB and a compaction. */
function longHistory(): History {
  const steps = Array.from({ length: 12 }, (_, round): readonly Step[] => [
    userSays(`Do number ${round}.`),
    ...Array.from({ length: 10 }, (__, step): readonly Step[] => {
      const call = { id: `call-${round}-${step}`, tool: "bash", input: { command: `run ${step}` } };
      return [modelSays("I run it.", [call]), resultOf(call, `${TEXT}${round}/${step}`)];
    }).flat(),
    modelSays("Done."),
    { type: "compaction", summary: `Number ${round} is done.`, kept: 0 },
    userSays("Go on."),
    modelSays("Yes."),
  ]);
  return historyOf(steps.flat());
}

function bytesOf(lines: readonly unknown[]): Uint8Array {
  return new TextEncoder().encode(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 65_536) yield bytes.subarray(start, start + 65_536);
}

/**
 * True where a result stands behind the compaction of its call, as no agent writes it. Its call has been dropped by
 * then, so it is read as a result without one.
 */
function answersAcrossCompaction({ steps }: History): boolean {
  const compactedCalls = new Set<string>();
  let calls: string[] = [];
  for (const step of steps) {
    if (step.type === "model") calls.push(...step.calls.map(({ id }) => id));
    if (step.type === "compaction") {
      for (const id of calls) compactedCalls.add(id);
      calls = [];
    }
    if (step.type === "results" && step.results.some(({ callId }) => compactedCalls.has(callId))) return true;
  }
  return false;
}

/** Without ids: where they repeat, what is told apart from another depends on where the other is. */
function said(transcript: Transcript): readonly unknown[] {
  return transcript.map(({ role, parts, summary, model }) => ({
    role,
    summary,
    model,
    parts: parts.map((part) => ({
      ...part,
      callId: undefined,
      irregular: undefined,
      tailStartId: undefined,
    })),
  }));
}

function sum(transcript: Transcript, measure: (message: Message) => number): number {
  return transcript.reduce((total, message) => total + measure(message), 0);
}

function recordedChars(message: Message): number {
  return message.parts.reduce((total, part) => total + partChars(part), 0);
}

function partChars(part: Part): number {
  const chars = charsOf({ id: "", role: "user", parts: [part] });
  if (part.type !== "tool") return chars + (part.type === "text" ? omittedBySize(part.cut) : 0);
  // An input keeps its fields and the beginnings of long ones: more than the preview that its cut is measured by.
  const input = part.inputCut ? part.inputCut.originalChars - JSON.stringify(part.input).length : 0;
  return chars + omittedBySize(part.cut) + input;
}

function omittedBySize(cut: ToolPart["cut"]): number {
  return cut?.method === "size" ? cut.omittedChars : 0;
}
