import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { getHeapStatistics } from "node:v8";
import { createRequestRecorder } from "../../cost/read-requests.ts";
import type { RequestRecorder } from "../../cost/recorded-request.ts";
import { type PastMessages, readTranscript, type TranscriptFile } from "../../formats/read-transcript.ts";
import { createFactsReader, type SessionFacts, sessionFactsOf } from "../../formats/session-facts.ts";
import type { OpenCodeWire } from "../../formats/wires/opencode/decode-messages.ts";
import { messagesOf } from "../../formats/wires/opencode/opencode.ts";
import { formatBytes, plural } from "../../text/format-number.ts";
import { omitUndefined } from "../../text/unknown-value.ts";
import { CliError } from "../terminal/cli-error.ts";
import { terminalText } from "../terminal/output.ts";
import { inUtf8 } from "./text-encoding.ts";
import { oneChunk, type Packing, packingOf, packingOfFile, unpack, unpackedBytes } from "./unpack.ts";
import { cannotRead, explainUnreadable } from "./unreadable.ts";

/** A transcript file of any known format, with what could be read of it. */
export interface InputFile extends Omit<TranscriptFile, "format">, SessionFacts {
  readonly format: Exclude<TranscriptFile["format"], "unknown">;
  /** What the file is called in messages. */
  readonly name: string;
  readonly packing: Packing;
  /** What the session asked its model, where that was recorded while its lines were read. */
  readonly requests?: RequestRecorder["requests"];
  /** What is broken in it but did not stop the reading. */
  readonly warnings: readonly string[];
}

/**
 * Reads a transcript from a file, or from standard input for `-`, packed or not. Throws a `CliError` that says what is
 * wrong, and where. `window` keeps of a large file only what the conversation goes on with in memory, and sizes of the rest.
 */
export async function readInput(path: string, keep: "all" | "window" = "all"): Promise<InputFile> {
  const name = path === "-" ? "Standard input" : path;
  try {
    if (path === "-") return await readBytes(await standardInput(), name);
    const packing = await packingOfFile(path);
    const { size } = await stat(path);
    const isLarge = size > (packing === "plain" ? MAX_WHOLE_BYTES : MAX_PACKED_BYTES);
    if (keep === "all") checkMemory(path, packing === "plain" ? size : size * PACKED_RATIO);
    const chunks = inUtf8(unpack(createReadStream(path, { highWaterMark: CHUNK_BYTES }), packing));
    const source = { name, packing, bytes: async () => unpackedBytes(await readFile(path)) };
    // Awaited here, so that what is thrown is explained below.
    if (keep === "all" || !isLarge) return await toInput(await readTranscript(chunks), source);
    return (await readWindow(chunks, source)) ?? (await readInput(path));
  } catch (error) {
    throw error instanceof CliError ? error : cannotRead(name, error as NodeJS.ErrnoException);
  }
}

/** A large file in the memory of its window; undefined where its conversation goes on from what was dropped. */
async function readWindow(chunks: AsyncIterable<Uint8Array>, source: Source): Promise<InputFile | undefined> {
  const facts = createFactsReader();
  let recorder: RequestRecorder | undefined;
  const file = await readTranscript(chunks, {
    keep: "window",
    onLine(line, format) {
      facts.take(line);
      recorder ??= createRequestRecorder(format);
      recorder?.take(line);
    },
  });
  if (file.past?.isRewound) return undefined;
  const input = await toInput(file, source);
  return file.form === "document"
    ? input
    : { ...input, ...facts.facts(), ...omitUndefined({ requests: recorder?.requests }) };
}

/** Most lines come whole in one chunk of this size. */
const CHUNK_BYTES = 1024 * 1024;
/** A file that is no longer is read whole, whoever asks: all of it can be shown then. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
const PACKED_RATIO = 8;
const MAX_PACKED_BYTES = MAX_WHOLE_BYTES / PACKED_RATIO;

/** Throws for a file that Node may not have the memory to hold: it would end without a word of ours. */
export function checkMemory(
  path: string,
  sizeBytes: number,
  limitBytes: number = getHeapStatistics().heap_size_limit,
): void {
  // Texts with letters of other scripts take two bytes a character there.
  if (sizeBytes * 2 < limitBytes) return;
  const [size, limit] = [formatBytes(sizeBytes), formatBytes(limitBytes)];
  throw new CliError(`${path} has ${size}, and Node may use ${limit}: all of it might not fit`, [
    `Give it more: NODE_OPTIONS=--max-old-space-size=${Math.ceil((sizeBytes * 2.5) / 2 ** 30) * 1024} carryover …`,
  ]);
}

/** Reads a transcript that is already in memory. */
export async function readBytes(packed: Uint8Array, name: string): Promise<InputFile> {
  const bytes = await unpackedBytes(packed);
  return toInput(await readTranscript(inUtf8(oneChunk(bytes))), {
    name,
    packing: packingOf(packed),
    bytes: async () => bytes,
  });
}

interface Source {
  readonly name: string;
  readonly packing: InputFile["packing"];
  /** Reads the whole file once more, to explain what is wrong with it. */
  readonly bytes: () => Promise<Uint8Array>;
}

async function toInput(file: TranscriptFile, { name, packing, bytes }: Source): Promise<InputFile> {
  const { format, past } = file;
  if (format === "unknown") throw explainUnreadable(await bytes(), { name, reason: file.reason });
  return {
    ...file,
    format,
    name,
    packing,
    ...sessionFactsOf(file.wire),
    warnings: [
      ...file.problems.map(
        ({ lineNumber, problem, text, records = 0 }) =>
          `line ${lineNumber} is ${problem}: ${text}${records === 0 ? "" : `; ${plural(records, "record")} in it could be read`}`,
      ),
      ...(format === "opencode" ? brokenMessages(file.wire as OpenCodeWire) : []),
      ...(past === undefined ? [] : [pastWarning(past)]),
    ],
  };
}

function pastWarning({ count, older }: PastMessages): string {
  const rest = older.messages === 0 ? "" : `, of ${older.messages} older ones only their number and size`;
  return `of ${plural(count, "message")} before the newest compaction only the beginnings are kept${rest}`;
}

function brokenMessages(wire: OpenCodeWire): readonly string[] {
  return messagesOf(wire).flatMap((message: unknown, index) => {
    if (typeof message !== "object" || message === null) return [`message ${index + 1} is not an object`];
    if (!Array.isArray((message as { parts?: unknown }).parts)) return [`message ${index + 1} has no parts`];
    return [];
  });
}

/** All of standard input. */
export async function standardInput(): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Prints to standard error what was skipped in a file. */
export function printWarnings({ name, warnings }: Pick<InputFile, "name" | "warnings">): void {
  for (const warning of warnings.slice(0, MAX_WARNINGS))
    process.stderr.write(`warning: ${name}: ${warning}; the rest is used\n`);
  const more = warnings.length - MAX_WARNINGS;
  if (more > 0) process.stderr.write(`warning: ${name}: ${more} more like that\n`);
}

const MAX_WARNINGS = 10;

/** The title and id of a session for display, or else the fallback. */
export function sessionLabel({ title, sessionId }: SessionFacts, fallback: string): string {
  const names = [title, sessionId]
    .filter((name) => name !== undefined)
    .map((name) => terminalText(name, MAX_LABEL_CHARS));
  return names.join(" · ") || fallback;
}

const MAX_LABEL_CHARS = 120;
