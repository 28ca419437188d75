import { asObject, asString } from "../../text/unknown-value.ts";
import { isSummary, type Message, messageText, type Transcript } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import { callsOf, plainMessages } from "../probe/history-text.ts";
import { createProbe, isStep, type NextUseOptions } from "../probe/next-use.ts";
import { type EvalSession, probeIndexes, splitAtCompactions } from "../probe/places.ts";
import { createScorer, shareOf } from "../probe/score-text.ts";
import { type EvalPolicy, lastChars } from "./policies.ts";

/** What the real compactions of a session kept, and how often the agent read again afterwards. */
export interface CompactionMeasure {
  readonly compactions: readonly CompactionResult[];
  /** How many reads of known files the next steps had: after each compaction, and at ordinary points of the same sessions. */
  readonly rereadsAfter: readonly number[];
  readonly rereadsElsewhere: readonly number[];
}

/** What one real summary kept, and what policies keep of the same history. */
interface CompactionResult {
  readonly historyChars: number;
  readonly summaryChars: number;
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
    rereadsAfter: pairs.map(({ before, after }) => countRereads(before, after, options)),
    rereadsElsewhere:
      pairs.length === 0 ? [] : stretches.flatMap((stretch) => rereadsAtOrdinaryPoints(stretch, options)),
  };
}

const MIN_TARGETS = 3;
const SIZES: readonly CompactionSize[] = ["same", 20_000, 50_000];

function compareWays(
  {
    before,
    summary,
    after,
  }: { readonly before: Transcript; readonly summary: Message; readonly after: Transcript },
  { policies, ...looking }: CompactionOptions & Pick<NextUseOptions, "workingDirectory">,
): CompactionResult | undefined {
  const probe = createProbe([...before, ...after], { ...looking, atIndex: before.length });
  if (probe.targets.length < MIN_TARGETS) return undefined;
  const score = createScorer(probe);
  const isEditLine = probe.targets.map((target) => target.class === "edit-line");
  const summaryText = messageText(summary);
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
  const ways = texts.map(({ way, size, text }) => {
    const { mentioned, usable } = score(text);
    return {
      way,
      size,
      mentioned: shareOf(mentioned) ?? 0,
      usable: shareOf(usable) ?? 0,
      editLines: shareOf(mentioned.filter((_, index) => isEditLine[index])),
    };
  });
  return { historyChars: probe.historyChars, summaryChars: summaryText.length, ways };
}

/** Some policies do not work below this budget. */
const MIN_BUDGET_CHARS = 512;
const ORDINARY_EVERY_STEPS = 12;
const ORDINARY_MIN_RESULTS = 40;

function rereadsAtOrdinaryPoints(stretch: Transcript, options: CompactionOptions): readonly number[] {
  return probeIndexes(stretch, {
    steps: options.steps,
    everySteps: ORDINARY_EVERY_STEPS,
    minResults: ORDINARY_MIN_RESULTS,
  }).map((index) => countRereads(stretch.slice(0, index), stretch.slice(index), options));
}

function countRereads(before: Transcript, after: Transcript, { steps }: CompactionOptions): number {
  const known = new Set(
    callsOf(before)
      .filter(({ tool }) => TOUCHES.test(tool))
      .map(pathOf),
  );
  return callsOf(after.filter(isStep).slice(0, steps))
    .filter(({ tool }) => READS.test(tool))
    .map(pathOf)
    .filter((path) => path !== undefined && known.has(path)).length;
}

const READS = /^(?:read|view|cat)$/i;
const TOUCHES = /read|edit|write|view/i;

function pathOf({ input }: ToolPart): string | undefined {
  const { file_path, filePath, path } = asObject(input);
  return asString(file_path) ?? asString(filePath) ?? asString(path);
}
