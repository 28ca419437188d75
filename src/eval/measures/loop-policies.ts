import { type CacheProfile, cacheProfile } from "../../models/cache-profile.ts";
import { withEngineSettings } from "../../session/options.ts";
import type { SessionPruneOptions } from "../../session/prune.ts";
import { createSession } from "../../session/session.ts";
import { fillBudget } from "../../stages/lines/fill.ts";
import { truncate } from "../../text/truncate.ts";
import { renderMessage } from "../../transcript/content.ts";
import { applyEdits } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { CLEARED_PLACEHOLDER } from "../../transcript/part.ts";
import { cachePerObject, outputOf, plainMessages, type ShownCall } from "../probe/history-text.ts";
import { isStep } from "../probe/next-use.ts";
import { newestWithin } from "./policies.ts";

/** A way to manage the window during a session: what is sent at each step, message by message. */
export interface LoopPolicy {
  readonly name: string;
  readonly explain: string;
  /** Starts a session. The window is computed at every step, with a longer history each time. */
  readonly start: () => LoopWindow;
}

/** The messages of the next request as text, oldest first; `idleMs` is the time since the last request. */
type LoopWindow = (
  history: readonly LoopMessage[],
  idleMs: number,
) => readonly string[] | Promise<readonly string[]>;

/** A message with its renderings, each cached. */
export interface LoopMessage {
  readonly message: Message;
  readonly isStep: boolean;
  readonly calls: number;
  readonly outputChars: number;
  as(shape: LoopShape): string;
}

/** `middle` and `old` are the second and third documented tier. */
type LoopShape = "whole" | "middle" | "old" | "cleared";

/** The policies that are replayed, the unmanaged window first. */
export const LOOP_POLICIES: readonly LoopPolicy[] = [
  {
    name: "append-only",
    explain: "everything stays as it is",
    start: () => (history) => history.map((message) => message.as("whole")),
  },
  {
    name: "last-100k",
    explain: "at every step the newest messages that fit into 100,000 characters",
    start: () => (history) =>
      newestWithin(
        history.map((message) => message.as("whole")),
        100_000,
      ),
  },
  {
    name: "tiers",
    explain: "the documented tiers by age, at every step",
    start: () => (history) => byTier(history, tierStarts(history)),
  },
  {
    name: "tiers-batched",
    explain: "the documented tiers by age, moved on every 25 results",
    start: batchedTiers,
  },
  {
    name: "mask-10",
    explain: "at every step the results of all but the last 10 steps are cleared",
    start: () => (history) => clearBefore(history, startOfLastSteps(history, 10)),
  },
  {
    name: "mask-batched",
    explain: "when 30 steps have gathered, the results of all but 10 are cleared",
    start: batchedMask,
  },
  {
    name: "prune-160k",
    explain: "results beyond the newest 160,000 characters are cleared when that frees 80,000",
    start: batchedPrune,
  },
  ...[
    { gatherChars: 60_000, keepChars: 25_000 },
    { gatherChars: 120_000, keepChars: 50_000 },
    { gatherChars: 150_000, keepChars: 75_000 },
  ].map((refill) => ({
    name: `fill-${refill.gatherChars / 1000}k-${refill.keepChars / 1000}k`,
    explain: `when ${refill.gatherChars / 1000},000 characters have gathered, ${refill.keepChars / 1000},000 of them stay, by line`,
    start: () => createRefillWindow(refill),
  })),
  {
    name: "session-clear",
    explain: "the session clears outputs older than the newest 40,000 tokens of them when that pays",
    start: () => createSessionWindow({ how: "clear", protectTurns: 0 }),
  },
  {
    name: "session",
    explain:
      "the session as it is: when it pays, what is needed least of old work goes, down to 10,000 tokens",
    start: () => createSessionWindow({}),
  },
  ...[
    { lowTokens: 8_000, highTokens: 16_000 },
    { lowTokens: 20_000, highTokens: 40_000 },
  ].map((marks) => ({
    name: `session-${marks.lowTokens / 1000}k`,
    explain: `the same, down to ${marks.lowTokens / 1000},000 tokens`,
    start: () => createSessionWindow(marks),
  })),
];

/** A transcript with its renderings. */
export function loopMessages(transcript: Transcript): readonly LoopMessage[] {
  return transcript.map((message) => {
    const known = new Map<LoopShape, string>();
    const calls = message.parts.filter((part) => part.type === "tool");
    return {
      message,
      isStep: isStep(message),
      calls: calls.length,
      outputChars: calls.reduce((sum, part) => sum + (outputOf(part)?.length ?? 0), 0),
      as(shape) {
        const text = known.get(shape) ?? render(message, shape);
        known.set(shape, text);
        return text;
      },
    };
  });
}

function render(message: Message, shape: LoopShape): string {
  const { inputChars, limitChars } = SHAPES[shape];
  return plainMessages([message], (part): ShownCall => {
    const output = outputOf(part);
    if (output === undefined || limitChars === Number.POSITIVE_INFINITY) return { inputChars, output };
    if (shape === "cleared") return { inputChars, output: CLEARED_PLACEHOLDER };
    return { inputChars, output: truncate(output, { limitChars, method: "head-tail" }).text };
  }).join("");
}

const SHAPES: Readonly<Record<LoopShape, { readonly inputChars: number; readonly limitChars: number }>> = {
  whole: { inputChars: Number.POSITIVE_INFINITY, limitChars: Number.POSITIVE_INFINITY },
  middle: { inputChars: 200, limitChars: 3000 },
  old: { inputChars: 100, limitChars: 500 },
  cleared: { inputChars: Number.POSITIVE_INFINITY, limitChars: 0 },
};

interface TierStarts {
  /** The first message of the middle tier, and of the newest. */
  readonly middle: number;
  readonly newest: number;
}

function byTier(history: readonly LoopMessage[], { middle, newest }: TierStarts): readonly string[] {
  return history.map((message, index) =>
    message.as(index < middle ? "old" : index < newest ? "middle" : "whole"),
  );
}

/** Where the newest 5 results begin, and the newest 15. */
function tierStarts(history: readonly LoopMessage[]): TierStarts {
  return { newest: startOfLastCalls(history, 5), middle: startOfLastCalls(history, 15) };
}

function startOfLastCalls(history: readonly LoopMessage[], count: number): number {
  let calls = 0;
  for (let index = history.length - 1; index >= 0; index--) {
    if (calls >= count) return index + 1;
    calls += history[index]?.calls ?? 0;
  }
  return 0;
}

function batchedTiers(): LoopWindow {
  let seenCalls = 0;
  let starts: TierStarts = { middle: 0, newest: 0 };
  return (history) => {
    const calls = history.reduce((sum, message) => sum + message.calls, 0);
    if (calls - seenCalls >= 25) {
      seenCalls = calls;
      starts = tierStarts(history);
    }
    return byTier(history, starts);
  };
}

function clearBefore(history: readonly LoopMessage[], first: number): readonly string[] {
  return history.map((message, index) => message.as(index < first ? "cleared" : "whole"));
}

function startOfLastSteps(history: readonly LoopMessage[], count: number): number {
  let steps = 0;
  for (let index = history.length - 1; index >= 0; index--)
    if (history[index]?.isStep && ++steps === count) return index;
  return 0;
}

function batchedMask(): LoopWindow {
  let first = 0;
  return (history) => {
    if (history.slice(first).filter((message) => message.isStep).length > 30)
      first = startOfLastSteps(history, 10);
    return clearBefore(history, first);
  };
}

function batchedPrune(): LoopWindow {
  let first = 0;
  return (history) => {
    let newerChars = 0;
    let freedChars = 0;
    let next = first;
    for (let index = history.length - 1; index >= first; index--) {
      const chars = history[index]?.outputChars ?? 0;
      newerChars += chars;
      if (newerChars <= 160_000) continue;
      freedChars += chars;
      next = Math.max(next, index + 1);
    }
    if (freedChars > 80_000) first = next;
    return clearBefore(history, first);
  };
}

/** What a Carryover session would have sent at each step, with the options of an agent loop. */
export function createSessionWindow(prune: SessionPruneOptions): LoopWindow {
  let nowMs = 0;
  const session = createSession(
    { clock: { now: () => nowMs, sleep: () => new Promise(() => {}) } },
    withEngineSettings(
      {
        model: { provider: "anthropic", id: "claude-sonnet-4-5" },
        limits: { contextTokens: 200_000, outputTokens: 32_000 },
        systemChars: LOOP_SYSTEM_CHARS,
        // Only pruning is measured: outputs are not trimmed, and no model is asked.
        toolOutput: "off",
        compactAt: "never",
      },
      { prune, cache: LOOP_PRICES },
    ),
  );
  return async (history, idleMs) => {
    nowMs += idleMs;
    session.observe(history.map(({ message }) => withoutUsage(message)));
    await session.prepare({ moment: "after-turn", idleMs });
    return session.messages().map(plainText);
  };
}

/** Without usage and summaries, which belong to the window that was really sent. */
const withoutUsage = cachePerObject((message: Message): Message => {
  const { usage: _, summary: __, metadata: ___, ...rest } = message;
  return rest;
});

const plainText = cachePerObject((message: Message) => plainMessages([message]).join(""));

interface RefillOptions {
  /** The window is refilled when it is longer than this. */
  readonly gatherChars: number;
  /** Its size after a refill. */
  readonly keepChars: number;
}

/** A window that grows by whole messages, and is refilled line by line from the whole history when it is too long. */
export function createRefillWindow({ gatherChars, keepChars }: RefillOptions): LoopWindow {
  let filled: readonly string[] = [];
  return (history) => {
    const added = history.slice(filled.length).map((message) => message.as("whole"));
    const window = [...filled, ...added];
    if (window.reduce((sum, { length }) => sum + length, 0) <= gatherChars) return window;
    const messages = history.map(({ message }) => message);
    const edits = fillBudget({ maxChars: keepChars })(messages);
    filled = applyEdits(messages, edits, { at: 0 }).map(renderMessage);
    return filled;
  };
}

/** The prices of every replayed request. */
export const LOOP_PRICES: CacheProfile = cacheProfile({ id: "claude-sonnet-4-5" });

/** The size of system prompt and tool definitions in every request. */
export const LOOP_SYSTEM_CHARS = 60_000;
