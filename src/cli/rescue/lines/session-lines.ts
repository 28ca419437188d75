import type { JsonLine } from "../../../formats/lines/read-json-lines.ts";
import { plural } from "../../../text/display.ts";
import { mapStrings } from "../../../text/json.ts";

/** Something that is wrong with a session. */
export interface Finding {
  readonly problem: Problem;
  /** `broken`: it cannot go on, or goes on without what was said. `note`: worth knowing, and no reason to rescue it. */
  readonly severity: "broken" | "note";
  /** The first line that it is about, counted from 1; unset where it is about the whole. */
  readonly line?: number;
  readonly text: string;
}

export type Problem =
  | "damaged-line"
  | "byte-order-mark"
  | "not-utf8"
  | "no-head"
  | "broken-chain"
  | "repeated-line"
  | "other-session"
  | "emptied"
  | "lost-compaction"
  | "orphan-call"
  | "orphan-result"
  | "repeated-call"
  | "empty-text"
  | "too-long"
  | "refused"
  | "huge";

/** Takes the lines of a session file as they come, and keeps what is needed of them, mended. */
export interface SessionLines {
  take(line: JsonLine): void;
  end(): CollectedLines;
}

export interface CollectedLines {
  /** What its format decodes: the window that the program would go on with, or everything. */
  readonly lines: readonly KeptLine[];
  readonly findings: readonly Finding[];
  /** The window of its model, where the file names it. */
  readonly windowTokens?: number;
  /** The newest error behind the last answer, as the program noted it. */
  readonly error?: NotedError;
}

export interface KeptLine {
  readonly lineNumber: number;
  readonly value: unknown;
}

export interface NotedError {
  readonly lineNumber: number;
  readonly text: string;
}

/**
 * `window`: what the newest usable compaction stands for is let go as the file is read, so that one of any size can be.
 * `before-compaction`: with what the newest compaction took away. `all`: everything that was ever said, of all branches,
 * without what was said twice.
 */
export type Keep = "window" | "before-compaction" | "all";

/** Counts what is wrong in the same way, and tells it once with the first line. */
export function createCounter(): Counter {
  let first: number | undefined;
  let count = 0;
  return {
    count: () => count,
    add(lineNumber) {
      first ??= lineNumber;
      count++;
    },
    finding({ text, ...rest }) {
      return first === undefined ? [] : [{ ...rest, line: first, text: text(plural(count, "line")) }];
    },
  };
}

interface Counter {
  count(): number;
  add(lineNumber: number): void;
  /** Nothing where nothing was counted. */
  finding(of: CountedFinding): readonly Finding[];
}

interface CountedFinding extends Omit<Finding, "line" | "text"> {
  readonly text: (lines: string) => string;
}

/** The value without pictures and other files in base64, which no rescued session carries. */
export function withoutMedia(value: unknown): unknown {
  return mapStrings(value, (text) =>
    text.length > MAX_MEDIA_CHARS && BASE64.test(text.slice(0, BASE64_SAMPLE_CHARS))
      ? text.slice(0, MAX_MEDIA_CHARS)
      : text,
  );
}

const MAX_MEDIA_CHARS = 64;
const BASE64_SAMPLE_CHARS = 2_000;
const BASE64 = /^(?:data:[\w./+-]+;base64,)?[A-Za-z0-9+/]{500,}={0,2}/;
