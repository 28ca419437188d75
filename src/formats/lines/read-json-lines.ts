import { callback, readOptions, type Shape, withDefault } from "../../text/check.ts";
import type { Transcript } from "../../transcript/message.ts";
import { isJsonText } from "../content/call-arguments.ts";

/** One parsed line of a file. */
export interface JsonLine {
  /** Counted from 1. */
  readonly lineNumber: number;
  readonly value: unknown;
}

/** A line that could not be read. */
export interface LineProblem {
  readonly lineNumber: number;
  readonly problem: "torn" | "nul-bytes" | "not-json" | "too-long";
  readonly text: string;
  /** How many records were read from it all the same; unset where it was skipped. */
  readonly records?: number;
}

/** Options of `readJsonLines`. */
export interface ReadJsonLinesOptions {
  /** Called for each line that cannot be read, with its text; the line is skipped. @default none */
  readonly onProblem?: (problem: LineProblem, line: string) => void;
}

/**
 * The values of a file of JSON lines, in order and in batches of what came together. Broken lines are reported and passed
 * over; a first byte-order mark, line ends of either kind and empty lines do not matter. Holds no more than one line and the
 * chunks that it came in, which the source must not write to again.
 */
export async function* readJsonLines(
  source: AsyncIterable<Uint8Array>,
  options: ReadJsonLinesOptions = {},
): AsyncGenerator<readonly JsonLine[]> {
  const { onProblem } = readOptions(SHAPE, options);
  let lines: JsonLine[] = [];
  const reader = createLineReader({ onProblem, onLine: (line) => void lines.push(line) });
  for await (const chunk of source) {
    reader.take(chunk);
    if (lines.length === 0) continue;
    yield lines;
    lines = [];
  }
  reader.end();
  if (lines.length > 0) yield lines;
}

const SHAPE: Shape<ReadJsonLinesOptions, "onProblem"> = { onProblem: withDefault(callback, () => {}) };

/** Takes chunks of bytes. */
interface LineReader {
  take(chunk: Uint8Array): void;
  /** The last line has no end. */
  end(): void;
}

/** Each is called with a line as soon as it is complete; one that cannot be parsed is a problem, and its text is given. */
interface LineListener {
  onLine(line: JsonLine, bytes: number): void;
  onProblem(problem: LineProblem, text: string, bytes: number): void;
}

/** Cuts bytes into lines and parses each. A line is handed on before the next is parsed, so that it need not live longer. */
export function createLineReader({ onLine, onProblem }: LineListener): LineReader {
  const decoder = new TextDecoder("utf-8");
  /** The beginning of a line whose end has not come yet. */
  let rest: Uint8Array[] = [];
  let lineNumber = 0;

  function read(bytes: Uint8Array, isLast: boolean): void {
    lineNumber++;
    if (isBlank(bytes)) return;
    let text: string;
    try {
      text = decoder.decode(bytes);
    } catch {
      const reason = `${bytes.length} bytes are too many for one text`;
      onProblem({ lineNumber, problem: "too-long", text: reason }, "", bytes.length);
      return;
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      readBroken(text, { error: error as Error, isLast, bytes: bytes.length });
      return;
    }
    onLine({ lineNumber, value }, bytes.length);
  }

  function readBroken(
    text: string,
    { error, isLast, bytes }: { readonly error: Error; readonly isLast: boolean; readonly bytes: number },
  ): void {
    if (text.includes("\0")) {
      // The text around a block of zeros is often intact: where it stood in a text, a mark says so.
      const cleaned = [text.replace(/\0+/g, NUL_MARK), text.replaceAll("\0", "")].find(isJsonText);
      const problem = { lineNumber, problem: "nul-bytes", text: "NUL bytes stand in it" } as const;
      onProblem(cleaned === undefined ? problem : { ...problem, records: 1 }, "", bytes);
      if (cleaned !== undefined) onLine({ lineNumber, value: JSON.parse(cleaned) }, bytes);
      return;
    }
    const reason = error.message.slice(0, 200);
    onProblem({ lineNumber, problem: isLast ? "torn" : "not-json", text: reason }, text, bytes);
  }

  return {
    take(chunk) {
      let start = 0;
      let end = chunk.indexOf(NEWLINE);
      if (end === -1) {
        if (chunk.length > 0) rest.push(chunk);
        return;
      }
      if (rest.length > 0) {
        const line = joined([...rest, chunk.subarray(0, end)]);
        rest = [];
        read(line, false);
        start = end + 1;
        end = chunk.indexOf(NEWLINE, start);
      }
      while (end !== -1) {
        read(chunk.subarray(start, end), false);
        start = end + 1;
        end = chunk.indexOf(NEWLINE, start);
      }
      if (start < chunk.length) rest.push(chunk.subarray(start));
    },
    end() {
      if (rest.length > 0) read(joined(rest), true);
      rest = [];
    },
  };
}

/** What is shown for characters that no provider takes. */
export const NUL_MARK = "\u2400";

const NEWLINE = 0x0a;

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** True for nothing but blanks, carriage returns and a byte-order mark. */
function isBlank(bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index++) if (!BLANKS.includes(bytes[index] ?? 0)) return false;
  return true;
}

const BLANKS: readonly number[] = [0x20, 0x09, 0x0d, 0xef, 0xbb, 0xbf];

/** Takes the lines of a file as they come and keeps those of the conversation. */
export interface LineCollector {
  /** `chars`: about how long the line is in the file. */
  take(line: unknown, chars: number): void;
  lines(): readonly unknown[];
  /** What it dropped before these lines; `isRewound`: the conversation goes on from there all the same. */
  past?(): { readonly messages: Transcript; readonly older: OlderMessages; readonly isRewound: boolean };
}

/** What is known of messages that were dropped altogether. */
export interface OlderMessages {
  /** Without system prompts. */
  readonly messages: number;
  readonly toolResults: number;
  /** Of texts, reasoning, inputs and results. */
  readonly chars: number;
  readonly compactions: number;
}

/** Keeps every line, or every one that is wanted. */
export function collectAll(isWanted: (line: unknown) => boolean = () => true): LineCollector {
  const kept: unknown[] = [];
  return {
    take(line) {
      if (isWanted(line)) kept.push(line);
    },
    lines: () => kept,
  };
}
