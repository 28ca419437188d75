import type { RedactOptions } from "../text/redact-secrets.ts";
import type { ToolResult } from "../transcript/tool-results.ts";
import type { ToolSummaryMode } from "./tool-summary-settings.ts";
import { clip, oneLine, quoteName, quoteToolText } from "./tool-summary-text.ts";

/** A summary that needs no model: name, status and an excerpt of each result; in a batch one line for each. */
export function heuristicSummary(
  results: readonly ToolResult[],
  { mode, redact }: { readonly mode: ToolSummaryMode; readonly redact: RedactOptions },
): string {
  if (mode === "sync") {
    const parts = results.map((result) => summaryOf(result, HEURISTIC_CODE_POINTS, redact));
    return parts.join("\n\n");
  }
  const lines = results.map((result, index) => {
    const number = `${index + 1}. `;
    const line = oneLine(summaryOf(result, BATCH_LINE_CODE_POINTS - number.length, redact));
    return clip(number + line, BATCH_LINE_CODE_POINTS);
  });
  return lines.join("\n");
}

/** What a result says: its output or its error, and a line for each attached file. */
export function resultText({ part, text }: ToolResult): string {
  const files = part.outcome.status === "done" ? part.outcome.attachments : [];
  if (files.length === 0) return text;
  const names = files.map(({ mime, filename }) => `[File: ${oneLine(`${mime} ${filename ?? ""}`)}]`);
  return [...(text.trim() === "" ? [] : [text]), ...names].join("\n");
}

/** The documents' word for how a call ended. */
export function statusWord({ status }: ToolResult): "ok" | "error" {
  return status === "done" ? "ok" : "error";
}

const HEURISTIC_CODE_POINTS = 800;
const BATCH_LINE_CODE_POINTS = 220;

function summaryOf(result: ToolResult, maxCodePoints: number, redact: RedactOptions): string {
  const head = `${quoteName(result.part.tool)} (${statusWord(result)}): `;
  const text = resultText(result).trim();
  return head + (text === "" ? "(empty output)" : quoteToolText(text, maxCodePoints - head.length, redact));
}
