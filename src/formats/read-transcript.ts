import {
  ConfigurationError,
  callback,
  nearest,
  oneOf,
  readOptions,
  type Shape,
  show,
  withDefault,
} from "../text/check.ts";
import type { Format } from "../transcript/format.ts";
import { type Transcript, withUniqueIds } from "../transcript/message.ts";
import { type DetectedFormat, detectFormat } from "./detect-format.ts";
import {
  collectAll,
  createLineReader,
  type LineProblem,
  type OlderMessages,
} from "./lines/read-json-lines.ts";
import { salvageRecords } from "./lines/salvage.ts";
import {
  API_FORMATS,
  type ApiFormat,
  type FormatName,
  SESSION_FORMATS,
  type SessionFormat,
  sessionFormatOf,
} from "./registry.ts";

/*
 * The room from above. `readTranscript` takes the bytes of a file, `detectFormat` tells its format, and `formatOf` gives
 * the format, which decodes it. `registry.ts` has a record of each format. What APIs send is in `wires/`, most of it built
 * on `blocks/` (turns made of content blocks); what agents store is in `files/`, built on `lines/` (one JSON value a
 * line). `content/` reads and writes what all of them share: texts, files, results, ids. `faults/` has the rules that all
 * providers have in common.
 */

/** A transcript file as far as it could be read. */
export interface TranscriptFile {
  readonly format: FormatName | "unknown";
  /** By what the format was recognized, or why it was not. */
  readonly reason: string;
  /** Whether the file is one JSON value or a value in each line. */
  readonly form: "document" | "lines";
  /** What `format.apply` takes; undefined when the format is unknown. */
  readonly wire: unknown;
  readonly transcript: Transcript;
  /** Lines that could not be read; those without `records` were skipped. */
  readonly problems: readonly LineProblem[];
  /** With `keep: "window"`: what was dropped. */
  readonly past?: PastMessages;
}

/** What was dropped of a file while it was read. */
export interface PastMessages {
  /** How many messages have only the beginnings of their texts. */
  readonly count: number;
  /** What is known of those before them, which are not in the transcript. */
  readonly older: OlderMessages;
  /** True where the conversation goes on from what was dropped, as after a rewind: then read it again and keep all. */
  readonly isRewound: boolean;
}

/** Options of `readTranscript`. */
export interface ReadTranscriptOptions {
  /**
   * `all` keeps every line, so that edits can be written back. `live` drops lines that are not part of the conversation
   * as soon as that is known: memory is bounded by the live branch. `window` keeps the lines of the window: of Claude
   * Code and Codex sessions, what stands before the newest compaction is dropped once more than 8 MB were read. Of its
   * messages the newest 4,000 have only the beginnings of long texts (`cut.method` is `size`), older ones are only
   * counted. Memory is bounded by the window.
   * @default all
   */
  readonly keep?: Keep;
  /** Called with each record of a file of lines, in order, before anything is dropped. @default none */
  readonly onLine?: (line: unknown, format: FormatName) => void;
}

type Keep = "all" | "live" | "window";

/** Reads a transcript file of any known format from its bytes. Broken lines are skipped and reported; never throws for what it reads. */
export async function readTranscript(
  source: Uint8Array | AsyncIterable<Uint8Array>,
  options: ReadTranscriptOptions = {},
): Promise<TranscriptFile> {
  const { keep, onLine } = readOptions(SHAPE, options);
  /** Everything, for as long as the file may be one value over many lines. */
  let chunks: Uint8Array[] | undefined = [];
  let lines: LinesFile | undefined;
  for await (const chunk of chunksOf(source)) {
    if (chunks?.length === 0 && !opensDocument(chunk)) lines = createLinesFile(keep, onLine);
    chunks?.push(chunk);
    lines?.take(chunk);
    if (lines?.isKnown()) chunks = undefined;
  }
  const document = chunks && parseDocument(chunks);
  const detected = document && detectFormat({ type: "document", value: document.value });
  if (document && detected && detected.format !== "unknown")
    return decoded(detected, { form: "document", wire: document.value, problems: [] });
  if (lines === undefined) {
    lines = createLinesFile(keep, onLine);
    chunks?.forEach(lines.take);
  }
  const file = lines.end();
  return document && detected && file.format === "unknown"
    ? decoded(detected, { form: "document", wire: document.value, problems: [] })
    : file;
}

const SHAPE: Shape<ReadTranscriptOptions, keyof ReadTranscriptOptions> = {
  keep: withDefault(oneOf("all", "live", "window"), "all"),
  onLine: withDefault(callback, () => {}),
};

/** The text of a file: a value in each line, or one value. */
export function transcriptText({ form, wire }: Pick<TranscriptFile, "form" | "wire">): string {
  if (form === "document" || !Array.isArray(wire)) return `${JSON.stringify(wire, null, 2)}\n`;
  return wire.map((line) => `${JSON.stringify(line)}\n`).join("");
}

function decoded(
  { format, reason }: DetectedFormat,
  file: Pick<TranscriptFile, "form" | "wire" | "problems">,
): TranscriptFile {
  if (format === "unknown") return { ...file, format, reason, wire: undefined, transcript: [] };
  return { ...file, format, reason, transcript: formatOf(format).decode(file.wire) };
}

/** A file of lines while its bytes come in. */
interface LinesFile {
  take(this: void, chunk: Uint8Array): void;
  /** True once a line has shown the format. */
  isKnown(): boolean;
  end(): TranscriptFile;
}

function createLinesFile(keep: Keep, onLine: Required<ReadTranscriptOptions>["onLine"]): LinesFile {
  const problems: LineProblem[] = [];
  const collector = createCollector(keep, onLine);
  const reader = createLineReader({
    onLine: ({ value }, bytes) => collector.take(value, bytes),
    onProblem(problem, text, bytes) {
      // A line of a JSON document that spans many lines is no JSON value either.
      const records = collector.isLines() ? salvageRecords(text) : [];
      problems.push(records.length > 0 ? { ...problem, records: records.length } : problem);
      for (const record of records) collector.take(record, bytes / records.length);
    },
  });
  return {
    take: reader.take,
    isKnown: collector.isLines,
    end() {
      reader.end();
      const file = decoded(collector.detected(), { form: "lines", wire: collector.lines(), problems });
      const past = collector.past();
      if (past === undefined || past.messages.length === 0) return file;
      const { messages, older, isRewound } = past;
      const transcript = withUniqueIds([...messages, ...file.transcript]);
      return { ...file, transcript, past: { count: messages.length, older, isRewound } };
    },
  };
}

/** True for the beginning of one JSON value over many lines: its bracket stands alone in the first. */
function opensDocument(chunk: Uint8Array): boolean {
  const line = new TextDecoder("utf-8").decode(chunk.subarray(0, SAMPLE_BYTES));
  return /^\s*[[{][ \t\r]*\n/.test(line);
}

const SAMPLE_BYTES = 64;

async function* chunksOf(source: Uint8Array | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (source instanceof Uint8Array) yield source;
  else yield* source;
}

/** How many lines are looked at before a file that begins with an unknown one is given up. */
const SAMPLE_LINES = 50;

/** Collects lines and finds out from the first of them which format they are in. */
function createCollector(keep: Keep, onLine: Required<ReadTranscriptOptions>["onLine"]) {
  const sample: unknown[] = [];
  let detected: DetectedFormat = { format: "unknown", reason: "no line could be read" };
  let collected = collectAll();
  return {
    take(line: unknown, chars: number): void {
      collected.take(line, chars);
      if (detected.format !== "unknown") onLine(line, detected.format);
      if (detected.format !== "unknown" || sample.length >= SAMPLE_LINES) return;
      sample.push(line);
      // A single line may be a whole document, which is looked at when the file has ended.
      detected = detectFormat({ type: "lines", lines: sample.length === 1 ? [line, undefined] : sample });
      if (detected.format === "unknown") return;
      const before = collected.lines();
      for (const each of before) onLine(each, detected.format);
      if (keep === "all") return;
      const { collectLive, collectWindow } = sessionFormatOf(detected.format) ?? {};
      collected = ((keep === "window" ? collectWindow : collectLive) ?? collectAll)();
      for (const each of before) collected.take(each, chars);
    },
    /** True once a line has shown the format. */
    isLines: () => detected.format !== "unknown",
    detected: () => detected,
    lines: () => collected.lines(),
    past: () => collected.past?.(),
  };
}

function parseDocument(chunks: readonly Uint8Array[]): { readonly value: unknown } | undefined {
  const decoder = new TextDecoder("utf-8");
  try {
    const text = chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** The format of a name, for a wire that was read from outside: each takes whatever it is given. */
export function formatOf(name: FormatName): Format<unknown> {
  const all: Readonly<Record<FormatName, SessionFormat | ApiFormat>> = { ...SESSION_FORMATS, ...API_FORMATS };
  if (!Object.hasOwn(all, name))
    throw new ConfigurationError([`${show(name)} is no format; ${nearest(String(name), Object.keys(all))}`]);
  return all[name].format;
}
