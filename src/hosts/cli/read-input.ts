import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createGunzip, gunzipSync } from "node:zlib";
import { messagesOf, type OpenCodeWire } from "../../formats/opencode/session-message.ts";
import { readTranscript, type TranscriptFile } from "../../formats/read-transcript.ts";
import { CliError } from "./cli-error.ts";
import { explainUnreadable } from "./explain-unreadable.ts";
import { type SessionName, sessionNameOf } from "./session-name.ts";

/** A transcript file of any known format, as far as it could be read. */
export interface InputFile extends Omit<TranscriptFile, "format">, SessionName {
  readonly format: Exclude<TranscriptFile["format"], "unknown">;
  /** What the file is called in messages. */
  readonly name: string;
  readonly packing: "plain" | "gzip";
  /** What is broken in it but did not stop the reading. */
  readonly warnings: readonly string[];
}

/**
 * Reads a transcript from a file, or from standard input for `-`, gzipped or not. Throws a `CliError` that says what is
 * wrong, and where. `live` keeps in memory only what the conversation needs.
 */
export async function readInput(path: string, keep: "all" | "live" = "all"): Promise<InputFile> {
  const name = path === "-" ? "Standard input" : path;
  try {
    if (path === "-") return await readBytes(await standardInput(), name);
    const packing = await packingOf(path);
    const stream = createReadStream(path);
    // An error of either stream ends the reading of the second one.
    const source = packing === "gzip" ? pipeline(stream, createGunzip(), () => {}) : stream;
    const file = await readTranscript(source, { keep });
    return toInput(file, { name, packing, bytes: async () => unpackedBytes(await readFile(path)) });
  } catch (error) {
    throw error instanceof CliError ? error : cannotRead(name, error as NodeJS.ErrnoException);
  }
}

/** Reads a transcript that is already in memory. */
export async function readBytes(packed: Uint8Array, name: string): Promise<InputFile> {
  const bytes = unpackedBytes(packed);
  const packing = bytes === packed ? "plain" : "gzip";
  return toInput(await readTranscript(bytes), { name, packing, bytes: async () => bytes });
}

interface Source {
  readonly name: string;
  readonly packing: InputFile["packing"];
  /** Everything again, for saying what is wrong with it. */
  readonly bytes: () => Promise<Uint8Array>;
}

async function toInput(file: TranscriptFile, { name, packing, bytes }: Source): Promise<InputFile> {
  const { format } = file;
  if (format === "unknown") throw explainUnreadable(await bytes(), { name, reason: file.reason });
  return {
    ...file,
    format,
    name,
    packing,
    ...sessionNameOf(file.wire),
    warnings: [
      ...file.problems.map(({ lineNumber, problem, text }) => `line ${lineNumber} is ${problem}: ${text}`),
      ...(format === "opencode" ? brokenMessages(file.wire as OpenCodeWire) : []),
    ],
  };
}

function brokenMessages(wire: OpenCodeWire): readonly string[] {
  return messagesOf(wire).flatMap((message: unknown, index) => {
    if (typeof message !== "object" || message === null) return [`message ${index + 1} is not an object`];
    if (!Array.isArray((message as { parts?: unknown }).parts)) return [`message ${index + 1} has no parts`];
    return [];
  });
}

async function standardInput(): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function packingOf(path: string): Promise<InputFile["packing"]> {
  for await (const chunk of createReadStream(path, { end: 1 }))
    return isGzip(chunk as Buffer) ? "gzip" : "plain";
  return "plain";
}

function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

function unpackedBytes(bytes: Uint8Array): Uint8Array {
  return isGzip(bytes) ? gunzipSync(bytes) : bytes;
}

function cannotRead(name: string, error: NodeJS.ErrnoException): CliError {
  const { code = "", message } = error;
  const reason = REASONS[code] ?? (code.startsWith("Z_") ? `its gzip is broken (${message})` : message);
  const isWord = code === "ENOENT" && /^[a-z-]+$/.test(name);
  const advice = [
    ...(isWord ? [`There is no command ${name} either: carryover --help lists them.`] : []),
    ...(code === "EISDIR" ? ["`carryover stats` reads folders."] : []),
  ];
  return new CliError(`Cannot read ${name}: ${reason}`, advice, { cause: error });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder",
  EACCES: "you may not read it",
};
