import { cacheHitShare, type LiveEntry } from "../../view/live.ts";
import { percent, short } from "../words/numbers.ts";

/** One thing that the plugin wrote down, in a line. */
export function entryText(entry: LiveEntry): string {
  switch (entry.type) {
    case "request":
      return (
        entry.error ??
        `request: ${short(entry.inputTokens + entry.cacheReadTokens + entry.cacheWriteTokens)} tokens in, ${percent(cacheHitShare(entry), 1)} from the cache`
      );
    case "tool-output":
      return `${entry.tool}: ${short(entry.shownChars)} of ${short(entry.totalChars)} chars shown`;
    case "batch":
      return `${entry.step}: ${short(entry.tokensBefore)} → ${short(entry.tokensAfter)} tokens (${entry.reason})`;
    case "batch-gone":
      return entry.why === "undo" ? "an edit was taken back" : "an edit no longer applies";
    case "fork":
      return `fork #${entry.number}: ${entry.state} (${entry.because})`;
    case "note":
      return entry.text;
  }
}
