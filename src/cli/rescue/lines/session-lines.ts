import type { JsonLine } from "../../../formats/lines/read-json-lines.ts";
import { MAX_IMAGE_CHARS, MAX_IMAGES } from "../../../handoff/handoff.ts";
import { plural } from "../../../text/format-number.ts";
import type { UnknownObject } from "../../../text/unknown-value.ts";

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
  | "stale-thoughts"
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
 * `window`: what the newest usable compaction stands for is dropped as the file is read, so that one of any size can
 * be. `before-compaction`: with what the newest compaction took away. `all`: everything that was ever said, of all
 * branches, without what was said twice.
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

/**
 * Keeps the newest images of a session, as many as a handoff carries, and cuts older ones and other files in base64 to
 * what names them, so that a file of any size is read in the memory of its window. Changes the lines that it is given:
 * they were read here, and nobody else has them. Where all that was said is kept, to be searched, no image is.
 */
export function createMediaRoom(keep: Keep): (line: UnknownObject) => UnknownObject {
  const held: MediaPlace[] = [];
  const room = keep === "all" ? { images: 0, chars: 0 } : { images: MAX_IMAGES, chars: MAX_IMAGE_CHARS };
  let heldChars = 0;
  return (line) => {
    for (const place of mediaIn(line)) {
      held.push(place);
      heldChars += place.chars;
      while (held.length > room.images || heldChars > room.chars) {
        const oldest = held.shift();
        if (oldest === undefined) break;
        heldChars -= oldest.chars;
        oldest.holder[oldest.key] = oldest.holder[oldest.key]?.slice(0, NAMED_CHARS) ?? "";
      }
    }
    return line;
  };
}

interface MediaPlace {
  readonly holder: Record<string, string>;
  readonly key: string;
  readonly chars: number;
}

/** Images and other files stand in blocks that say so, or in addresses: a text that only looks like one is a text. */
function mediaIn(line: UnknownObject): readonly MediaPlace[] {
  const found: MediaPlace[] = [];
  const open: object[] = [line];
  for (const holder of open)
    for (const [key, value] of Object.entries(holder)) {
      if (typeof value === "object" && value !== null) open.push(value);
      if (typeof value !== "string" || value.length <= NAMED_CHARS) continue;
      if (ADDRESS.test(value) || (key === "data" && MEDIA_FIELDS.some((field) => field in holder)))
        found.push({ holder: holder as Record<string, string>, key, chars: value.length });
    }
  return found;
}

const NAMED_CHARS = 64;
const MEDIA_FIELDS = ["media_type", "mimeType", "mime"];
const ADDRESS = /^data:[\w./+-]+;base64,[A-Za-z0-9+/=]*$/;
