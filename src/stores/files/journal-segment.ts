import type { JournalProblem } from "../../session/journal.ts";
import { type LineDamage, openSealedLine, type SealedFields } from "./sealed-line.ts";

/** Reads one writer's part of a log: every whole line in order, and what is wrong with the others. */
export function readSegment(bytes: Uint8Array, place: string): Segment {
  const lines: SegmentLine[] = [];
  const problems: JournalProblem[] = [];
  let unreported = 0;
  let damagedLines = 0;
  let line = 1;
  let start = 0;
  const report = (problem: Pick<JournalProblem, "type" | "code" | "reason">): void => {
    if (problems.length === MAX_PROBLEMS) unreported += 1;
    else problems.push({ ...problem, place, line, reason: `line ${line} ${problem.reason}` });
  };
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    const read = readLine(openSealedLine(bytes.subarray(start, end)));
    const last = lines.at(-1)?.sequence;
    if (read.status === "damaged") {
      damagedLines += 1;
      report({ type: "bad-line", code: read.code, reason: read.reason });
    } else if (last !== undefined && read.sequence <= last) {
      report({ type: "bad-line", code: "ORDER", reason: "repeats a number" });
    } else {
      const missing = last === undefined ? 0 : read.sequence - last - 1 - damagedLines;
      if (missing > 0) {
        report({ type: "missing-lines", code: "GAP", reason: `comes after ${missing} that are gone` });
      }
      damagedLines = 0;
      lines.push(read);
    }
    start = end + 1;
    line += 1;
  }
  if (start < bytes.byteLength) {
    report({ type: "torn-tail", code: "TORN", reason: "was never finished" });
  }
  if (unreported > 0) {
    problems.push({ type: "bad-line", place, code: "MORE", reason: `${unreported} more problems` });
  }
  return { lines, problems };
}

export interface Segment {
  readonly lines: readonly SegmentLine[];
  readonly problems: readonly JournalProblem[];
}

/** A line with its value, or with the handle of a value that was too long for a line. */
export type SegmentLine = ValueLine | HandleLine;

export interface ValueLine {
  readonly status: "value";
  readonly sequence: number;
  readonly value: unknown;
}

export interface HandleLine {
  readonly status: "handle";
  readonly sequence: number;
  readonly handle: string;
}

function readLine(
  opened: SealedFields | LineDamage,
): SegmentLine | Pick<LineDamage, "status" | "code" | "reason"> {
  if (opened.status === "damaged") return opened;
  const { n: sequence, e: value, r: handle } = opened.fields;
  if (typeof sequence !== "number" || !Number.isSafeInteger(sequence)) {
    return { status: "damaged", code: "SYNTAX", reason: "has no number" };
  }
  if (handle === undefined && value === undefined) {
    return { status: "damaged", code: "SYNTAX", reason: "has no value" };
  }
  if (typeof handle === "string") return { status: "handle", sequence, handle };
  return { status: "value", sequence, value };
}

const NEWLINE = 0x0a;

// A file of something else entirely must not fill the memory with complaints.
const MAX_PROBLEMS = 1_000;
