import type { EvalPolicy } from "./eval-policy.ts";
import type { EvalSession } from "./eval-session.ts";
import { type CompactionMeasure, measureCompaction } from "./measure-compaction.ts";
import { type LoopCost, measureCost } from "./measure-cost.ts";
import { measureRecall, type ProbeResult, probesOf } from "./measure-recall.ts";
import { measureSpeed, type SpeedSample } from "./measure-speed.ts";
import { measureTokens, type TokenStep } from "./measure-tokens.ts";

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
