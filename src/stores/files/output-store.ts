import { createHash } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import { codeOf, failureOf, type StoreFailure } from "../../text/failure.ts";
import type { OutputFailure, OutputRef, OutputStore } from "../../tool-output/output-store.ts";
import {
  type CleanReport,
  cleanOutputs,
  isSha256,
  pendingDeletePath,
  type StoredOutputLimits,
} from "./clean-outputs.ts";
import {
  createPause,
  type FileStoreSettings,
  type FileSystem,
  nodeFileSystem,
  openRegularFile,
  removeOldTemporaries,
  removeQuietly,
  syncFolder,
  temporaryPath,
  writeAll,
} from "./file-system.ts";
import { openPrivateFolder } from "./private-folder.ts";
import { defaultStateFolder } from "./state-folder.ts";

/** An output store of files that are named by the hash of their content and readable by their owner only. Removes old files by itself. */
export function createFileOutputStore(options: FileOutputStoreSettings = {}): OutputStore {
  const { fs = nodeFileSystem, durable = true, now = Date.now, cleaning = "hourly" } = options;
  const root = resolve(options.root ?? join(defaultStateFolder(), "outputs"));
  let hasStarted = false;
  let cleanedMs = Number.NEGATIVE_INFINITY;

  async function put(content: string | Uint8Array): Promise<OutputRef | OutputFailure> {
    const folder = await openPrivateFolder({ fs, path: root, durable });
    if (folder.status === "failed") return folder;
    if (!hasStarted) removeOldTemporaries({ fs, folder: folder.path, nowMs: now() });
    hasStarted = true;
    const temporary = temporaryPath(folder.path);
    const outcome = await putThrough(temporary, content).catch(failureOf);
    if (outcome.status === "failed") removeQuietly(fs, temporary);
    return outcome;
  }

  async function putThrough(
    temporary: string,
    content: string | Uint8Array,
  ): Promise<OutputRef | StoreFailure> {
    const { sha256, bytes } = await writeHashed(temporary, content);
    const realRoot = dirname(temporary);
    const path = outputPath(realRoot, sha256);
    const shard = await openPrivateFolder({ fs, path: dirname(path), durable, inside: realRoot });
    if (shard.status === "failed") return shard;
    // Replaces an existing file, which may be damaged, and so marks it as used.
    fs.rename(temporary, path);
    if (durable) await syncFolder(fs, shard.path);
    return { status: "stored", handle: sha256, sha256, bytes, path };
  }

  async function writeHashed(path: string, content: string | Uint8Array) {
    const pause = createPause();
    const hash = createHash("sha256");
    const fd = fs.open(path, "create");
    try {
      let bytes = 0;
      for (const chunk of byteChunks(content)) {
        writeAll({ fs, fd, bytes: chunk });
        hash.update(chunk);
        bytes += chunk.byteLength;
        await pause();
      }
      if (durable) await fs.fsync(fd);
      return { sha256: hash.digest("hex"), bytes };
    } finally {
      fs.close(fd);
    }
  }

  async function readText(path: string, sha256: string): Promise<string | StoreFailure | undefined> {
    try {
      const content = await readOutputFile(fs, path);
      if (content.sha256 !== sha256) return DAMAGED;
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(content.bytes);
    } catch (error) {
      return codeOf(error) === "ENOENT" ? undefined : failureOf(error);
    }
  }

  function cleanWhenDue(): void {
    // A clock that was set back must not put the next cleaning off.
    if (cleaning === "never" || Math.abs(now() - cleanedMs) < CLEANING_INTERVAL_MS) return;
    cleanedMs = now();
    void cleanOutputs({ ...options, root, fs, now })
      .then(options.onCleaned)
      .catch(() => {});
  }

  return {
    async put(content) {
      const outcome = await put(content);
      cleanWhenDue();
      return outcome;
    },
    async get(handle) {
      if (!isSha256(handle)) return undefined;
      const folder = await openPrivateFolder({ fs, path: root, durable });
      if (folder.status === "failed") return folder;
      const path = outputPath(folder.path, handle);
      const text = await readText(path, handle);
      try {
        if (typeof text === "string") fs.touch(path, now());
      } catch {
        // Only affects the order of cleaning.
      }
      if (typeof text === "string") return text;
      const moved = await readText(pendingDeletePath(path), handle);
      return typeof moved === "string" ? moved : (text ?? moved);
    },
  };
}

/** Where saved outputs are stored, and how long. */
export interface FileOutputStoreOptions {
  /** Default: `outputs` in the state folder. @default `outputs` in the state folder @from document 004 */
  readonly root?: string;
  /** How long an output is kept after its last use. @default 7 days */
  readonly maxAgeMs?: number;
  /** How much is kept in all. @default 1 GiB */
  readonly maxBytes?: number;
}

/** The same with what only programs of ours and tests set. */
export interface FileOutputStoreSettings
  extends FileOutputStoreOptions,
    StoredOutputLimits,
    FileStoreSettings {
  /** `hourly`: with the first put, then at most once an hour. */
  readonly cleaning?: "hourly" | "never";
  /** Called after each cleaning. */
  readonly onCleaned?: (report: CleanReport | StoreFailure) => void;
}

const CLEANING_INTERVAL_MS = 3_600_000;

/** A copy whose hash is another than its name; a put of the same content replaces it. */
export const DAMAGED: StoreFailure = {
  status: "failed",
  code: "DAMAGED",
  reason: "the stored copy is damaged",
};

/** The path of the file with this hash. */
export function outputPath(root: string, sha256: string): string {
  return join(root, sha256.slice(0, 2), sha256);
}

/** Reads a saved output and hashes it, in chunks so that the event loop is not blocked; throws with the system's code. */
export async function readOutputFile(fs: FileSystem, path: string): Promise<StoredContent> {
  const pause = createPause();
  const { fd, sizeBytes } = openRegularFile(fs, path);
  try {
    const hash = createHash("sha256");
    const bytes = Buffer.allocUnsafe(sizeBytes);
    let filled = 0;
    while (filled < sizeBytes) {
      const count = fs.read(fd, bytes.subarray(filled, filled + CHUNK_BYTES));
      if (count === 0) break;
      hash.update(bytes.subarray(filled, filled + count));
      filled += count;
      await pause();
    }
    return { sha256: hash.digest("hex"), bytes: bytes.subarray(0, filled) };
  } finally {
    fs.close(fd);
  }
}

interface StoredContent {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** Encodes content in chunks of at most 1 MiB that split no character. The buffer of a chunk is reused for the next. */
export function* byteChunks(content: string | Uint8Array): Generator<Uint8Array, void, undefined> {
  if (typeof content !== "string") {
    for (let start = 0; start < content.byteLength; start += CHUNK_BYTES) {
      yield content.subarray(start, start + CHUNK_BYTES);
    }
    return;
  }
  const encoder = new TextEncoder();
  const buffer = new Uint8Array(Math.min(CHUNK_BYTES, content.length * MAX_BYTES_PER_UNIT));
  for (let start = 0; start < content.length; ) {
    let end = Math.min(content.length, start + CHUNK_UNITS);
    if (end < content.length && isHighSurrogate(content.charCodeAt(end - 1))) end -= 1;
    yield buffer.subarray(0, encoder.encodeInto(content.slice(start, end), buffer).written);
    start = end;
  }
}

/** The largest chunk. */
export const CHUNK_BYTES: number = 1_048_576;

// A UTF-16 unit takes at most three bytes in UTF-8; a pair takes four.
const MAX_BYTES_PER_UNIT = 3;
const CHUNK_UNITS = Math.floor(CHUNK_BYTES / MAX_BYTES_PER_UNIT);

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
