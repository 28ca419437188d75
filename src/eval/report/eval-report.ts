import { groupBy } from "../../text/group-by.ts";
import type { EvalOptions, SessionMeasure } from "../measure-session.ts";
import type { CompactionSize } from "../measures/measure-compaction.ts";
import type { DriftPoint, DriftWay, LedgerScore } from "../measures/measure-drift.ts";
import { type Interval, meanOf, quantileOf } from "./bootstrap.ts";
import {
  ageOf,
  type PairedFigure,
  pairedDifference,
  type RecallFigures,
  scoresOf,
  summarizeRecall,
} from "./summarize-recall.ts";
import {
  type PromptFigures,
  summarizePrompts,
  summarizeTokens,
  type TokenFigures,
} from "./summarize-tokens.ts";

/** Everything that an evaluation found, as plain data. */
export interface EvalReport {
  readonly sessions: SessionCounts;
  readonly controls: EvalControls;
  /** By policy, then by budget in characters. */
  readonly policies: Readonly<Record<string, Readonly<Record<string, RecallFigures>>>>;
  readonly paired: readonly PairedFigures[];
  readonly compaction: CompactionSummary | undefined;
  readonly drift: DriftSummary;
  /** The same by host and by project; set for a suite. */
  readonly groups?: readonly EvalGroup[];
  readonly cost: readonly CostFigures[];
  readonly tokens: readonly TokenFigures[];
  readonly prompts: readonly PromptFigures[];
  readonly speed: readonly SpeedFigures[];
}

interface SessionCounts {
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

/** Checks that the measure itself works. */
interface EvalControls {
  readonly holds: boolean;
  /** Targets that the whole history does not keep; must be 0. */
  readonly missingInWhole: number;
  /** Targets found in an empty text; must be 0. */
  readonly mentionedInNothing: number;
  /** Texts of policies that are longer than their budget; must be 0. */
  readonly overBudget: number;
}

/** The difference between two policies on the same probes, with a 95% interval over sessions. */
export interface PairedFigures {
  readonly policy: string;
  readonly against: string;
  readonly budgetChars: number;
  readonly differences: Readonly<Record<PairedFigure, Interval>>;
}

interface ReportOptions extends Pick<EvalOptions, "budgetsChars"> {
  /** The names of the policies, in the order of the tables. */
  readonly policies: readonly string[];
  /** The policies that the others are compared with. */
  readonly against: readonly string[];
}

/** Sums up the measures of all sessions. */
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
    drift: summarizeDrift(measures),
    cost: summarizeCost(measures),
    tokens: summarizeTokens(measures),
    prompts: summarizePrompts(measures),
    speed: summarizeSpeed(measures),
  };
}

/** What policies keep in the sessions of one host or one project. */
interface EvalGroup extends Pick<EvalReport, "policies"> {
  readonly by: "host" | "project";
  readonly name: string;
  readonly sessions: number;
}

interface GroupOptions extends ReportOptions {
  readonly projectOf: (measure: SessionMeasure) => string;
}

/** The figures by host and by project, each with its own intervals. */
export function groupReports(
  measures: readonly SessionMeasure[],
  { projectOf, ...options }: GroupOptions,
): readonly EvalGroup[] {
  const group = (by: EvalGroup["by"], keyOf: (measure: SessionMeasure) => string): readonly EvalGroup[] =>
    [...groupBy(measures, keyOf)].map(([name, same]) => ({
      by,
      name,
      sessions: same.length,
      policies: createEvalReport(same, { ...options, against: [] }).policies,
    }));
  return [...group("host", ({ format }) => format), ...group("project", projectOf)];
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

/** What the real compactions of the sessions kept, next to what policies keep. */
interface CompactionSummary {
  readonly compactions: number;
  readonly historyChars: number;
  readonly summaryChars: number;
  readonly ways: readonly WayFigures[];
  /** Reads of a file that had been touched before, a point of ten steps. */
  readonly rereadsAfter: number;
  readonly rereadsElsewhere: number;
}

interface WayFigures {
  readonly way: string;
  readonly size: CompactionSize;
  readonly mention: number;
  readonly usable: number;
  readonly editLines: number;
}

/** The real summaries of all sessions; undefined when there are none. */
function summarizeCompaction(measures: readonly SessionMeasure[]): CompactionSummary | undefined {
  const compactions = measures.flatMap(({ compaction }) => compaction.compactions);
  if (compactions.length === 0) return undefined;
  const ways = groupBy(
    compactions.flatMap((compaction) => compaction.ways),
    ({ way, size }) => `${way}@${size}`,
  );
  return {
    compactions: compactions.length,
    historyChars: meanOf(compactions.map(({ historyChars }) => historyChars)),
    summaryChars: meanOf(compactions.map(({ summaryChars }) => summaryChars)),
    ways: [...ways.values()].flatMap((results) =>
      results.slice(0, 1).map(({ way, size }) => ({
        way,
        size,
        mention: meanOf(results.map(({ mentioned }) => mentioned)),
        usable: meanOf(results.map(({ usable }) => usable)),
        editLines: meanOf(results.flatMap(({ editLines }) => editLines ?? [])),
      })),
    ),
    rereadsAfter: meanOf(measures.flatMap(({ compaction }) => compaction.rereadsAfter)),
    rereadsElsewhere: meanOf(measures.flatMap(({ compaction }) => compaction.rereadsElsewhere)),
  };
}

/** What remains after several compactions, and how well the list of files agrees with tool outputs. */
interface DriftSummary {
  readonly points: readonly DriftFigures[];
  readonly files: LedgerFigures | undefined;
}

export interface DriftFigures extends Record<DriftFact, number> {
  readonly way: DriftWay;
  readonly compactions: number;
  readonly sessions: number;
}

type DriftFact = "instructions" | "pins" | "files" | "errors";

interface LedgerFigures extends LedgerScore {
  readonly recall: number;
  readonly precision: number;
}

function summarizeDrift(measures: readonly SessionMeasure[]): DriftSummary {
  const groups = groupBy(
    measures.flatMap(({ drift }) => drift.points),
    ({ way, compactions }) => `${way}@${compactions}`,
  );
  const fact = (points: readonly DriftPoint[], name: DriftFact): number =>
    meanOf(points.flatMap((point) => point[name] ?? []));
  const points = [...groups.values()].flatMap((same) =>
    same.slice(0, 1).map(({ way, compactions }) => ({
      way,
      compactions,
      sessions: same.length,
      instructions: fact(same, "instructions"),
      pins: fact(same, "pins"),
      files: fact(same, "files"),
      errors: fact(same, "errors"),
    })),
  );
  const scores = measures.flatMap(({ drift }) => drift.files ?? []);
  if (scores.length === 0) return { points, files: undefined };
  const [edited, found, judged, right, untold] = (
    ["edited", "found", "judged", "right", "untold"] as const
  ).map((name) => total(scores, name)) as [number, number, number, number, number];
  const [recall, precision] = [found / edited, right / judged];
  return { points, files: { edited, found, judged, right, untold, recall, precision } };
}

/** What a loop policy costs and keeps. */
interface CostFigures {
  readonly policy: string;
  /** As multiples of the unmanaged window. */
  readonly cost: number;
  readonly sent: number;
  /** The share of what was sent that the provider had cached. */
  readonly cached: number;
  readonly medianPeakChars: number;
  readonly usable: number;
  readonly steps: number;
  readonly sessions: number;
}

/** The replayed windows of all sessions, the unmanaged one first. */
function summarizeCost(measures: readonly SessionMeasure[]): readonly CostFigures[] {
  const policies = [
    ...groupBy(
      measures.flatMap(({ cost }) => cost),
      ({ policy }) => policy,
    ),
  ];
  const base = policies[0]?.[1] ?? [];
  return policies.map(([policy, costs]) => ({
    policy,
    cost: total(costs, "costChars") / total(base, "costChars"),
    sent: total(costs, "sentChars") / total(base, "sentChars"),
    cached: total(costs, "cachedChars") / total(costs, "sentChars"),
    medianPeakChars: quantileOf(
      costs.map(({ peakChars }) => peakChars),
      0.5,
    ),
    usable: meanOf(costs.filter(({ usable }) => usable.length > 0).map(({ usable }) => meanOf(usable))),
    steps: total(costs, "steps"),
    sessions: costs.length,
  }));
}

function total<K extends string>(values: readonly Readonly<Record<K, number>>[], key: K): number {
  return values.reduce((sum, value) => sum + value[key], 0);
}

/** How long a call of a policy takes. */
interface SpeedFigures {
  readonly policy: string;
  readonly budgetChars: number;
  readonly histories: number;
  readonly medianMilliseconds: number;
  readonly p95Milliseconds: number;
  /** As multiples of writing the history as plain text. */
  readonly medianTimesPlain: number;
  readonly p95TimesPlain: number;
}

/** The times of every policy at every budget. */
function summarizeSpeed(measures: readonly SessionMeasure[]): readonly SpeedFigures[] {
  const samples = groupBy(
    measures.flatMap(({ speed }) => speed),
    ({ policy, budgetChars }) => `${policy}@${budgetChars}`,
  );
  return [...samples.values()].flatMap((ofOne) => {
    const times = ofOne.map(({ milliseconds }) => milliseconds);
    const ratios = ofOne.map(({ timesPlain }) => timesPlain);
    return ofOne.slice(0, 1).map(({ policy, budgetChars }) => ({
      policy,
      budgetChars,
      histories: ofOne.length,
      medianMilliseconds: quantileOf(times, 0.5),
      p95Milliseconds: quantileOf(times, 0.95),
      medianTimesPlain: quantileOf(ratios, 0.5),
      p95TimesPlain: quantileOf(ratios, 0.95),
    }));
  });
}
