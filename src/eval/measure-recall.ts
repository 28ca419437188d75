import { chooseProbes, type ProbeOptions } from "./choose-probes.ts";
import type { EvalPolicy } from "./eval-policy.ts";
import type { EvalSession } from "./eval-session.ts";
import type { TargetClass } from "./has-identifier.ts";
import { nextUse, type Probe } from "./next-use.ts";
import { plainMessages } from "./plain-text.ts";
import { createRecallSearch, type RecallSearch, wordsOf } from "./recall-search.ts";
import { createScorer, type TextScore } from "./score-text.ts";
import { unescapeText } from "./unescape-text.ts";

/** What every policy keeps at one place of a session. */
export interface ProbeResult {
  readonly historyChars: number;
  readonly targets: readonly TargetFacts[];
  readonly scores: readonly PolicyScore[];
  readonly controls: ProbeControls;
}

/** What the measure itself must hold: the whole history keeps everything, no text keeps nothing. */
export interface ProbeControls {
  readonly missingInWhole: number;
  readonly mentionedInNothing: number;
}

export interface TargetFacts {
  readonly class: TargetClass;
  readonly resultOnly: boolean;
  readonly callsSince: number;
}

export interface PolicyScore extends TextScore {
  readonly policy: string;
  readonly budgetChars: number;
  /** It is usable, or one search of the archive brings it back; unset where that was not measured. */
  readonly usableWithRecall?: readonly boolean[];
}

export interface RecallOptions extends ProbeOptions {
  readonly policies: readonly EvalPolicy[];
  readonly budgetsChars: readonly number[];
  /** Whether what a search of the archive brings back is measured too. */
  readonly search?: "measured";
}

/** The probes of a session with everything that policies are judged by. */
export function probesOf(session: EvalSession, options: ProbeOptions): readonly Probe[] {
  const { workingDirectory } = session;
  return chooseProbes(session.transcript, options)
    .map(({ stretch, atIndex }) =>
      nextUse(stretch, {
        atIndex,
        steps: options.steps,
        ...(workingDirectory !== undefined && { workingDirectory }),
      }),
    )
    .filter(({ targets }) => targets.length >= MIN_TARGETS);
}

/** Next-use recall of all policies at all budgets. Budgets that the history does not fill are left out: nothing is lost there. */
export function measureRecall(probes: readonly Probe[], options: RecallOptions): readonly ProbeResult[] {
  return probes.map((probe) => {
    const score = createScorer(probe);
    const search = options.search === "measured" ? createRecallSearch(probe.history) : undefined;
    const scores: PolicyScore[] = [];
    for (const budgetChars of options.budgetsChars) {
      if (probe.historyChars <= budgetChars) continue;
      for (const { name, run } of options.policies) {
        const text = run(probe.history, budgetChars);
        const scored = score(text);
        const usableWithRecall = search && withRecall({ probe, usable: scored.usable, text, search });
        scores.push({ policy: name, budgetChars, ...scored, ...(usableWithRecall && { usableWithRecall }) });
      }
    }
    return {
      historyChars: probe.historyChars,
      targets: probe.targets.map(({ class: kind, resultOnly, callsSince }) => ({
        class: kind,
        resultOnly,
        callsSince,
      })),
      scores,
      controls: {
        missingInWhole: countOf(score(plainMessages(probe.history).join("")).usable, false),
        mentionedInNothing: countOf(score("").mentioned, true),
      },
    };
  });
}

const MIN_TARGETS = 3;

interface WithRecall {
  readonly probe: Probe;
  readonly usable: readonly boolean[];
  readonly text: string;
  readonly search: RecallSearch;
}

function withRecall({ probe, usable, text, search }: WithRecall): readonly boolean[] {
  if (!usable.includes(false)) return usable;
  const knownWords = wordsOf(unescapeText(text));
  return probe.targets.map((target, index) => usable[index] === true || search(target, knownWords));
}

function countOf(flags: readonly boolean[], wanted: boolean): number {
  return flags.filter((flag) => flag === wanted).length;
}
