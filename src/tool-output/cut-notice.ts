import { normalizeText, type RemovedCounts } from "../text/normalize-text.ts";
import type { SpillFailure, SpillRef } from "./spill-store.ts";
import type { ToolOutputStats, TruncatedBy } from "./tool-output-result.ts";

/** The lines after a cut output: how much is shown, and where the whole of it is. */
export function cutNotice({ by, stats, removed, spill, recallTool }: CutNotice): string {
  const { lines, bytes, chars } = stats;
  const shown = [
    `${lines.shown} of ${lines.total} lines`,
    `${formatBytes(bytes.shown)} of ${formatBytes(bytes.total)}`,
    `${chars.shown} of ${chars.total} chars`,
  ].join(", ");
  const title = by === "spill" ? "Output too large, preview only" : `Output truncated by ${by}`;
  const notice = [`[${title}: ${shown} shown.]`];
  const removedPieces = describeRemoved(removed);
  if (removedPieces !== "") notice.push(`[Removed before counting: ${removedPieces}.]`);
  if (spill !== undefined)
    notice.push(`[Full output kept: ${whereabouts(spill)}. ${hint(spill, recallTool)}]`);
  return notice.join("\n");
}

export interface CutNotice {
  readonly by: TruncatedBy;
  readonly stats: ToolOutputStats;
  readonly removed: RemovedCounts | undefined;
  readonly spill: SpillRef | undefined;
  readonly recallTool: string;
}

/** The line in the place of an output that is not text. */
export function binaryNotice({ type, bytes, spill }: BinaryNotice): string {
  const what = `Binary output not shown: ${type}`;
  if (spill?.status === "stored") return `[${what}, ${whereabouts(spill)}]`;
  const notSaved = spill === undefined ? "" : `, not saved: ${spill.code}`;
  return `[${what}, ${formatBytes(bytes)}${notSaved}]`;
}

export interface BinaryNotice {
  readonly type: string;
  readonly bytes: number;
  readonly spill: SpillRef | SpillFailure | undefined;
}

/** The line before an output that could not be kept. */
export function notSavedNotice({ code }: SpillFailure): string {
  return `[Full output not saved: ${code}]`;
}

/** The line in the place of what was left out. */
export function omissionMarker({ lines, chars }: ToolOutputStats): string {
  const omittedLines = `${lines.omitted} ${lines.omitted === 1 ? "line" : "lines"}`;
  const omittedChars = `${chars.omitted} ${chars.omitted === 1 ? "char" : "chars"}`;
  return lines.omitted === 0
    ? `[... ${omittedChars} omitted ...]`
    : `[... ${omittedLines} (${omittedChars}) omitted ...]`;
}

/** A number of bytes as people read it. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(1)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}

function whereabouts({ bytes, handle, sha256, path }: SpillRef): string {
  // Stores that name content by its hash would say the same 64 characters twice.
  const names =
    handle === sha256
      ? `handle and sha256 ${oneLine(handle)}`
      : `handle ${oneLine(handle)}, sha256 ${oneLine(sha256)}`;
  const place = path === undefined ? "" : `, path ${oneLine(path)}`;
  return `${formatBytes(bytes)}, ${names}${place}`;
}

function hint({ path }: SpillRef, recallTool: string): string {
  const recall = `Read parts of it with the ${oneLine(recallTool)} tool and this handle`;
  return path === undefined ? `${recall}.` : `${recall}, or read that file in ranges.`;
}

const MAX_VALUE_CHARS = 4_096;

/** A store's answer is outside text like any other. */
function oneLine(value: unknown): string {
  return normalizeText(String(value).slice(0, MAX_VALUE_CHARS)).replace(/[\r\n]+/g, " ");
}

const REMOVED_NAMES: Readonly<Record<keyof RemovedCounts, string>> = {
  escapeSequences: "escape sequences",
  overwrites: "overwrites",
  controls: "control characters",
  invisible: "invisible characters",
  loneSurrogates: "broken characters",
};

function describeRemoved(removed: RemovedCounts | undefined): string {
  if (removed === undefined) return "";
  const kinds = Object.entries(REMOVED_NAMES) as [keyof RemovedCounts, string][];
  return kinds
    .filter(([kind]) => removed[kind] > 0)
    .map(([kind, name]) => `${name} ${removed[kind]}`)
    .join(", ");
}
