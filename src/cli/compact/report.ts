import type { CompactOutcome } from "../../compaction/compact.ts";
import type { CompactionPlan, NothingToCompact } from "../../compaction/plan/plan-compaction.ts";
import { estimateTokens } from "../../text/tokens/estimate-tokens.ts";
import {
  type Colors,
  formatCount,
  formatNumber,
  formatPercent,
  renderTable,
  terminalText,
} from "../terminal/output.ts";

/** What a compaction did or would do, as `--json` prints it. */
export function describeCompaction(
  plan: CompactionPlan | NothingToCompact,
  outcome: CompactOutcome,
  { isDryRun, format }: { readonly isDryRun: boolean; readonly format: string },
): CompactionDescription {
  const { tokensBefore } = plan;
  if (plan.status !== "planned" || outcome.status !== "compacted") {
    const reason = outcome.status === "unchanged" ? outcome.reason : "nothing-old";
    return { status: "unchanged", format, reason, tokensBefore };
  }
  const changedParts = outcome.edits.filter(({ type }) => type === "hide-part" || type === "replace-part");
  const { userWords, filesRead, filesChanged, anchors } = plan.facts;
  return {
    status: isDryRun ? "planned" : "compacted",
    format,
    tokensBefore,
    tokensAfter: outcome.tokensAfter,
    summarized: { messages: plan.foldedIds.length, tokens: plan.replacedTokens },
    kept: { messages: plan.keptIds.length, firstId: plan.firstKeptId },
    cleared: {
      results: changedParts.length,
      chars: changedParts.reduce((sum, edit) => sum + (edit.omitted?.chars ?? 0), 0),
    },
    carried: {
      userMessages: userWords.length,
      filesRead: filesRead.length,
      filesChanged: filesChanged.length,
      anchors: anchors.length,
    },
    request: {
      tokens: estimateTokens(plan.request.system + plan.request.prompt, { estimator: "calibrated" }),
      omittedMessages: plan.omittedMessages,
    },
    ...(!isDryRun && {
      summary: outcome.summary,
      summaryBy: outcome.degraded === undefined ? "model" : "fold",
    }),
  };
}

type CompactionDescription =
  | CompactionWork
  | {
      readonly status: "unchanged";
      readonly format: string;
      readonly reason: string;
      readonly tokensBefore: number;
    };

interface CompactionWork {
  readonly status: "planned" | "compacted";
  readonly format: string;
  readonly tokensBefore: number;
  /** Of a plan: with a mechanical summary instead of the model's. */
  readonly tokensAfter: number;
  readonly summarized: { readonly messages: number; readonly tokens: number };
  readonly kept: { readonly messages: number; readonly firstId: string | undefined };
  /** Tool results in the kept part that were reduced to a line. */
  readonly cleared: { readonly results: number; readonly chars: number };
  /** What is carried verbatim beside the summary. */
  readonly carried: Readonly<Record<"userMessages" | "filesRead" | "filesChanged" | "anchors", number>>;
  /** The request to the model. */
  readonly request: { readonly tokens: number; readonly omittedMessages: number };
  readonly summary?: string;
  readonly summaryBy?: "model" | "fold";
}

interface CompactReportOptions {
  readonly title: string;
  readonly colors: Colors;
  readonly written?: string;
  readonly backup?: string;
}

/** What a compaction did or would do, for the terminal. */
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
