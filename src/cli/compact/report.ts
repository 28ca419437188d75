import type { Compacted, CompactOutcome } from "../../compaction/compact.ts";
import type { CompactionPlan, NothingToCompact } from "../../compaction/plan/plan-compaction.ts";
import { estimateTokens } from "../../text/tokens/estimate-tokens.ts";
import type { CarriedFacts } from "../../transcript/carried-facts.ts";
import {
  type Colors,
  formatCount,
  formatNumber,
  formatPercent,
  renderTable,
  terminalText,
} from "../terminal/output.ts";

/** What a compaction does or would do, for a program to read. */
type CompactionDescription = CompactionWork | NoCompaction;

interface NoCompaction {
  readonly status: "unchanged";
  readonly format: string;
  readonly reason: string;
  readonly tokensBefore: number;
}

interface CompactionWork {
  readonly status: "planned" | "compacted";
  readonly format: string;
  readonly tokensBefore: number;
  /** Of a plan: with a mechanical summary in the place of the model's. */
  readonly tokensAfter: number;
  readonly summarized: { readonly messages: number; readonly tokens: number };
  readonly kept: { readonly messages: number; readonly firstId: string | undefined };
  /** Results in what is kept of which only a line is left. */
  readonly cleared: { readonly results: number; readonly chars: number };
  readonly carried: CarriedCounts;
  /** What a model is asked. */
  readonly request: { readonly tokens: number; readonly omittedMessages: number };
  /** Once it is done. */
  readonly summary?: string;
  readonly summaryBy?: "model" | "fold";
}

/** How much stands beside the summary word for word. */
interface CarriedCounts {
  readonly userMessages: number;
  readonly filesRead: number;
  readonly filesChanged: number;
  readonly anchors: number;
}

interface DescribeOptions {
  readonly isDryRun: boolean;
  readonly format: string;
}

/** Describes a plan together with what came of it. */
export function describeCompaction(
  plan: CompactionPlan | NothingToCompact,
  outcome: CompactOutcome,
  options: DescribeOptions,
): CompactionDescription {
  if (plan.status === "planned" && outcome.status === "compacted")
    return describeWork(plan, outcome, options);
  const reason = outcome.status === "unchanged" ? outcome.reason : "nothing-old";
  return { status: "unchanged", format: options.format, reason, tokensBefore: plan.tokensBefore };
}

function describeWork(
  plan: CompactionPlan,
  outcome: Compacted,
  { isDryRun, format }: DescribeOptions,
): CompactionWork {
  const onParts = outcome.edits.filter(({ type }) => type === "hide-part" || type === "replace-part");
  const { system, prompt } = plan.request;
  return {
    status: isDryRun ? "planned" : "compacted",
    format,
    tokensBefore: plan.tokensBefore,
    tokensAfter: outcome.tokensAfter,
    summarized: { messages: plan.foldedIds.length, tokens: plan.replacedTokens },
    kept: { messages: plan.keptIds.length, firstId: plan.firstKeptId },
    cleared: {
      results: onParts.length,
      chars: onParts.reduce((sum, edit) => sum + (edit.omitted?.chars ?? 0), 0),
    },
    carried: countFacts(plan.facts),
    request: {
      tokens: estimateTokens(system + prompt, { estimator: "calibrated" }),
      omittedMessages: plan.omittedMessages,
    },
    ...(!isDryRun && {
      summary: outcome.summary,
      summaryBy: outcome.degraded === undefined ? ("model" as const) : ("fold" as const),
    }),
  };
}

function countFacts({ userWords, filesRead, filesChanged, anchors }: CarriedFacts): CarriedCounts {
  return {
    userMessages: userWords.length,
    filesRead: filesRead.length,
    filesChanged: filesChanged.length,
    anchors: anchors.length,
  };
}

interface CompactReportOptions {
  readonly title: string;
  readonly colors: Colors;
  readonly written?: string;
  readonly backup?: string;
}

/** What a compaction does or would do, for a person to read. */
export function compactReport(
  description: CompactionDescription,
  { title, colors, written, backup }: CompactReportOptions,
): string {
  if (description.status === "unchanged") {
    const { reason, tokensBefore } = description;
    return `${title}: nothing to compact, ${REASONS[reason] ?? reason} (${formatCount(tokensBefore, "token")})`;
  }
  const { status, summary, summaryBy } = description;
  const copy = backup === undefined ? "" : `; the file as it was is ${backup}`;
  return [
    colors.bold(title),
    "",
    colors.bold(status === "compacted" ? "Compacted" : "A compaction would leave"),
    renderTable(rowsOf(description)),
    "",
    ...(summary === undefined
      ? ["Nothing was done. Add --model and --url, or --fold, to compact."]
      : [
          colors.bold(summaryBy === "model" ? "Summary" : "Summary, made without a model"),
          ...summary.split("\n").map((line) => `  ${line}`.trimEnd()),
        ]),
    ...(written === undefined ? [] : ["", `Written to ${written}${copy}`]),
  ].join("\n");
}

function rowsOf(work: CompactionWork): readonly (readonly string[])[] {
  const { status, tokensBefore, tokensAfter, summarized, kept, cleared, carried, request } = work;
  const isDone = status === "compacted";
  const from = kept.firstId === undefined ? "" : `, from ${terminalText(kept.firstId, MAX_ID_CHARS)}`;
  const names = `${formatCount(carried.filesRead, "file")} read, ${carried.filesChanged} changed, ${formatCount(carried.anchors, "exact name")}`;
  const left =
    request.omittedMessages > 0
      ? `, without ${formatCount(request.omittedMessages, "message")} for want of room`
      : "";
  const share = formatPercent(tokensAfter, tokensBefore);
  return [
    [
      "summed up",
      formatCount(summarized.messages, "message"),
      `of ${formatCount(summarized.tokens, "token")}`,
    ],
    ["kept", formatCount(kept.messages, "message"), `word for word${from}`],
    [
      "cleared",
      formatCount(cleared.results, "result"),
      `in what is kept, ${formatCount(cleared.chars, "char")}`,
    ],
    ["carried", formatCount(carried.userMessages, "message"), `of the user, word for word; ${names}`],
    ...(isDone ? [] : [["request", formatCount(request.tokens, "token"), `to the model${left}`]]),
    [
      "window",
      formatCount(tokensAfter, "token"),
      `of ${formatNumber(tokensBefore)} (${share})${isDone ? "" : ", with a mechanical summary"}`,
    ],
  ];
}

const MAX_ID_CHARS = 60;

const REASONS: Readonly<Record<string, string>> = {
  empty: "the session has no messages",
  "nothing-old": "everything is part of what stays",
  "too-little": "what could be summed up is less than a tenth of it",
  "no-gain": "it would save less than a tenth",
  "lost-content": "a pin or the last request would have been lost",
};
