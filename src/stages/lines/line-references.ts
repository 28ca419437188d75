import type { FillSource } from "./read-call.ts";
import type { FillRows } from "./rows.ts";
import { nameStart } from "./words.ts";

/**
 * Lines of files that are named by number, by the file's own name: by agent or user, as in `engine.ts:49` or "engine.ts
 * (lines 60-75)", and by what tools printed, as compilers, failed tests, reviews and searches do.
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
      // The name stands right before the number, or somewhere before it.
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

/** What stands further back in a text is not read. */
const MAX_CHARS = 20_000;
const LINE_REFERENCE =
  /(?:(\.[A-Za-z]\w{0,5})[:(]|\b[Ll]ines?[ ~]{1,2}|\bL)(\d{1,6})\b(?:\s?[-–]\s?(\d{1,6}))?/g;

const FILE_NAME = /(?<![\w+-])[\w+-][\w.+-]{0,99}\.[A-Za-z]\w{0,5}\b/g;

/** How far before a number the name of its file is looked for. */
const MAX_NAME_CHARS = 200;

/** What is changed stands at a line or close to it. */
const LINES_AROUND = 3;

/** A longer range names its beginning. */
const MAX_LINES = 200;
