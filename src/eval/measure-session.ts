import type { Transcript } from "../transcript/message.ts";
import { type CompactionMeasure, measureCompaction } from "./measures/measure-compaction.ts";
import { type LoopCost, measureCost } from "./measures/measure-cost.ts";
import { measureRecall, type ProbeResult, probesOf } from "./measures/measure-recall.ts";
import { measureTokens, type TokenStep } from "./measures/measure-tokens.ts";
import type { EvalPolicy } from "./measures/policies.ts";
import type { EvalSession } from "./probe/eval-session.ts";
import { plainMessages } from "./probe/history-text.ts";

/** Everything that was measured on one session: plain data, nothing of what the session says. */
export interface SessionMeasure {
  readonly name: string;
  readonly format: string;
  readonly probes: readonly ProbeResult[];
  readonly compaction: CompactionMeasure;
  readonly cost: readonly LoopCost[];
  readonly tokens: readonly TokenStep[];
  readonly speed: readonly SpeedSample[];
}

export interface EvalOptions {
  readonly policies: readonly EvalPolicy[];
  readonly budgetsChars: readonly number[];
  readonly measures: readonly MeasureName[];
  /** How many steps of the agent count as what it needed next. */
  readonly steps: number;
  /** The most probes of one session. */
  readonly maxProbes: number;
  /** The time in milliseconds, for the speed. */
  readonly now: () => number;
}

export type MeasureName = "recall" | "search" | "compaction" | "cost" | "tokens" | "speed";

export const MEASURES: readonly MeasureName[] = ["recall", "search", "compaction", "cost", "tokens", "speed"];

export const EVAL_DEFAULTS: Pick<EvalOptions, "budgetsChars" | "steps" | "maxProbes"> = {
  budgetsChars: [25_000, 50_000, 100_000, 200_000],
  steps: 10,
  maxProbes: 8,
};

/** Measures one session. The same session and options give the same figures, times aside. */
export async function measureSession(session: EvalSession, options: EvalOptions): Promise<SessionMeasure> {
  const wants = (name: MeasureName): boolean => options.measures.includes(name);
  const probes = probesOf(session, options);
  const longest = probes.toSorted((one, other) => other.historyChars - one.historyChars)[0];
  return {
    name: session.name,
    format: session.format,
    probes: wants("recall")
      ? measureRecall(probes, { ...options, ...(wants("search") && { search: "measured" }) })
      : [],
    compaction: wants("compaction")
      ? measureCompaction(session, options)
      : { compactions: [], readsAfter: [], readsElsewhere: [] },
    cost: wants("cost") ? await measureCost(session, probes) : [],
    tokens: wants("tokens") ? measureTokens(session) : [],
    speed: wants("speed") && longest !== undefined ? measureSpeed(longest.history, options) : [],
  };
}

/** How long one call of a policy took on one history. */
interface SpeedSample {
  readonly policy: string;
  readonly budgetChars: number;
  readonly historyChars: number;
  readonly milliseconds: number;
  /** As a multiple of writing the whole history as plain text, measured in turns on messages that neither has seen. */
  readonly timesPlain: number;
}

interface SpeedOptions {
  readonly policies: readonly EvalPolicy[];
  readonly budgetsChars: readonly number[];
  /** The time in milliseconds; only differences count. */
  readonly now: () => number;
}

/** Times every policy on a history, best of a few turns. */
export function measureSpeed(history: Transcript, options: SpeedOptions): readonly SpeedSample[] {
  const plain = (messages: Transcript): number => plainMessages(messages).join("").length;
  const historyChars = plain(history);
  return options.budgetsChars.flatMap((budgetChars) =>
    options.policies.map(({ name, run }) => {
      const [milliseconds, plainMs] = inTurns(
        history,
        [(messages) => run(messages, budgetChars), plain],
        options.now,
      );
      const timesPlain = milliseconds / plainMs;
      return { policy: name, budgetChars, historyChars, milliseconds, timesPlain };
    }),
  );
}

const TURNS = 4;

type Run = (messages: Transcript) => unknown;

/** The best time of each of two, run in turns so that a busy machine slows both; the first turn only warms up. */
function inTurns(
  history: Transcript,
  runs: readonly [Run, Run],
  now: () => number,
): readonly [number, number] {
  const best: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let turn = 0; turn < TURNS; turn++) {
    for (const index of [0, 1] as const) {
      const messages = unseen(history);
      const startMs = now();
      runs[index](messages);
      if (turn > 0) best[index] = Math.min(best[index], now() - startMs);
    }
  }
  return best;
}

/** The same messages as new objects: what was remembered of a message, such as its input as JSON, is not there again. */
function unseen(history: Transcript): Transcript {
  return history.map((message) => ({ ...message, parts: message.parts.map((part) => ({ ...part })) }));
}
