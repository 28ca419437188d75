import { constants } from "node:buffer";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { getHeapStatistics } from "node:v8";
import { createRequestRecorder } from "../../cost/read-requests.ts";
import type { RequestRecorder } from "../../cost/recorded-request.ts";
import { isJsonText } from "../../formats/blocks/block-content.ts";
import { type PastMessages, readTranscript, type TranscriptFile } from "../../formats/read-transcript.ts";
import type { OpenCodeWire } from "../../formats/wires/opencode/decode-messages.ts";
import { messagesOf } from "../../formats/wires/opencode/opencode.ts";
import { asObject, asString, omitUndefined, type UnknownObject } from "../../text/json.ts";
import { formatBytes, plural } from "../../text/truncate.ts";
import { CliError } from "../terminal/cli-error.ts";
import { terminalText } from "../terminal/output.ts";
import {
  BROKEN_PACKING,
  inUtf8,
  oneChunk,
  type Packing,
  packingOf,
  packingOfFile,
  unpack,
  unpackedBytes,
} from "./unpack.ts";

/** A transcript file of any known format, with what could be read of it. */
export interface InputFile extends Omit<TranscriptFile, "format">, SessionName {
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

/** A large file in the memory of its window; undefined where its conversation goes on from what was let go. */
async function readWindow(chunks: AsyncIterable<Uint8Array>, source: Source): Promise<InputFile | undefined> {
  const names = createNameReader();
  let recorder: RequestRecorder | undefined;
  const file = await readTranscript(chunks, {
    keep: "window",
    onLine(line, format) {
      names.take(line);
      recorder ??= createRequestRecorder(format);
      recorder?.take(line);
    },
  });
  if (file.past?.isRewound) return undefined;
  const input = await toInput(file, source);
  return file.form === "document"
    ? input
    : { ...input, ...names.name(), ...omitUndefined({ requests: recorder?.requests }) };
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
    ...sessionNameOf(file.wire),
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

/** What to say of a file that cannot be read. */
export function cannotRead(name: string, error: NodeJS.ErrnoException): CliError {
  const { code = "", message } = error;
  const reason = REASONS[code] ?? message;
  const advice = [
    ...(code === "ENOENT" && /^[\w-]+$/.test(name) ? [noSuchId(name)] : []),
    ...(code === "EISDIR" ? ["`carryover stats` reads folders."] : []),
    ...(code === "cannot-unpack" ? ["If it is a session, unpack it with gzip -d or zstd -d first."] : []),
    ...(code === BROKEN_PACKING ? ["`carryover rescue` takes what can still be read of a session."] : []),
  ];
  return new CliError(`Cannot read ${name}: ${reason}`, advice, { cause: error });
}

/** What to say of a name that is neither a file nor the beginning of a session's id. */
export function noSuchId(name: string): string {
  return name.length < MIN_ID_CHARS
    ? `Of the id of a session the first ${MIN_ID_CHARS} characters are needed at least.`
    : "No session here has an id that begins so.";
}

/** Fewer are no name: too many ids begin with them. */
export const MIN_ID_CHARS = 4;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder",
  EACCES: "you may not read it",
};

/** Prints to standard error what was skipped in a file. */
export function printWarnings({ name, warnings }: Pick<InputFile, "name" | "warnings">): void {
  for (const warning of warnings.slice(0, MAX_WARNINGS))
    process.stderr.write(`warning: ${name}: ${warning}; the rest is used\n`);
  const more = warnings.length - MAX_WARNINGS;
  if (more > 0) process.stderr.write(`warning: ${name}: ${more} more like that\n`);
}

const MAX_WARNINGS = 10;

/** The name of a session, if its file has one. */
interface SessionName {
  readonly sessionId?: string;
  readonly title?: string;
}

/** Finds the id and the title of a session in the wire of any format. */
function sessionNameOf(wire: unknown): SessionName {
  const reader = createNameReader();
  for (const value of Array.isArray(wire) ? wire : [wire]) reader.take(value);
  return reader.name();
}

function createNameReader() {
  let sessionId: string | undefined;
  const titles: { readonly title: string; readonly leafUuid: string | undefined }[] = [];
  const uuids = new Set<unknown>();
  return {
    take(value: unknown): void {
      const line = asObject(value);
      sessionId ??= idOf(line);
      if (line.uuid !== undefined) uuids.add(line.uuid);
      const title = titleOf(line);
      if (title !== undefined) titles.push({ title, leafUuid: asString(line.leafUuid) });
    },
    name(): SessionName {
      // Claude Code writes titles of other sessions into a file too; each names the last line of its own.
      const own = titles.findLast(({ leafUuid }) => leafUuid === undefined || uuids.has(leafUuid));
      return omitUndefined({ sessionId, title: own?.title });
    },
  };
}

/** The title and id of a session for display, or else the fallback. */
export function sessionLabel({ title, sessionId }: SessionName, fallback: string): string {
  const names = [title, sessionId]
    .filter((name) => name !== undefined)
    .map((name) => terminalText(name, MAX_LABEL_CHARS));
  return names.join(" · ") || fallback;
}

const MAX_LABEL_CHARS = 120;

function idOf(line: UnknownObject): string | undefined {
  const { payload, type } = line;
  if (type === "session" || type === "session_meta")
    return asString(line.id) ?? asString(asObject(payload).id);
  const info = asObject(line.info);
  // OpenCode's messages have an `info` as well; only the session's is without a role.
  const isSession = type === undefined && info.role === undefined;
  return asString(line.sessionId) ?? (isSession ? asString(info.id) : undefined);
}

function titleOf(line: UnknownObject): string | undefined {
  const { info, type, summary, customTitle } = line;
  if (type === "summary") return asString(summary);
  if (type === "custom-title") return asString(customTitle);
  return type === undefined ? asString(asObject(info).title) : undefined;
}

/** Explains why a file is no transcript: it is empty, not text, cut off somewhere, or JSON of another kind. */
export function explainUnreadable(
  bytes: Uint8Array,
  { name, reason }: { readonly name: string; readonly reason: string },
): CliError {
  if (bytes.subarray(0, SAMPLE_BYTES).includes(0))
    return new CliError(`${name} is not a text file`, [KNOWN_FORMATS]);
  if (bytes.length > constants.MAX_STRING_LENGTH)
    return new CliError(
      `${name} has ${formatBytes(bytes.length)}: one JSON text of more than ${formatBytes(constants.MAX_STRING_LENGTH)} cannot be parsed`,
      ["It need not be broken. Sessions with a JSON value in each line may be as long as they like."],
    );
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_EXPLAINED_BYTES));
  if (text.trim() === "")
    return new CliError(`${name} is empty`, [
      name.includes(".jsonl")
        ? "The program whose session it is has written nothing to it."
        : "Write a session of OpenCode with `opencode export <session> > session.json`.",
    ]);
  try {
    JSON.parse(text);
  } catch (error) {
    return isEachLineJson(text)
      ? new CliError(`${name} has JSON lines, but no transcript: ${reason}`, [KNOWN_FORMATS])
      : explainSyntaxError(error as Error, { name, text });
  }
  return new CliError(`${name} is JSON, but no transcript: ${reason}`, [KNOWN_FORMATS]);
}

const KNOWN_FORMATS =
  "Expected a session of OpenCode (export), Claude Code, Codex, pi, SWE-agent or Gemini CLI, or messages of the Anthropic, OpenAI, Gemini or AI SDK API.";
const SAMPLE_BYTES = 4096;
/** A larger file is not decoded whole only to find the line of an error. */
const MAX_EXPLAINED_BYTES = 256 * 1024 * 1024;

function isEachLineJson(text: string): boolean {
  const lines = text.slice(0, SAMPLE_BYTES * 16).split("\n");
  const complete = lines.slice(0, -1).filter((line) => line.trim() !== "");
  return complete.length > 1 && complete.every(isJsonText);
}

function explainSyntaxError(
  error: Error,
  { name, text }: { readonly name: string; readonly text: string },
): CliError {
  const body = text.replace(/^\uFEFF/, "");
  const reason = error.message.replace(
    /,? (".*" is not valid JSON|in JSON at position.*|\(line.*|at position.*)/s,
    "",
  );
  const position = positionOf(error, body);
  return new CliError(
    `${name}${position === undefined ? "" : `, ${lineAndColumn(body, position)}`}: ${reason}`,
    ["The file is not whole JSON. If it was cut off, export the session again."],
    { cause: error },
  );
}

/** Where the parser stopped. Its message names a position, the end, or only the unexpected character. */
function positionOf({ message }: Error, body: string): number | undefined {
  const position = /position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return Number(position);
  if (/end of JSON|Unterminated/.test(message)) return body.length;
  const unexpected = /^Unexpected token '(.)'/u.exec(message)?.[1];
  const start = body.search(/\S/);
  return unexpected !== undefined && body.startsWith(unexpected, start) ? start : undefined;
}

/** A position in a text, for an error message. */
export function lineAndColumn(body: string, position: number): string {
  const before = body.slice(0, position);
  const line = before.split("\n").length;
  return `line ${line}, column ${position - before.lastIndexOf("\n")}`;
}
