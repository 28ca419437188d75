import { basename, join, resolve } from "node:path";
import type {
  Journal,
  JournalAppended,
  JournalContent,
  JournalEntry,
  JournalFailure,
  JournalProblem,
} from "../../session/journal.ts";
import { codeOf, failureOf, toJson } from "../../text/failure.ts";
import {
  createPause,
  type FileStoreSettings,
  type FileSystem,
  ifAny,
  nodeFileSystem,
  openRegularFile,
  removeOldTemporaries,
  syncFolder,
  writeAll,
} from "./file-system.ts";
import { createFileOutputStore, DAMAGED } from "./output-store.ts";
import { pathName } from "./path-name.ts";
import { openPrivateFolder } from "./private-folder.ts";
import {
  type LineDamage,
  type LineField,
  openSealedLine,
  type SealedFields,
  sealLine,
} from "./sealed-line.ts";

/**
 * A journal of lines with checksums. Each writer has files of its own, so that neither a crash nor another process can damage
 * what was written, and begins another one before a file gets too long. To go on, only the ends of the files are read.
 */
export function createFileJournal(options: FileJournalSettings): Journal {
  const { fs = nodeFileSystem, durable = true, now = Date.now, numbering = "read" } = options;
  const root = resolve(options.root);
  const name = pathName(options.session);
  const longValues = createFileOutputStore({
    root: join(root, LONG_VALUES),
    durable,
    fs,
    now,
    cleaning: "never",
  });
  const startedMs = now();
  let segmentCount = 0;
  let segment: { readonly name: string; readonly bytes: number } | undefined;
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
    if (numbering === "clock") return startedMs;
    const nowMs = now();
    try {
      const names = fs.readdir(folder);
      removeOldTemporaries({ fs, folder, nowMs, names });
      removeOldTemporaries({ fs, folder: join(folder, LONG_VALUES), nowMs });
      const pause = createPause();
      let highest = 0;
      for (const place of names.filter(isSegment)) {
        try {
          highest = Math.max(highest, await lastSequence(fs, join(folder, place), pause));
        } catch (error) {
          // Nobody wrote entries to something else than a file. What cannot be read now may hold more of them than any
          // other file, but none was counted up to the time in milliseconds.
          if (!NO_FILE.has(codeOf(error) ?? "")) highest = Math.max(highest, nowMs);
        }
      }
      return highest + 1;
    } catch (error) {
      return failureOf(error);
    }
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
    if (segment && segment.bytes + line.byteLength > SEGMENT_MAX_BYTES) segment = undefined;
    const isNew = segment === undefined;
    const { name: place, bytes } = segment ?? { name: nextSegmentName(folder), bytes: 0 };
    const fd = fs.open(join(folder, place), isNew ? "create" : "append");
    segment = { name: place, bytes: bytes + line.byteLength };
    try {
      writeAll({ fs, fd, bytes: line });
      if (durable) await fs.fsync(fd);
    } finally {
      fs.close(fd);
    }
    if (isNew && durable) await syncFolder(fs, folder);
  }

  function nextSegmentName(folder: string): string {
    for (;;) {
      segmentCount += 1;
      const place = `${name}.${process.pid}-${startedMs}-${segmentCount}.jsonl`;
      if (ifAny(() => fs.lstat(join(folder, place))) === undefined) return place;
    }
  }

  function isSegment(file: string): boolean {
    return file.startsWith(`${name}.`) && /^[0-9]+-[0-9]+-[0-9]+\.jsonl$/.test(file.slice(name.length + 1));
  }

  async function read(): Promise<JournalContent> {
    const pause = createPause();
    const lines: WrittenLine[] = [];
    const problems: JournalProblem[] = [];
    const folder = await openPrivateFolder({ fs, path: root, durable });
    const files = folder.status === "failed" ? folder : listed(folder.path);
    if ("status" in files) {
      const { code, reason } = files;
      return { entries: [], problems: [{ type: "failed", place: root, code, reason }] };
    }
    for (const path of files) {
      const place = basename(path);
      const writer = place.slice(name.length + 1, -".jsonl".length);
      try {
        const add = (line: SegmentLine): unknown => lines.push({ line, writer, place });
        problems.push(...(await readSegment({ fs, path, pause, add })));
      } catch (error) {
        const { code, reason } = failureOf(error);
        problems.push({ type: "failed", place, code, reason });
      }
    }
    lines.sort((a, b) => a.line.sequence - b.line.sequence || (a.writer < b.writer ? -1 : 1));
    const entries: JournalEntry[] = [];
    for (const { line, writer, place } of lines) {
      await pause();
      const { sequence } = line;
      const found = line.status === "value" ? line : await longValue(line.handle);
      const said = `the long value of entry ${sequence}`;
      if (found.status === "value") entries.push({ sequence, writer, value: found.value });
      else if (found.status === "gone")
        problems.push({ type: "bad-line", place, code: "LONG_VALUE", reason: `${said} is gone or damaged` });
      else problems.push({ type: "failed", place, code: found.code, reason: `${said}: ${found.reason}` });
    }
    return { entries, problems };
  }

  /** The files of this log. */
  function listed(folder: string): readonly string[] | JournalFailure {
    try {
      return fs
        .readdir(folder)
        .filter(isSegment)
        .map((file) => join(folder, file));
    } catch (error) {
      return failureOf(error);
    }
  }

  async function longValue(handle: string): Promise<LongValue | JournalFailure> {
    const json = await longValues.get(handle);
    if (typeof json === "object" && json.code !== DAMAGED.code) return json;
    try {
      return { status: "value", value: JSON.parse(typeof json === "string" ? json : "") as unknown };
    } catch {
      return { status: "gone" };
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

/** Where a journal is stored. */
export interface FileJournalOptions {
  /** The folder with the logs of all sessions. */
  readonly root: string;
  /** The id of the session. */
  readonly session: string;
}

/** The same with what only programs of ours and tests set. */
export interface FileJournalSettings extends FileJournalOptions, FileStoreSettings {
  /** Where numbers begin: behind what is read of the log, or at the time, for a process that writes one entry and ends. */
  readonly numbering?: "read" | "clock";
}

/** A longer value is stored as a saved output beside the log, and its line has only the handle. */
export const LINE_MAX_BYTES: number = 1_048_576;

const LONG_VALUES = "long";

type LongValue = { readonly status: "value"; readonly value: unknown } | { readonly status: "gone" };

interface WrittenLine {
  readonly line: SegmentLine;
  readonly writer: string;
  readonly place: string;
}

/** Reads a file of one writer, block by block: adds the valid lines in order, gives the problems with the others. */
async function readSegment({ fs, path, pause, add }: SegmentReading): Promise<readonly JournalProblem[]> {
  const place = basename(path);
  const problems: JournalProblem[] = [];
  let last: number | undefined;
  let unreported = 0;
  let damagedLines = 0;
  let line = 1;
  const report = (problem: Pick<JournalProblem, "type" | "code" | "reason">): void => {
    if (problems.length === MAX_PROBLEMS) unreported += 1;
    else problems.push({ ...problem, place, line, reason: `line ${line} ${problem.reason}` });
  };
  const addLine = (bytes: Uint8Array): void => {
    const read = readLine(openSealedLine(bytes));
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
      last = read.sequence;
      add(read);
    }
    line += 1;
  };
  const { fd } = openRegularFile(fs, path);
  try {
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    let begun: Buffer = Buffer.alloc(0);
    for (;;) {
      const count = fs.read(fd, block);
      if (count === 0) break;
      const bytes = Buffer.concat([begun, block.subarray(0, count)]);
      let start = 0;
      for (
        let end = bytes.indexOf(NEWLINE, begun.byteLength);
        end >= 0;
        end = bytes.indexOf(NEWLINE, start)
      ) {
        addLine(bytes.subarray(start, end));
        start = end + 1;
      }
      // No line of ours is so long: its beginning is enough to find it damaged.
      begun = Buffer.from(bytes.subarray(start, start + 2 * LINE_MAX_BYTES));
      await pause();
    }
    if (begun.byteLength > 0) report({ type: "torn-tail", code: "TORN", reason: "was never finished" });
  } finally {
    fs.close(fd);
  }
  if (unreported > 0) {
    problems.push({ type: "bad-line", place, code: "MORE", reason: `${unreported} more problems` });
  }
  return problems;
}

interface SegmentReading {
  readonly fs: FileSystem;
  readonly path: string;
  readonly pause: Pause;
  readonly add: (line: SegmentLine) => unknown;
}

/** The number of the last valid line of a file, which is its highest, read from the end; 0 if there is none. */
async function lastSequence(fs: FileSystem, path: string, pause: Pause): Promise<number> {
  const { fd, sizeBytes } = openRegularFile(fs, path);
  try {
    let later: Buffer = Buffer.alloc(0);
    let blockBytes = LAST_BLOCK_BYTES;
    for (let end = sizeBytes; end > 0; blockBytes = BLOCK_BYTES) {
      const start = Math.max(0, end - blockBytes);
      const block = Buffer.allocUnsafe(end - start);
      for (let filled = 0; filled < block.byteLength; ) {
        const count = fs.read(fd, block.subarray(filled), start + filled);
        if (count === 0) break;
        filled += count;
      }
      const bytes = Buffer.concat([block, later]);
      // The first line of a block begins in the block before it.
      const first = start === 0 ? 0 : bytes.indexOf(NEWLINE) + 1;
      for (let stop = bytes.lastIndexOf(NEWLINE); stop > first; ) {
        const before = bytes.lastIndexOf(NEWLINE, stop - 1);
        const read = readLine(openSealedLine(bytes.subarray(Math.max(before + 1, first), stop)));
        if (read.status !== "damaged") return read.sequence;
        stop = before;
      }
      later =
        first === 0 && bytes.byteLength > 2 * LINE_MAX_BYTES
          ? Buffer.alloc(0)
          : bytes.subarray(0, first || bytes.byteLength);
      end = start;
      await pause();
    }
    return 0;
  } finally {
    fs.close(fd);
  }
}

type Pause = ReturnType<typeof createPause>;

/** Small enough that the event loop does not wait for one. */
const BLOCK_BYTES = 262_144;
/** Of most logs the last line is in here. */
const LAST_BLOCK_BYTES = 32_768;
/** A file of this length is read in a moment, and no tool has trouble with it. */
const SEGMENT_MAX_BYTES = 67_108_864;
/** A folder, a link, a pipe. */
const NO_FILE: ReadonlySet<string> = new Set(["UNSAFE_FILE", "EISDIR", "ELOOP", "ENXIO"]);

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
