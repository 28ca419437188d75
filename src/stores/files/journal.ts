import { join, resolve } from "node:path";
import type {
  Journal,
  JournalAppended,
  JournalContent,
  JournalEntry,
  JournalFailure,
  JournalProblem,
} from "../../session/journal.ts";
import { anyText, check, required, type Shape, throwProblems } from "../../text/check.ts";
import { codeOf, failureOf, toJson } from "../store-failure.ts";
import {
  createPause,
  type FileSystem,
  nodeFileSystem,
  openPrivateFolder,
  pathName,
  readWholeFile,
  removeOldTemporaries,
  syncFolder,
  writeAll,
} from "./file-system.ts";
import { createFileSpillStore, FILE_STORE_SHAPE } from "./spill-store.ts";

/** A journal of lines with checksums. Each writer has a file of its own, so that neither a crash nor another process can damage what was written. */
export function createFileJournal(options: FileJournalOptions): Journal {
  throwProblems(check(SHAPE, options ?? {}));
  const { fs = nodeFileSystem, durable = true, now = Date.now } = options;
  const root = resolve(options.root);
  const name = pathName(options.session);
  const longValues = createFileSpillStore({
    root: join(root, LONG_VALUES),
    durable,
    fs,
    now,
    cleaning: "never",
  });
  const startedMs = now();
  let segmentCount = 0;
  let segment: string | undefined;
  let nextSequence: number | undefined;
  let lastAppend: Promise<unknown> = Promise.resolve();

  async function append(json: string): Promise<JournalAppended | JournalFailure> {
    const folder = await openPrivateFolder({ fs, path: root, durable });
    if (folder.status === "failed") return folder;
    const sequence = nextSequence ?? (await firstSequence(folder.path));
    if (typeof sequence !== "number") return sequence;
    nextSequence = sequence;
    const line = await lineFor(sequence, json);
    if (!(line instanceof Uint8Array)) return line;
    // The number is not reused after a failure, since the line may be on disk all the same.
    nextSequence = sequence + 1;
    try {
      await write(folder.path, line);
      return { status: "appended", sequence };
    } catch (error) {
      // The segment may end with half a line, so nothing more is appended to it.
      segment = undefined;
      return failureOf(error);
    }
  }

  async function firstSequence(folder: string): Promise<number | JournalFailure> {
    removeOldTemporaries({ fs, folder, nowMs: now() });
    removeOldTemporaries({ fs, folder: join(folder, LONG_VALUES), nowMs: now() });
    const { lines, problems } = await readSegments(folder);
    const unread = problems.find((problem) => problem.type === "failed");
    if (unread) return { status: "failed", code: unread.code, reason: unread.reason };
    return lines.reduce((highest, line) => Math.max(highest, line.sequence), 0) + 1;
  }

  async function lineFor(sequence: number, json: string): Promise<Uint8Array | JournalFailure> {
    const number: LineField = ["n", String(sequence)];
    if (json.length <= LINE_MAX_BYTES) {
      const line = sealLine([number, ["e", json]]);
      if (line.byteLength <= LINE_MAX_BYTES) return line;
    }
    const stored = await longValues.put(json);
    return stored.status === "failed" ? stored : sealLine([number, ["r", JSON.stringify(stored.handle)]]);
  }

  async function write(folder: string, line: Uint8Array): Promise<void> {
    const isNew = segment === undefined;
    const fd = segment === undefined ? createSegment(folder) : fs.open(join(folder, segment), "append");
    try {
      writeAll({ fs, fd, bytes: line });
      if (durable) await fs.fsync(fd);
    } finally {
      fs.close(fd);
    }
    if (isNew && durable) await syncFolder(fs, folder);
  }

  function createSegment(folder: string): number {
    for (;;) {
      segmentCount += 1;
      segment = `${name}.${process.pid}-${startedMs}-${segmentCount}.jsonl`;
      try {
        return fs.open(join(folder, segment), "create");
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
      }
    }
  }

  async function readSegments(folder: string): Promise<{ lines: WrittenLine[]; problems: JournalProblem[] }> {
    const pause = createPause();
    const lines: WrittenLine[] = [];
    const problems: JournalProblem[] = [];
    for (const place of segmentNames(folder, problems)) {
      await pause();
      try {
        const read = readSegment(readWholeFile(fs, join(folder, place)), place);
        const writer = place.slice(name.length + 1, -".jsonl".length);
        for (const line of read.lines) lines.push({ ...line, writer, place });
        for (const problem of read.problems) problems.push(problem);
      } catch (error) {
        const { code, reason } = failureOf(error);
        problems.push({ type: "failed", place, code, reason });
      }
    }
    return { lines, problems };
  }

  function segmentNames(folder: string, problems: JournalProblem[]): readonly string[] {
    try {
      return fs
        .readdir(folder)
        .filter(
          (file) =>
            file.startsWith(`${name}.`) && /^[0-9]+-[0-9]+-[0-9]+\.jsonl$/.test(file.slice(name.length + 1)),
        );
    } catch (error) {
      const { code, reason } = failureOf(error);
      problems.push({ type: "failed", place: folder, code, reason });
      return [];
    }
  }

  async function read(): Promise<JournalContent> {
    const folder = await openPrivateFolder({ fs, path: root, durable });
    if (folder.status === "failed") {
      const { code, reason } = folder;
      return { entries: [], problems: [{ type: "failed", place: root, code, reason }] };
    }
    const { lines, problems } = await readSegments(folder.path);
    lines.sort((a, b) => a.sequence - b.sequence || (a.writer < b.writer ? -1 : 1));
    const entries: JournalEntry[] = [];
    for (const line of lines) {
      const { sequence, writer, place } = line;
      const value = line.status === "value" ? line.value : await longValue(line.handle);
      const reason = `the long value of entry ${sequence} is gone or damaged`;
      if (value !== undefined) entries.push({ sequence, writer, value });
      else problems.push({ type: "bad-line", place, code: "LONG_VALUE", reason });
    }
    return { entries, problems };
  }

  async function longValue(handle: string): Promise<unknown> {
    try {
      return JSON.parse((await longValues.get(handle)) ?? "") as unknown;
    } catch {
      return undefined;
    }
  }

  return {
    async append(value) {
      // Serialized before waiting, since the caller may change the value.
      const json = toJson(value);
      if (typeof json !== "string") return json;
      const appended = lastAppend.then(() => append(json));
      lastAppend = appended;
      return appended;
    },
    read,
  };
}

/** Where and how a journal is stored. */
export interface FileJournalOptions {
  /** The folder with the logs of all sessions. */
  readonly root: string;
  /** The id of the session. */
  readonly session: string;
  /** Flush each entry to disk, so that it survives a power cut. @default true */
  readonly durable?: boolean;
  /** Replaces the file system, for tests. @default node's */
  readonly fs?: FileSystem;
  /** Replaces `Date.now`, for tests. @default Date.now */
  readonly now?: () => number;
}

const SHAPE: Shape<FileJournalOptions> = { ...FILE_STORE_SHAPE, session: required(anyText) };

/** A longer value is stored as a spill beside the log, and its line has only the handle. */
export const LINE_MAX_BYTES: number = 1_048_576;

const LONG_VALUES = "long";

type WrittenLine = SegmentLine & { readonly writer: string; readonly place: string };

/** Reads the file of one writer: the valid lines in order, and problems with the others. */
function readSegment(
  bytes: Uint8Array,
  place: string,
): { readonly lines: readonly SegmentLine[]; readonly problems: readonly JournalProblem[] } {
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

/** A line with its value, or with the handle of a long value. */
type SegmentLine =
  | { readonly status: "value"; readonly sequence: number; readonly value: unknown }
  | { readonly status: "handle"; readonly sequence: number; readonly handle: string };

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

// Bounds the memory for a file that is not a journal at all.
const MAX_PROBLEMS = 1_000;

/** Encodes a line of JSON that ends with a checksum of everything before it. */
export function sealLine(fields: readonly LineField[]): Uint8Array {
  let text = '{"v":1';
  for (const [name, json] of fields) text += `,${JSON.stringify(name)}:${json}`;
  const body = Buffer.from(text);
  return Buffer.concat([body, Buffer.from(`,"c":${crc32(body)}}\n`)]);
}

/** The name of a field, and its value as JSON. */
type LineField = readonly [name: string, json: string];

/** Decodes a line (without its newline) and verifies its checksum. */
export function openSealedLine(line: Uint8Array): SealedFields | LineDamage {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength);
  if (bytes.includes(0)) return { status: "damaged", code: "NUL", reason: "holds NUL bytes" };
  const sealAt = bytes.lastIndexOf(',"c":');
  const seal = sealAt < 0 ? null : /^,"c":([0-9]{1,10})\}$/.exec(bytes.toString("latin1", sealAt));
  if (!seal) return { status: "damaged", code: "SYNTAX", reason: "is not a whole line" };
  if (crc32(bytes.subarray(0, sealAt)) !== Number(seal[1])) {
    return { status: "damaged", code: "CHECKSUM", reason: "does not match its checksum" };
  }
  try {
    const fields: unknown = JSON.parse(bytes.toString("utf8"));
    if (typeof fields !== "object" || fields === null || !("v" in fields) || fields.v !== 1) {
      return { status: "damaged", code: "VERSION", reason: "was written by another version" };
    }
    return { status: "whole", fields: fields as Readonly<Record<string, unknown>> };
  } catch {
    return { status: "damaged", code: "SYNTAX", reason: "is not JSON" };
  }
}

/** The fields of a valid line. */
interface SealedFields {
  readonly status: "whole";
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Why a line is invalid. */
interface LineDamage {
  readonly status: "damaged";
  readonly code: "NUL" | "SYNTAX" | "CHECKSUM" | "VERSION";
  readonly reason: string;
}

/** CRC-32 as in zip and PNG. */
export function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (let index = 0; index < bytes.length; index += 1) {
    crc = (crc >>> 8) ^ (table[(crc ^ (bytes[index] ?? 0)) & 0xff] ?? 0);
  }
  return ~crc >>> 0;
}

const table: Int32Array = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});
