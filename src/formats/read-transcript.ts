import type { Transcript } from "../transcript/message.ts";
import { type DetectedFormat, detectFormat, type FormatName } from "./detect-format.ts";
import { formatOf } from "./format-of.ts";
import { createLiveLines, type LiveLines } from "./jsonl/live-lines.ts";
import { createLineReader, type LineProblem } from "./jsonl/read-json-lines.ts";

/** A transcript file as far as it could be read. */
export interface TranscriptFile {
  readonly format: FormatName | "unknown";
  /** By what the format was known, or why it was not. */
  readonly reason: string;
  /** Whether the file is one JSON value or a value in each line. */
  readonly form: "document" | "lines";
  /** What `format.apply` takes; undefined when the format is unknown. */
  readonly wire: unknown;
  readonly transcript: Transcript;
  /** Lines that could not be read and were passed over. */
  readonly problems: readonly LineProblem[];
}

export interface ReadTranscriptOptions {
  /**
   * `all` keeps every line, so that edits can be written back. `live` lets go of lines that are not part of the
   * conversation as soon as that is known: memory is bounded by the live branch.
   */
  readonly keep?: "all" | "live";
}

/** Reads a transcript file of any known format from its bytes. Broken lines are passed over; never throws for what it reads. */
export async function readTranscript(
  source: Uint8Array | AsyncIterable<Uint8Array>,
  { keep = "all" }: ReadTranscriptOptions = {},
): Promise<TranscriptFile> {
  const problems: LineProblem[] = [];
  const lines = createLineReader((problem) => problems.push(problem));
  const collector = createCollector(keep);
  /** Everything, for as long as the file may be one value over many lines. */
  let chunks: Uint8Array[] | undefined = [];
  for await (const chunk of chunksOf(source)) {
    chunks?.push(chunk);
    for (const { value } of lines.take(chunk)) collector.take(value);
    if (collector.isLines()) chunks = undefined;
  }
  for (const { value } of lines.end()) collector.take(value);
  const document = chunks === undefined ? undefined : parseDocument(chunks);
  if (document !== undefined) {
    const detected = detectFormat({ type: "document", value: document.value });
    if (detected.format !== "unknown" || !collector.isLines()) {
      return decoded({ detected, form: "document", wire: document.value, problems: [] });
    }
  }
  return decoded({ detected: collector.detected(), form: "lines", wire: collector.lines(), problems });
}

/** The text of a file: a value in each line, or one value. */
export function transcriptText({ form, wire }: Pick<TranscriptFile, "form" | "wire">): string {
  if (form === "document" || !Array.isArray(wire)) return `${JSON.stringify(wire, null, 2)}\n`;
  return wire.map((line) => `${JSON.stringify(line)}\n`).join("");
}

interface Detection {
  readonly detected: DetectedFormat;
  readonly form: TranscriptFile["form"];
  readonly wire: unknown;
  readonly problems: readonly LineProblem[];
}

function decoded({ detected, form, wire, problems }: Detection): TranscriptFile {
  const { reason } = detected;
  if (detected.format === "unknown") {
    return { format: "unknown", reason, form, wire: undefined, transcript: [], problems };
  }
  const transcript = formatOf(detected.format).decode(wire);
  return { format: detected.format, reason, form, wire, transcript, problems };
}

async function* chunksOf(source: Uint8Array | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (source instanceof Uint8Array) yield source;
  else yield* source;
}

/** How many lines are looked at before a file that begins with an unknown one is given up. */
const SAMPLE_LINES = 50;

interface Collector {
  take(line: unknown): void;
  /** True once a line has told the format. */
  isLines(): boolean;
  detected(): DetectedFormat;
  lines(): readonly unknown[];
}

function createCollector(keep: "all" | "live"): Collector {
  const sample: unknown[] = [];
  let detected: DetectedFormat = { format: "unknown", reason: "no line could be read" };
  let collected: LiveLines = createLiveLines("unknown");
  return {
    take(line) {
      collected.take(line);
      if (detected.format !== "unknown" || sample.length >= SAMPLE_LINES) return;
      sample.push(line);
      // A single line may be a whole document, which is looked at when the file has ended.
      detected = detectFormat({ type: "lines", lines: sample.length === 1 ? [line, undefined] : sample });
      if (detected.format === "unknown" || keep === "all") return;
      const before = collected.lines();
      collected = createLiveLines(detected.format);
      for (const each of before) collected.take(each);
    },
    isLines: () => detected.format !== "unknown",
    detected: () => detected,
    lines: () => collected.lines(),
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
