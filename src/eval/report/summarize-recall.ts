import { groupBy } from "../../text/group-by.ts";
import type { SessionMeasure } from "../measure-session.ts";
import type { PolicyScore, ProbeResult, TargetFacts } from "../measures/measure-recall.ts";
import type { TargetClass } from "../probe/identifiers.ts";
import { shareOf } from "../probe/score-text.ts";
import { bootstrap, type Interval, meanOf } from "./bootstrap.ts";

/** What one policy keeps at one budget, over all probes whose history exceeds it. */
export interface RecallFigures {
  /** Share of the targets that are there with a line in which they stood: the main figure. */
  readonly usable: number;
  readonly usableLow: number;
  readonly usableHigh: number;
  /** The same when the child may search the archive once for each target; not a number where that was not measured. */
  readonly usableWithRecall: number;
  /** Share of the targets whose bare name is there. */
  readonly mention: number;
  /** Share of the targets whose line stands between its neighbours (ctx±1). */
  readonly context: number;
  /** Share of the next edits whose lines are all there. */
  readonly editReady: number;
  /** Distinct results that would have to be fetched again, a probe. */
  readonly refetch: number;
  readonly refetchChars: number;
  readonly usedChars: number;
  readonly sessions: number;
  readonly probes: number;
  /** Probes at which the text was longer than the budget. */
  readonly overBudget: number;
  /** Usable recall by kind of target, by age and by where it stood. */
  readonly byClass: Readonly<Record<TargetClass, number>>;
  readonly byAge: Readonly<Record<TargetAge, number>>;
  readonly resultOnly: number;
  readonly byFormat: Readonly<Record<string, FormatFigures>>;
}

interface FormatFigures {
  readonly usable: number;
  readonly editReady: number;
  readonly context: number;
  readonly sessions: number;
}

/** How many calls ago a target was last seen. */
type TargetAge = "0-4" | "5-14" | "15+";

export const TARGET_AGES: readonly TargetAge[] = ["0-4", "5-14", "15+"];

export const TARGET_CLASSES: readonly TargetClass[] = ["path", "symbol", "edit-line", "literal"];

/** The age group of a target. */
export function ageOf({ callsSince }: Pick<TargetFacts, "callsSince">): TargetAge {
  return callsSince < 5 ? "0-4" : callsSince < 15 ? "5-14" : "15+";
}

/** One score of a policy, with the probe and the session that it is from. */
interface ScoredProbe {
  readonly session: SessionMeasure;
  readonly probe: ProbeResult;
  readonly score: PolicyScore;
}

/** The scores of one policy at one budget. */
export function scoresOf(
  measures: readonly SessionMeasure[],
  { policy, budgetChars }: Pick<PolicyScore, "policy" | "budgetChars">,
): readonly ScoredProbe[] {
  return measures.flatMap((session) =>
    session.probes.flatMap((probe) =>
      probe.scores
        .filter((score) => score.policy === policy && score.budgetChars === budgetChars)
        .map((score) => ({ session, probe, score })),
    ),
  );
}

/** The figures of one policy at one budget. */
export function summarizeRecall(scored: readonly ScoredProbe[]): RecallFigures {
  const mean = (figure: ProbeFigure): number => meanOf(bySession(scored, figure));
  const usable = bootstrap(bySession(scored, FIGURES.usable));
  const usableOf = (wants: (target: TargetFacts) => boolean): number =>
    mean(({ probe, score }) =>
      shareOf(score.usable.filter((_, index) => wants(probe.targets[index] as TargetFacts))),
    );
  return {
    usable: usable.mean,
    usableLow: usable.low,
    usableHigh: usable.high,
    usableWithRecall: mean(({ score }) => score.usableWithRecall && shareOf(score.usableWithRecall)),
    mention: mean(FIGURES.mention),
    context: mean(FIGURES.context),
    editReady: mean(FIGURES.editReady),
    refetch: mean(FIGURES.refetch),
    refetchChars: mean(({ score }) => score.refetchChars),
    usedChars: meanOf(scored.map(({ score }) => score.chars)),
    sessions: usable.sessions,
    probes: scored.length,
    overBudget: scored.filter(({ score }) => score.chars > score.budgetChars).length,
    byClass: record(TARGET_CLASSES, (kind) => usableOf((target) => target.class === kind)),
    byAge: record(TARGET_AGES, (age) => usableOf((target) => ageOf(target) === age)),
    resultOnly: usableOf((target) => target.resultOnly),
    byFormat: byFormat(scored),
  };
}

/** What is compared between two policies, session by session. */
export type PairedFigure = "usable" | "editReady" | "context" | "refetch";

/** By how much a policy exceeds another in one figure, over the same probes. */
export function pairedDifference(
  scored: readonly ScoredProbe[],
  { against, figure }: { readonly against: readonly ScoredProbe[]; readonly figure: PairedFigure },
): Interval {
  const others = new Map(against.map((other) => [other.probe, other]));
  return bootstrap(
    bySession(scored, (one) => {
      const other = others.get(one.probe);
      const [ours, theirs] = [FIGURES[figure](one), other && FIGURES[figure](other)];
      return ours === undefined || theirs === undefined ? undefined : ours - theirs;
    }),
  );
}

type ProbeFigure = (scored: ScoredProbe) => number | undefined;

const FIGURES: Readonly<Record<PairedFigure | "mention", ProbeFigure>> = {
  usable: ({ score }) => shareOf(score.usable),
  mention: ({ score }) => shareOf(score.mentioned),
  context: ({ score }) => shareOf(score.inContext),
  editReady: ({ score }) => shareOf(score.editReady),
  refetch: ({ score }) => score.refetchCalls,
};

/** One figure per session, the mean over its probes, so that a long session counts no more than a short one. */
function bySession(scored: readonly ScoredProbe[], figure: ProbeFigure): readonly number[] {
  const sessions = groupBy(scored, ({ session }) => session);
  return [...sessions.values()].flatMap((probes) => {
    const figures = probes.flatMap((probe) => figure(probe) ?? []);
    return figures.length === 0 ? [] : [meanOf(figures)];
  });
}

function byFormat(scored: readonly ScoredProbe[]): Readonly<Record<string, FormatFigures>> {
  const formats = groupBy(scored, ({ session }) => session.format);
  return record([...formats.keys()].sort(), (format) => {
    const ours = formats.get(format) ?? [];
    return {
      usable: meanOf(bySession(ours, FIGURES.usable)),
      editReady: meanOf(bySession(ours, FIGURES.editReady)),
      context: meanOf(bySession(ours, FIGURES.context)),
      sessions: new Set(ours.map(({ session }) => session)).size,
    };
  });
}

function record<K extends string, V>(keys: readonly K[], value: (key: K) => V): Readonly<Record<K, V>> {
  return Object.fromEntries(keys.map((key) => [key, value(key)])) as Record<K, V>;
}
