import { plural } from "../text/format-number.ts";
import { normalizeOutput } from "../text/normalize.ts";
import type { FoundLine, FoundText } from "../text/search/look-into.ts";
import { searchTexts } from "../text/search/search-texts.ts";
import { createTextIndex, type IndexEntry, type IndexedText } from "../text/search/text-index.ts";
import { type RedactOptions, redactSecrets } from "../text/secrets/redact-secrets.ts";
import { countLines, headCut, tailCut } from "../text/truncate.ts";
import type { Handle } from "../transcript/edit.ts";

/** What a search found among the texts out of the model's sight. */
export interface RecalledMatches {
  readonly status: "matches";
  /** Best first: what holds the text word for word, then what holds most of its words; the newest of equals. */
  readonly pieces: readonly RecalledPiece[];
  /** All that may hold it; more than are listed when the list was trimmed. */
  readonly totalPieces: number;
}

/** A text that holds what was searched for, and its lines around the hits. */
interface RecalledPiece {
  readonly handle: Handle;
  /** The best of its lines, counted from 1. */
  readonly bestLine: number;
  /** In their order; not all of them follow each other. */
  readonly lines: readonly RecalledLine[];
  readonly totalLines: number;
  /** Older texts that have the same lines. */
  readonly alsoIn: readonly Handle[];
}

/** A line of a recalled text; a very long one is cut around the hit. */
interface RecalledLine {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** Searches texts, newest first, in at most so many characters. */
export type SearchRecall = (texts: Iterable<IndexedText>, request: SearchRequest) => RecalledMatches;

interface SearchRequest {
  readonly search: string;
  readonly maxChars: number;
}

/**
 * A search over texts that reads each of them once, when it is first searched. Secrets are taken out of what may be shown
 * before it is ranked, so that a search for one finds nothing: to take them out of everything would double the time.
 */
export function createRecallSearch(redact: RedactOptions | undefined): SearchRecall {
  const index = createTextIndex(normalizeOutput);
  const redacted = new WeakMap<IndexEntry, string>();
  const clean = (entry: IndexEntry): string => {
    if (redact === undefined) return entry.text;
    const text = redacted.get(entry) ?? redactSecrets(entry.text, redact);
    redacted.set(entry, text);
    return text;
  };
  return (texts, { search, maxChars }) => {
    const entries = index.update(texts);
    if (search.trim() === "") return { status: "matches", pieces: [], totalPieces: 0 };
    return listPieces(searchTexts(index, entries, { search, clean }), maxChars);
  };
}

/** As much of what was found as fits, at least one line. What was read several times is listed once. */
function listPieces({ texts, total }: ReturnType<typeof searchTexts>, maxChars: number): RecalledMatches {
  const pieces: RecalledPiece[] = [];
  const listed = new Map<string, Handle[]>();
  let usedChars = 0;
  let omitted = 0;
  for (const found of texts) {
    const lines = linesAround(found, pieces.length === 0 ? FIRST_CONTEXT_LINES : CONTEXT_LINES);
    const key = lines.map(({ text }) => text.trim()).join("\n");
    const same = listed.get(key);
    if (same !== undefined) {
      if (same.length < MAX_ALSO_IN) same.push(found.handle);
      continue;
    }
    const fitting = withinRoom(found, lines, maxChars - usedChars - found.handle.length - HEAD_ROOM_CHARS);
    const isListed = pieces.length === 0 || (pieces.length < MAX_PIECES && fitting.length > 0);
    if (!isListed) {
      omitted++;
      continue;
    }
    const alsoIn: Handle[] = [];
    listed.set(key, alsoIn);
    usedChars += found.handle.length + HEAD_ROOM_CHARS + sizeOf(fitting);
    pieces.push({
      handle: found.handle,
      bestLine: found.lines[0]?.number ?? 1,
      lines: fitting,
      totalLines: countLines(found.text),
      alsoIn,
    });
  }
  return { status: "matches", pieces, totalPieces: pieces.length + omitted + total - texts.length };
}

const MAX_PIECES = 10;
const MAX_ALSO_IN = 5;
/** Around the best line; of the first piece more, since it is probably the one. */
const FIRST_CONTEXT_LINES = 3;
const CONTEXT_LINES = 1;
const MAX_HIT_LINES = 8;
/** Lines that have less of the query than this share of the best are not shown for their own sake. */
const LEAST_LINE_SHARE = 0.6;
const LINE_CHARS = 240;
/** What is said around a piece, and around a line: their numbers and separators. */
const HEAD_ROOM_CHARS = 40;
const LINE_ROOM_CHARS = 10;

function sizeOf(lines: readonly RecalledLine[]): number {
  return lines.reduce((chars, { text }) => chars + text.length + LINE_ROOM_CHARS, 0);
}

function linesAround(found: FoundText, contextLines: number): readonly RecalledLine[] {
  const { text, lines: hits } = found;
  const [best] = hits;
  if (best === undefined) return [];
  const shown = new Map<number, string>();
  for (const hit of hits.slice(0, MAX_HIT_LINES))
    if (hit.score >= best.score * LEAST_LINE_SHARE) shown.set(hit.number, excerptAround(text, hit));
  const add = (number: number, start: number, end: number): void => {
    if (!shown.has(number)) shown.set(number, excerptAround(text, { start, end, hitAt: start }));
  };
  let { start, end } = best;
  for (let line = best.number - 1; line >= Math.max(1, best.number - contextLines); line--) {
    end = start - 1;
    start = text.lastIndexOf("\n", end - 1) + 1;
    if (end <= 0) start = 0;
    add(line, start, end);
  }
  ({ end } = best);
  for (let line = best.number + 1; line <= best.number + contextLines && end + 1 < text.length; line++) {
    start = end + 1;
    const next = text.indexOf("\n", start);
    end = next === -1 ? text.length : next;
    add(line, start, end);
  }
  return [...shown]
    .sort(([one], [other]) => one - other)
    .map(([line, shownText]) => ({ line, text: shownText }));
}

/** The best line and those nearest to it, as many as fit. */
function withinRoom(
  { lines: [best] }: FoundText,
  lines: readonly RecalledLine[],
  roomChars: number,
): readonly RecalledLine[] {
  if (sizeOf(lines) <= roomChars) return lines;
  const number = best?.number ?? 0;
  let leftChars = roomChars;
  const kept = new Set<number>();
  for (const { line, text } of lines.toSorted(
    (one, other) => Math.abs(one.line - number) - Math.abs(other.line - number),
  )) {
    leftChars -= text.length + LINE_ROOM_CHARS;
    if (leftChars < 0) break;
    kept.add(line);
  }
  return lines.filter(({ line }) => kept.has(line));
}

function excerptAround(
  text: string,
  { start: from, end: to, hitAt }: Pick<FoundLine, "start" | "end" | "hitAt">,
): string {
  if (to - from <= LINE_CHARS) return text.slice(from, to);
  const start = tailCut(text, Math.max(from, Math.min(hitAt - LINE_CHARS / 3, to - LINE_CHARS)));
  const end = headCut(text, start + LINE_CHARS);
  return `${start > from ? "..." : ""}${text.slice(start, end)}${end < to ? "..." : ""}`;
}

/** What was found, as a model reads it. */
export function formatMatches({ pieces, totalPieces }: RecalledMatches): string {
  const texts = pieces.map(({ handle, bestLine, lines, totalLines, alsoIn }) => {
    const also = alsoIn.length === 0 ? "" : ` (the same lines: ${alsoIn.join(", ")})`;
    return [
      `${handle} line ${bestLine} of ${totalLines}${also}`,
      ...lines.map(({ line, text }) => `${line}: ${text}`),
    ].join("\n");
  });
  const rest = totalPieces - pieces.length;
  const more = rest > 0 ? [`(${plural(rest, "more piece")} with some of this; rarer words find fewer)`] : [];
  return [
    `${plural(totalPieces, "piece")} found, best first; recall a handle for the whole text.`,
    ...texts,
    ...more,
  ].join("\n\n");
}
