import { unescapeText } from "./history-text.ts";
import { hasIdentifier } from "./identifiers.ts";
import type { LocatedTarget, Probe } from "./next-use.ts";

/** Creates a function that scores texts against one probe. */
export function createScorer({ targets, edits }: Probe): (text: string) => TextScore {
  const numbers = numberLines(targets);
  return (text) => {
    const view = createLineView(unescapeText(text), numbers);
    const mentioned = targets.map((target) => hasIdentifier(view.text, target));
    const usable = targets.map((target, index) => mentioned[index] === true && isUsable(target, view));
    const inContext = targets.map((target, index) => usable[index] === true && isInContext(target, view));
    const editReady = edits.map((lines) => lines.every((line) => view.includes(line)));
    return { chars: text.length, mentioned, usable, inContext, editReady, ...refetch(targets, usable) };
  };
}

/** What a text keeps of a probe's targets, target by target and edit by edit. */
export interface TextScore {
  readonly chars: number;
  /** The bare identifier is there. */
  readonly mentioned: readonly boolean[];
  /** It is there together with a line in which it stood. */
  readonly usable: readonly boolean[];
  /** That line stands between its neighbours. */
  readonly inContext: readonly boolean[];
  /** Per edit: every line it must repeat is there. */
  readonly editReady: readonly boolean[];
  /** Distinct results that would have to be fetched again to use what is missing. */
  readonly refetchCalls: number;
  readonly refetchChars: number;
}

function isUsable({ places }: LocatedTarget, view: LineView): boolean {
  return places.some(({ line }) => view.has(line)) || places.some(({ snippet }) => view.includes(snippet));
}

function isInContext({ places }: LocatedTarget, view: LineView): boolean {
  return places.some(({ line, snippet, before, after }) =>
    (view.has(line) ? view.linesLike(line) : view.linesWith(snippet)).some(
      (index) =>
        (before === undefined || view.isLine(index - 1, before)) &&
        (after === undefined || view.isLine(index + 1, after)),
    ),
  );
}

function refetch(
  targets: readonly LocatedTarget[],
  usable: readonly boolean[],
): Pick<TextScore, "refetchCalls" | "refetchChars"> {
  const results = new Map<number, number>();
  for (const [index, { newestResult }] of targets.entries())
    if (!usable[index] && newestResult !== undefined) results.set(newestResult.startChar, newestResult.chars);
  return {
    refetchCalls: results.size,
    refetchChars: [...results.values()].reduce((sum, chars) => sum + chars, 0),
  };
}

/** The lines that matter for a probe, each with a number. */
type LineNumbers = ReadonlyMap<string, number>;

function numberLines(targets: readonly LocatedTarget[]): LineNumbers {
  const numbers = new Map<string, number>();
  for (const { places } of targets)
    for (const { line, before, after } of places)
      for (const text of [line, before, after])
        if (text !== undefined && !numbers.has(text)) numbers.set(text, numbers.size);
  return numbers;
}

interface LineView {
  readonly text: string;
  /** True when one line of the text, trimmed, is this one. */
  has(line: string): boolean;
  includes(snippet: string): boolean;
  /** Where this line stands, counted in lines that are not blank. */
  linesLike(line: string): readonly number[];
  /** Where lines with this in them stand. */
  linesWith(snippet: string): readonly number[];
  isLine(index: number, line: string): boolean;
}

/** A text by its lines. Lines that no target refers to get no number. */
function createLineView(text: string, numbers: LineNumbers): LineView {
  const lineNumbers: number[] = [];
  const lineStarts: number[] = [];
  const places = new Map<number, number[]>();
  for (let start = 0; start < text.length; ) {
    const lineBreak = text.indexOf("\n", start);
    const end = lineBreak === -1 ? text.length : lineBreak;
    const line = text.slice(start, end).trim();
    if (line !== "") {
      const number = numbers.get(line) ?? -1;
      if (number !== -1) {
        const known = places.get(number);
        if (known === undefined) places.set(number, [lineNumbers.length]);
        else known.push(lineNumbers.length);
      }
      lineNumbers.push(number);
      lineStarts.push(start);
    }
    start = end + 1;
  }
  const included = new Map<string, boolean>();
  const linesLike = (line: string): readonly number[] => places.get(numbers.get(line) ?? -1) ?? [];
  return {
    text,
    has: (line) => linesLike(line).length > 0,
    includes(snippet) {
      let known = included.get(snippet);
      if (known === undefined) {
        known = text.includes(snippet);
        included.set(snippet, known);
      }
      return known;
    },
    linesLike,
    linesWith(snippet) {
      const found: number[] = [];
      for (let at = text.indexOf(snippet); at !== -1; at = text.indexOf(snippet, at + 1))
        found.push(lastAtOrBefore(lineStarts, at));
      return found;
    },
    isLine: (index, line) => lineNumbers[index] !== undefined && lineNumbers[index] === numbers.get(line),
  };
}

/** The index of the last of ascending numbers that is at most `limit`; -1 when none is. */
function lastAtOrBefore(rising: readonly number[], limit: number): number {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rising[middle] ?? Number.POSITIVE_INFINITY) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The share of true values; undefined when there are none. */
export function shareOf(flags: readonly boolean[]): number | undefined {
  if (flags.length === 0) return undefined;
  return flags.reduce((count, flag) => count + (flag ? 1 : 0), 0) / flags.length;
}
