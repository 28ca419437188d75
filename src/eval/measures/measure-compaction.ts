import { asObject, asString } from "../../text/json.ts";
import { type Message, type Transcript, textOf } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import { type EvalSession, isStep, isSummary, splitAtCompactions } from "../probe/eval-session.ts";
import { callsOf, plainMessages } from "../probe/history-text.ts";
import { createProbe, type NextUseOptions, probeIndexes } from "../probe/next-use.ts";
import { createScorer, shareOf, type TextScore } from "../probe/score-text.ts";
import { type EvalPolicy, lastChars } from "./policies.ts";

/** What the real compactions of a session kept, and how often the agent read again afterwards. */
export interface CompactionMeasure {
  readonly compactions: readonly CompactionResult[];
  readonly readsAfter: readonly ReadCount[];
  /** At ordinary points of the same sessions. */
  readonly readsElsewhere: readonly ReadCount[];
}

/** What one real summary kept, and what policies keep of the same history. */
interface CompactionResult {
  readonly historyChars: number;
  readonly summaryChars: number;
  readonly targets: number;
  readonly ways: readonly WayResult[];
}

interface WayResult {
  /** A policy, `summary`, or `summary+tail`: the summary and the unchanged end of the history. */
  readonly way: string;
  readonly size: CompactionSize;
  readonly mentioned: number;
  readonly usable: number;
  /** Share of the lines of next edits; unset when no edit came next. */
  readonly editLines: number | undefined;
}

/** As many characters as the real summary, or a number of characters. */
export type CompactionSize = "same" | number;

export interface ReadCount {
  readonly reads: number;
  readonly rereads: number;
  readonly calls: number;
}

interface CompactionOptions {
  readonly policies: readonly EvalPolicy[];
  readonly steps: number;
}

/** Compares the summaries found in a session with what policies keep, by what the agent used next. */
export function measureCompaction(session: EvalSession, options: CompactionOptions): CompactionMeasure {
  const stretches = splitAtCompactions(session.transcript);
  const pairs = stretches.slice(1).flatMap((after, index) => {
    const [summary, before] = [after[0], stretches[index]];
    return summary !== undefined && before !== undefined && isSummary(summary)
      ? [{ before, summary, after: after.slice(1) }]
      : [];
  });
  const { workingDirectory } = session;
  const looking = { ...options, ...(workingDirectory !== undefined && { workingDirectory }) };
  return {
    compactions: pairs.flatMap((pair) => compareWays(pair, looking) ?? []),
    readsAfter: pairs.map(({ before, after }) =>
      countReads(before, after.filter(isStep).slice(0, options.steps)),
    ),
    readsElsewhere:
      pairs.length === 0 ? [] : stretches.flatMap((stretch) => readsAtOrdinaryPoints(stretch, options)),
  };
}

const MIN_TARGETS = 3;
const SIZES: readonly CompactionSize[] = ["same", 20_000, 50_000];

interface CompactionPair {
  readonly before: Transcript;
  readonly summary: Message;
  readonly after: Transcript;
}

function compareWays(
  { before, summary, after }: CompactionPair,
  { policies, ...looking }: CompactionOptions & Pick<NextUseOptions, "workingDirectory">,
): CompactionResult | undefined {
  const probe = createProbe([...before, ...after], { ...looking, atIndex: before.length });
  if (probe.targets.length < MIN_TARGETS) return undefined;
  const score = createScorer(probe);
  const isEditLine = probe.targets.map((target) => target.class === "edit-line");
  const summaryText = textOf(summary);
  const history = plainMessages(before).join("");
  const texts: { way: string; size: CompactionSize; text: string }[] = [
    { way: "summary", size: "same", text: summaryText },
  ];
  for (const size of SIZES) {
    const budgetChars = size === "same" ? summaryText.length : size;
    for (const { name, run } of policies)
      if (budgetChars >= MIN_BUDGET_CHARS) texts.push({ way: name, size, text: run(before, budgetChars) });
    if (size === "same") continue;
    const tail = lastChars(history, Math.max(0, size - summaryText.length));
    texts.push({ way: "summary+tail", size, text: summaryText + tail });
  }
  const ways = texts.map(({ way, size, text }) => ({ way, size, ...keptBy(score(text), isEditLine) }));
  const { historyChars, targets } = probe;
  return { historyChars, summaryChars: summaryText.length, targets: targets.length, ways };
}

/** Below this budget not every policy works. */
const MIN_BUDGET_CHARS = 512;

function keptBy(
  { mentioned, usable }: TextScore,
  isEditLine: readonly boolean[],
): Pick<WayResult, "mentioned" | "usable" | "editLines"> {
  const editLines = mentioned.filter((_, index) => isEditLine[index]);
  return {
    mentioned: shareOf(mentioned) ?? 0,
    usable: shareOf(usable) ?? 0,
    editLines: shareOf(editLines),
  };
}

const ORDINARY_EVERY_STEPS = 12;
const ORDINARY_MIN_RESULTS = 40;

function readsAtOrdinaryPoints(stretch: Transcript, { steps }: CompactionOptions): readonly ReadCount[] {
  return probeIndexes(stretch, {
    steps,
    everySteps: ORDINARY_EVERY_STEPS,
    minResults: ORDINARY_MIN_RESULTS,
  }).map((index) => countReads(stretch.slice(0, index), stretch.slice(index).filter(isStep).slice(0, steps)));
}

function countReads(before: Transcript, after: Transcript): ReadCount {
  const known = new Set(
    callsOf(before)
      .filter(({ tool }) => TOUCHES.test(tool))
      .map(pathOf),
  );
  const paths = callsOf(after)
    .filter(({ tool }) => READS.test(tool))
    .map(pathOf)
    .filter((path) => path !== undefined);
  return {
    reads: paths.length,
    rereads: paths.filter((path) => known.has(path)).length,
    calls: callsOf(after).length,
  };
}

const READS = /^(?:read|view|cat)$/i;
const TOUCHES = /read|edit|write|view/i;

function pathOf({ input }: ToolPart): string | undefined {
  const { file_path, filePath, path } = asObject(input);
  return asString(file_path) ?? asString(filePath) ?? asString(path);
}
