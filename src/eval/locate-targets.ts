import { hasIdentifier, type Mentioned } from "./has-identifier.ts";
import { blockAt, type HistoryBlock, type HistoryText } from "./history-text.ts";

/** A target with what must survive of it, and what it would take to get it back. */
export interface LocatedTarget extends Mentioned {
  /** Calls since it was last seen. */
  readonly callsSince: number;
  /** True when only tool outputs hold it, no message and no input. */
  readonly resultOnly: boolean;
  /** The places where it stood, newest first. */
  readonly places: readonly TargetPlace[];
  /** The newest result that holds it, which fetching it again would bring back. */
  readonly newestResult: { readonly startChar: number; readonly chars: number } | undefined;
}

/** One line in which a target stood. */
export interface TargetPlace {
  /** What must be kept word for word to use the target: the line, or the middle of a very long one. */
  readonly snippet: string;
  /** The line with its neighbours in the same block; undefined at the block's edge. Blank lines do not count. */
  readonly line: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Finds where targets stood in the history. */
export function locateTargets(targets: readonly Mentioned[], history: HistoryText): readonly LocatedTarget[] {
  const written = writtenText(history);
  return targets.map((target) => ({
    ...target,
    ...lastSeen(target, history),
    resultOnly: !hasIdentifier(written, target),
    places: placesOf(target, history),
  }));
}

/** More places than this say nothing new. */
const MAX_PLACES = 24;
/** Longer lines count as kept when this much around the target is. */
const MAX_LINE_CHARS = 240;
const WINDOW_CHARS = 60;

function writtenText({ text, blocks }: HistoryText): string {
  let written = "";
  for (const block of blocks)
    if (block.type !== "result") written += `\n${text.slice(block.startChar, block.endChar)}`;
  return written;
}

function lastSeen(
  { identifier }: Mentioned,
  history: HistoryText,
): Pick<LocatedTarget, "callsSince" | "newestResult"> {
  let newest: HistoryBlock | undefined;
  for (let at = history.text.lastIndexOf(identifier); at !== -1; ) {
    const block = blockAt(history, at);
    newest ??= block;
    if (block?.type === "result") {
      const newestResult = { startChar: block.startChar, chars: block.sentChars };
      return { callsSince: newest?.callsSince ?? 0, newestResult };
    }
    if (block === undefined || block.startChar === 0) break;
    at = history.text.lastIndexOf(identifier, block.startChar - 1);
  }
  return { callsSince: newest?.callsSince ?? 0, newestResult: undefined };
}

function placesOf({ identifier, class: kind }: Mentioned, history: HistoryText): readonly TargetPlace[] {
  const { text } = history;
  const places = new Map<string, TargetPlace>();
  let at = text.lastIndexOf(identifier);
  for (let left = MAX_PLACES; left > 0 && at !== -1; left--) {
    const lineStart = text.lastIndexOf("\n", at) + 1;
    const nextBreak = text.indexOf("\n", at);
    const lineEnd = nextBreak === -1 ? text.length : nextBreak;
    const line = text.slice(lineStart, lineEnd).trim();
    const isLong = lineEnd - lineStart > MAX_LINE_CHARS;
    const from = isLong ? Math.max(lineStart, at - WINDOW_CHARS) : lineStart;
    const to = isLong ? Math.min(lineEnd, at + identifier.length + WINDOW_CHARS) : lineEnd;
    const snippet = kind === "edit-line" ? identifier : text.slice(from, to).trim();
    const block = blockAt(history, at);
    const before = block && neighbour(text, { from: lineStart - 1, to: block.startChar, step: -1 });
    const after = block && neighbour(text, { from: lineEnd, to: block.endChar, step: 1 });
    const key = `${before}\n${isLong ? snippet : line}\n${after}`;
    if (!places.has(key)) places.set(key, { snippet, line, before, after });
    at = at === 0 ? -1 : text.lastIndexOf(identifier, at - 1);
  }
  return [...places.values()];
}

interface NeighbourSearch {
  /** The line break next to the line. */
  readonly from: number;
  /** The border of the block. */
  readonly to: number;
  readonly step: 1 | -1;
}

/** The nearest line that is not blank, on one side, within the block. */
function neighbour(text: string, { from, to, step }: NeighbourSearch): string | undefined {
  let edge = from;
  while (step === 1 ? edge < to : edge > to) {
    const next = step === 1 ? text.indexOf("\n", edge + 1) : text.lastIndexOf("\n", edge - 1);
    const line =
      step === 1
        ? text.slice(edge + 1, next === -1 || next > to ? to : next)
        : text.slice(Math.max(next + 1, to), edge);
    if (line.trim() !== "") return line.trim();
    if (next === -1) return undefined;
    edge = next;
  }
  return undefined;
}
