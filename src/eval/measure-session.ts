import type { Transcript } from "../transcript/message.ts";
import { type CompactionMeasure, measureCompaction } from "./measures/measure-compaction.ts";
import { type LoopCost, measureCost } from "./measures/measure-cost.ts";
import { type DriftMeasure, measureDrift } from "./measures/measure-drift.ts";
import { measurePrompts, type PromptStep } from "./measures/measure-prompts.ts";
import { measureRecall, type ProbeResult, probesOf } from "./measures/measure-recall.ts";
import { measureTokens, type TokenStep } from "./measures/measure-tokens.ts";
import type { EvalPolicy } from "./measures/policies.ts";
import { plainMessages } from "./probe/history-text.ts";
import type { EvalSession } from "./probe/places.ts";

/**
 * Measures one recorded session. Probes (probe/next-use.ts) are places in it with what the agent used next; policies
 * (measures/policies.ts) are judged by how much of that they keep. The other measures replay real compactions, the cost
 * of each way to manage the window, token estimates and speed; report/eval-report.ts sums up many sessions. The same
 * session and options give the same figures, times aside.
 */
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
      : { compactions: [], rereadsAfter: [], rereadsElsewhere: [] },
    drift: wants("drift") ? await measureDrift(session) : { points: [], files: undefined },
    cost: wants("cost") ? await measureCost(session, probes) : [],
    tokens: wants("tokens") ? measureTokens(session) : [],
    prompts: wants("tokens") ? measurePrompts(session) : [],
    speed: wants("speed") && longest !== undefined ? measureSpeed(longest.history, options) : [],
  };
}

/** Everything that was measured on one session: plain figures, no text of the session. */
export interface SessionMeasure {
  readonly name: string;
  readonly format: string;
  readonly probes: readonly ProbeResult[];
  readonly compaction: CompactionMeasure;
  readonly drift: DriftMeasure;
  readonly cost: readonly LoopCost[];
  readonly tokens: readonly TokenStep[];
  readonly prompts: readonly PromptStep[];
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
  /** A clock in milliseconds, for the speed. */
  readonly now: () => number;
}

export type MeasureName = "recall" | "search" | "compaction" | "drift" | "cost" | "tokens" | "speed";

export const MEASURES: readonly MeasureName[] = [
  "recall",
  "search",
  "compaction",
  "drift",
  "cost",
  "tokens",
  "speed",
];

export const EVAL_DEFAULTS: Pick<EvalOptions, "budgetsChars" | "steps" | "maxProbes"> = {
  budgetsChars: [25_000, 50_000, 100_000, 200_000],
  steps: 10,
  maxProbes: 8,
};

/** How long one call of a policy took on one history. */
interface SpeedSample {
  readonly policy: string;
  readonly budgetChars: number;
  readonly milliseconds: number;
  /** As a multiple of writing the whole history as plain text, measured alternately on uncached messages. */
  readonly timesPlain: number;
}

/** Times every policy on a history, best of a few rounds. */
export function measureSpeed(
  history: Transcript,
  options: Pick<EvalOptions, "policies" | "budgetsChars" | "now"> & { readonly rounds?: number },
): readonly SpeedSample[] {
  const { now, rounds = ROUNDS } = options;
  const plain = (messages: Transcript): string => plainMessages(messages).join("");
  return options.budgetsChars.flatMap((budgetChars) =>
    options.policies.map(({ name, run }) => {
      const [milliseconds, plainMs] = timeAlternately(
        history,
        [(messages) => run(messages, budgetChars), plain],
        { now, rounds },
      );
      const timesPlain = milliseconds / plainMs;
      return { policy: name, budgetChars, milliseconds, timesPlain };
    }),
  );
}

const ROUNDS = 4;

type Run = (messages: Transcript) => unknown;

/** The best time of two functions, run alternately so that a busy machine slows both. The first round warms up. */
function timeAlternately(
  history: Transcript,
  runs: readonly [Run, Run],
  { now, rounds }: { readonly now: () => number; readonly rounds: number },
): readonly [number, number] {
  const best: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < rounds; round++) {
    for (const index of [0, 1] as const) {
      const messages = uncached(history);
      const startMs = now();
      runs[index](messages);
      if (round > 0) best[index] = Math.min(best[index], now() - startMs);
    }
  }
  return best;
}

/** The same messages as new objects, for which nothing is cached, such as an input as JSON. */
function uncached(history: Transcript): Transcript {
  return history.map((message) => ({ ...message, parts: message.parts.map((part) => ({ ...part })) }));
}
