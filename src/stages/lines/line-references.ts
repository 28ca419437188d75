import type { FillSource } from "./read-call.ts";
import type { FillRows } from "./rows.ts";
import { nameStart } from "./words.ts";

/**
 * Line numbers that texts mention, by file name: by the agent or user, as in `engine.ts:49` or "engine.ts (lines
 * 60-75)", and in output of compilers, tests, reviews and searches.
 */
export function readLineReferences({ segments }: FillRows): LineReferences {
  const references = new Map<string, Set<number>>();
  for (const { source, text } of segments) {
    if (FILE_SOURCES.has(source)) continue;
    let file: string | undefined;
    let from = 0;
    for (const { 0: found, 1: ending, 2: first, 3: last = first, index } of text
      .slice(0, MAX_CHARS)
      .matchAll(LINE_REFERENCE)) {
      const end = index + found.length;
      // The file name is directly before the number, or earlier in the text.
      if (ending !== undefined) file = text.slice(nameStart(text, index), index) + ending;
      else
        file =
          text
            .slice(Math.max(from, index - MAX_NAME_CHARS), index)
            .match(FILE_NAME)
            ?.at(-1) ?? file;
      from = end;
      if (file === undefined) continue;
      const lines = references.get(file) ?? new Set();
      references.set(file, lines);
      const lastLine = Math.min(Number(last), Number(first) + MAX_LINES) + LINES_AROUND;
      for (let line = Math.max(1, Number(first) - LINES_AROUND); line <= lastLine; line++) lines.add(line);
    }
  }
  return references;
}

/** By the name of the file. */
type LineReferences = ReadonlyMap<string, ReadonlySet<number>>;

const FILE_SOURCES: ReadonlySet<FillSource> = new Set(["read", "change", "removed", "call"]);

/** Only the beginning of a text is searched. */
const MAX_CHARS = 20_000;
const LINE_REFERENCE =
  /(?:(\.[A-Za-z]\w{0,5})[:(]|\b[Ll]ines?[ ~]{1,2}|\bL)(\d{1,6})\b(?:\s?[-–]\s?(\d{1,6}))?/g;

const FILE_NAME = /(?<![\w+-])[\w+-][\w.+-]{0,99}\.[A-Za-z]\w{0,5}\b/g;

/** How far before a number its file name is searched. */
const MAX_NAME_CHARS = 200;

/** An edit is at the named line or close to it. */
const LINES_AROUND = 3;

/** Of a longer range only the beginning counts. */
const MAX_LINES = 200;
