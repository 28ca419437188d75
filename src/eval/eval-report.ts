import { groupBy } from "../text/group-by.ts";
import type { Interval } from "./bootstrap.ts";
import type { EvalOptions, SessionMeasure } from "./measure-session.ts";
import {
  ageOf,
  type PairedFigure,
  pairedDifference,
  type RecallFigures,
  scoresOf,
  summarizeRecall,
} from "./summarize-recall.ts";
import {
  type CompactionSummary,
  type CostFigures,
  type SpeedFigures,
  summarizeCompaction,
  summarizeCost,
  summarizeSpeed,
  summarizeTokens,
  type TokenFigures,
} from "./summarize-studies.ts";

/** Everything that an evaluation found, as plain data. */
export interface EvalReport {
  readonly sessions: SessionCounts;
  readonly controls: EvalControls;
  /** By policy, then by budget in characters. */
  readonly policies: Readonly<Record<string, Readonly<Record<string, RecallFigures>>>>;
  readonly paired: readonly PairedFigures[];
  readonly compaction: CompactionSummary | undefined;
  readonly cost: readonly CostFigures[];
  readonly tokens: readonly TokenFigures[];
  readonly speed: readonly SpeedFigures[];
}

export interface SessionCounts {
  readonly total: number;
  /** Sessions long enough to have probes. */
  readonly probed: number;
  readonly probes: number;
  readonly targets: number;
  readonly byFormat: Readonly<Record<string, number>>;
  /** How the targets divide, as shares of 1. */
  readonly targetClasses: Readonly<Record<string, number>>;
  readonly targetAges: Readonly<Record<string, number>>;
}

/** What must hold for the figures to mean anything. */
export interface EvalControls {
  readonly holds: boolean;
  /** Targets that the whole history itself does not keep; must be 0. */
  readonly missingInWhole: number;
  /** Targets found in an empty text; must be 0. */
  readonly mentionedInNothing: number;
  /** Texts of policies that are longer than their budget; must be 0. */
  readonly overBudget: number;
}

/** How far a policy is ahead of another over the same probes, with a 95 % interval over sessions. */
export interface PairedFigures {
  readonly policy: string;
  readonly against: string;
  readonly budgetChars: number;
  readonly differences: Readonly<Record<PairedFigure, Interval>>;
}

export interface ReportOptions extends Pick<EvalOptions, "budgetsChars"> {
  /** The names of the policies, in the order of the tables. */
  readonly policies: readonly string[];
  /** Which of them the others are held against. */
  readonly against: readonly string[];
}

/** Puts the measures of all sessions together. */
export function createEvalReport(measures: readonly SessionMeasure[], options: ReportOptions): EvalReport {
  const policies = Object.fromEntries(
    options.policies.map((policy) => [
      policy,
      Object.fromEntries(
        options.budgetsChars.map((budgetChars) => [
          String(budgetChars),
          summarizeRecall(scoresOf(measures, { policy, budgetChars })),
        ]),
      ),
    ]),
  );
  return {
    sessions: countSessions(measures),
    controls: checkControls(measures),
    policies,
    paired: comparePolicies(measures, options),
    compaction: summarizeCompaction(measures),
    cost: summarizeCost(measures),
    tokens: summarizeTokens(measures),
    speed: summarizeSpeed(measures),
  };
}

function countSessions(measures: readonly SessionMeasure[]): SessionCounts {
  const probes = measures.flatMap((measure) => measure.probes);
  const targets = probes.flatMap((probe) => probe.targets);
  return {
    total: measures.length,
    probed: measures.filter((measure) => measure.probes.length > 0).length,
    probes: probes.length,
    targets: targets.length,
    byFormat: counts(measures.map(({ format }) => format)),
    targetClasses: shares(targets.map((target) => target.class)),
    targetAges: shares(targets.map(ageOf)),
  };
}

function checkControls(measures: readonly SessionMeasure[]): EvalControls {
  const probes = measures.flatMap((measure) => measure.probes);
  const missingInWhole = probes.reduce((sum, { controls }) => sum + controls.missingInWhole, 0);
  const mentionedInNothing = probes.reduce((sum, { controls }) => sum + controls.mentionedInNothing, 0);
  const overBudget = probes
    .flatMap(({ scores }) => scores)
    .filter(({ chars, budgetChars }) => chars > budgetChars).length;
  const holds = missingInWhole + mentionedInNothing + overBudget === 0;
  return { holds, missingInWhole, mentionedInNothing, overBudget };
}

function comparePolicies(
  measures: readonly SessionMeasure[],
  { policies, against, budgetsChars }: ReportOptions,
): readonly PairedFigures[] {
  return budgetsChars.flatMap((budgetChars) =>
    against.flatMap((other) => {
      const others = scoresOf(measures, { policy: other, budgetChars });
      if (others.length === 0) return [];
      return policies
        .filter((policy) => policy !== other)
        .map((policy) => {
          const scored = scoresOf(measures, { policy, budgetChars });
          const difference = (figure: PairedFigure): Interval =>
            pairedDifference(scored, { against: others, figure });
          return {
            policy,
            against: other,
            budgetChars,
            differences: {
              usable: difference("usable"),
              editReady: difference("editReady"),
              context: difference("context"),
              refetch: difference("refetch"),
            },
          };
        });
    }),
  );
}

function counts(keys: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries([...groupBy(keys, (key) => key)].map(([key, same]) => [key, same.length]));
}

function shares(keys: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(counts(keys)).map(([key, count]) => [key, count / keys.length]));
}
