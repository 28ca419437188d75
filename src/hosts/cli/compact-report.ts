import type { Colors } from "./colors.ts";
import type { CompactionDescription, CompactionWork } from "./describe-compaction.ts";
import { renderTable } from "./render-table.ts";
import { counted, shownNumber, shownShare, shownText } from "./shown-text.ts";

export interface CompactReportOptions {
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
    return `${title}: nothing to compact, ${REASONS[reason] ?? reason} (${counted(tokensBefore, "token")})`;
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
  const from = kept.firstId === undefined ? "" : `, from ${shownText(kept.firstId, MAX_ID_CHARS)}`;
  const names = `${counted(carried.filesRead, "file")} read, ${carried.filesChanged} changed, ${counted(carried.anchors, "exact name")}`;
  const left =
    request.omittedMessages > 0
      ? `, without ${counted(request.omittedMessages, "message")} for want of room`
      : "";
  const share = shownShare(tokensAfter, tokensBefore);
  return [
    ["summed up", counted(summarized.messages, "message"), `of ${counted(summarized.tokens, "token")}`],
    ["kept", counted(kept.messages, "message"), `word for word${from}`],
    ["cleared", counted(cleared.results, "result"), `in what is kept, ${counted(cleared.chars, "char")}`],
    ["carried", counted(carried.userMessages, "message"), `of the user, word for word; ${names}`],
    ...(isDone ? [] : [["request", counted(request.tokens, "token"), `to the model${left}`]]),
    [
      "window",
      counted(tokensAfter, "token"),
      `of ${shownNumber(tokensBefore)} (${share})${isDone ? "" : ", with a mechanical summary"}`,
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
