import { formatBytes, plural } from "../text/format-number.ts";
import { normalizeText, type RemovedCounts } from "../text/normalize.ts";
import type { CutBy } from "./keep-head-and-tail.ts";
import type { OutputFailure, OutputRef } from "./output-store.ts";
import type { TextSize } from "./text-size.ts";

/** The lines after a cut output: how much is shown, and where the whole of it is. */
export function cutNotice({ by, stats, removed, saved, recallTool }: CutNotice): string {
  const { lines, bytes, chars } = stats;
  const shown = [
    `${lines.shown} of ${lines.total} lines`,
    `${formatBytes(bytes.shown)} of ${formatBytes(bytes.total)}`,
    `${chars.shown} of ${chars.total} chars`,
  ].join(", ");
  const title = by === "saved" ? "Output too large, preview only" : `Output truncated by ${by}`;
  const notice = [`[${title}: ${shown} shown.]`];
  const removedPieces = describeRemoved(removed);
  if (removedPieces !== "") notice.push(`[Removed before counting: ${removedPieces}.]`);
  if (saved !== undefined)
    notice.push(`[Full output kept: ${describeSaved(saved)}${readingHint(saved, recallTool)}]`);
  return notice.join("\n");
}

interface CutNotice {
  readonly by: TruncatedBy;
  readonly stats: ToolOutputStats;
  readonly removed: RemovedCounts | undefined;
  readonly saved: OutputRef | undefined;
  readonly recallTool: string | undefined;
}

/** The last limit that removed something, or `saved` when the whole was replaced by a preview or a notice. */
export type TruncatedBy = CutBy | "saved";

/** The line in the place of an output that is not text. */
export function binaryNotice({ type, bytes, saved }: BinaryNotice): string {
  const what = `Binary output not shown: ${type}`;
  if (saved?.status === "stored")
    return `[${what}, ${describeSaved(saved)}${saved.path === undefined ? "" : " (as it was)"}]`;
  const notSaved = saved === undefined ? "" : `, not saved: ${saved.code}`;
  return `[${what}, ${formatBytes(bytes)}${notSaved}]`;
}

interface BinaryNotice {
  readonly type: string;
  readonly bytes: number;
  readonly saved: OutputRef | OutputFailure | undefined;
}

/** The line before an output that could not be kept. */
export function notSavedNotice({ code }: OutputFailure): string {
  return `[Full output not saved: ${code}]`;
}

/** The line in the place of what was left out. */
export function omissionMarker({ lines, chars }: ToolOutputStats): string {
  const omittedChars = plural(chars.omitted, "char");
  return lines.omitted === 0
    ? `[... ${omittedChars} omitted ...]`
    : `[... ${plural(lines.omitted, "line")} (${omittedChars}) omitted ...]`;
}

/** How much of an output is shown, after cleaning and without notices; binary content counts as bytes only. */
export interface ToolOutputStats {
  readonly lines: Tally;
  /** Code points. */
  readonly chars: Tally;
  readonly bytes: Tally;
}

/** Shown and omitted together are always the total. */
interface Tally {
  readonly shown: number;
  readonly omitted: number;
  readonly total: number;
}

/** The statistics of an output of which this much is shown. */
export function outputStats(shown: TextSize, total: TextSize): ToolOutputStats {
  const tally = (unit: keyof TextSize): Tally => ({
    shown: shown[unit],
    omitted: total[unit] - shown[unit],
    total: total[unit],
  });
  return { lines: tally("lines"), chars: tally("chars"), bytes: tally("bytes") };
}

function describeSaved({ bytes, handle, sha256, path }: OutputRef): string {
  // When the handle is the hash, do not repeat the 64 characters.
  const names =
    handle === sha256
      ? `handle and sha256 ${withoutLineBreaks(handle)}`
      : `handle ${withoutLineBreaks(handle)}, sha256 ${withoutLineBreaks(sha256)}`;
  const place = path === undefined ? "" : `, path ${withoutLineBreaks(path)}`;
  return `${formatBytes(bytes)}, ${names}${place}`;
}

/** How to read what is kept, as far as that is known: by which tool, and from which file. */
export function readingHint({ path }: Pick<OutputRef, "path">, recallTool: string | undefined): string {
  const tool =
    recallTool && `Read parts of it with the ${withoutLineBreaks(recallTool)} tool and this handle`;
  if (path === undefined) return tool === undefined ? "." : `. ${tool}.`;
  // A blank before the parenthesis: a model copies a full stop after a path as part of the path.
  return tool === undefined ? " (Read that file in ranges.)" : ` (${tool}, or read that file in ranges.)`;
}

const MAX_VALUE_CHARS = 4_096;

/** Values from stores and hosts are untrusted. Blanks stay, because a path may contain them. */
function withoutLineBreaks(value: unknown): string {
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
