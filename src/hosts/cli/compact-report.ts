import type { CompactOutcome } from "../../compaction/compact-outcome.ts";
import type { CompactionPlan, NothingToCompact } from "../../compaction/plan-compaction-types.ts";
import { estimateTokens } from "../../text/estimate-tokens.ts";
import type { Colors } from "./colors.ts";
import { renderTable } from "./render-table.ts";
import { shownNumber, shownShare, shownText } from "./shown-text.ts";

/** What a compaction does or would do, for a program to read. */
export interface CompactionDescription {
  readonly status: "planned" | "compacted" | "unchanged";
  /** Why nothing is done. */
  readonly reason?: string;
  readonly format: string;
  readonly tokensBefore: number;
  /** Of a plan: with a mechanical summary in the place of the model's. */
  readonly tokensAfter: number;
  readonly summarized?: { readonly messages: number; readonly tokens: number; readonly lastId: string };
  readonly kept?: { readonly messages: number; readonly firstId: string | undefined };
  readonly cleared?: { readonly results: number; readonly chars: number };
  /** What stands beside the summary word for word. */
  readonly carried?: {
    readonly userMessages: number;
    readonly filesRead: number;
    readonly filesChanged: number;
    readonly anchors: number;
  };
  readonly request?: { readonly tokens: number; readonly omittedMessages: number };
  readonly summary?: string;
  /** What no model wrote. */
  readonly summaryBy?: "model" | "fold";
}

export interface DescribeOptions {
  readonly isDryRun: boolean;
  readonly format: string;
}

/** Describes a plan together with what came of it. */
export function describeCompaction(
  plan: CompactionPlan | NothingToCompact,
  outcome: CompactOutcome,
  { isDryRun, format }: DescribeOptions,
): CompactionDescription {
  const { tokensBefore } = plan;
  if (plan.status === "nothing" || outcome.status === "unchanged") {
    const reason = outcome.status === "unchanged" ? outcome.reason : "nothing-old";
    return { status: "unchanged", reason, format, tokensBefore, tokensAfter: tokensBefore };
  }
  const onParts = outcome.edits.filter(({ type }) => type === "hide-part" || type === "replace-part");
  const { facts, request } = plan;
  return {
    status: isDryRun ? "planned" : "compacted",
    format,
    tokensBefore,
    tokensAfter: outcome.tokensAfter,
    summarized: {
      messages: plan.foldedIds.length,
      tokens: plan.replacedTokens,
      lastId: plan.foldedIds.at(-1) ?? "",
    },
    kept: { messages: plan.keptIds.length, firstId: plan.firstKeptId },
    cleared: {
      results: onParts.length,
      chars: onParts.reduce((sum, edit) => sum + (edit.omitted?.chars ?? 0), 0),
    },
    carried: {
      userMessages: facts.userWords.length,
      filesRead: facts.filesRead.length,
      filesChanged: facts.filesChanged.length,
      anchors: facts.anchors.length,
    },
    request: {
      tokens: estimateTokens(request.system + request.prompt, { estimator: "calibrated" }),
      omittedMessages: plan.omittedMessages,
    },
    ...(!isDryRun && {
      summary: outcome.summary,
      summaryBy: outcome.degraded === undefined ? ("model" as const) : ("fold" as const),
    }),
  };
}

export interface CompactReportOptions {
  readonly title: string;
  readonly colors: Colors;
  readonly written?: string;
  readonly backup?: string;
}

/** The same for a person to read. */
export function compactReport(
  description: CompactionDescription,
  { title, colors, written, backup }: CompactReportOptions,
): string {
  const {
    status,
    reason = "",
    tokensBefore,
    tokensAfter,
    summarized,
    kept,
    cleared,
    carried,
    request,
  } = description;
  if (summarized === undefined || kept === undefined || carried === undefined)
    return `${title}: nothing to compact, ${REASONS[reason] ?? reason} (${shownNumber(tokensBefore)} tokens)`;
  const isDone = status === "compacted";
  const rows = [
    [
      "summed up",
      shownNumber(summarized.messages),
      `messages, ${shownNumber(summarized.tokens)} tokens, up to ${shownText(summarized.lastId, MAX_ID_CHARS)}`,
    ],
    [
      "kept",
      shownNumber(kept.messages),
      `messages word for word${kept.firstId === undefined ? "" : `, from ${shownText(kept.firstId, MAX_ID_CHARS)}`}`,
    ],
    [
      "cleared",
      shownNumber(cleared?.results ?? 0),
      `results in what is kept, ${shownNumber(cleared?.chars ?? 0)} chars`,
    ],
    [
      "carried",
      shownNumber(carried.userMessages),
      `messages of the user word for word, ${carried.filesRead} files read, ${carried.filesChanged} changed, ${carried.anchors} exact names`,
    ],
    ...(isDone || request === undefined
      ? []
      : [
          [
            "request",
            shownNumber(request.tokens),
            `tokens to the model${request.omittedMessages > 0 ? `, without ${request.omittedMessages} messages that do not fit` : ""}`,
          ],
        ]),
    [
      "window",
      shownNumber(tokensAfter),
      `of ${shownNumber(tokensBefore)} tokens are left (${shownShare(tokensAfter, tokensBefore)})${isDone ? "" : ", with a mechanical summary"}`,
    ],
  ];
  return [
    colors.bold(title),
    "",
    colors.bold(isDone ? "Compacted" : "A compaction would leave"),
    renderTable(rows),
    ...(description.summary === undefined
      ? ["", "Nothing was done. Add --model and --url, or --fold, to compact."]
      : [
          "",
          colors.bold(description.summaryBy === "model" ? "Summary" : "Summary, made without a model"),
          ...description.summary.split("\n").map((line) => `  ${line}`.trimEnd()),
        ]),
    ...(written === undefined
      ? []
      : ["", `Written to ${written}${backup === undefined ? "" : `; the file as it was is ${backup}`}`]),
  ].join("\n");
}

const MAX_ID_CHARS = 60;

const REASONS: Readonly<Record<string, string>> = {
  empty: "the session has no messages",
  "nothing-old": "everything is part of what stays",
  "too-little": "what could be summed up is less than a tenth of it",
  "no-gain": "it would save less than a tenth",
  "lost-content": "a pin or the last request would have been lost",
};
