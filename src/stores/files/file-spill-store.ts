import { createHash } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import type { SpillFailure, SpillRef, SpillStore } from "../../tool-output/spill-store.ts";
import { byteChunks } from "./byte-chunks.ts";
import { type CleanReport, cleanSpills, type SpillLimits } from "./clean-spills.ts";
import { defaultStateFolder } from "./default-state-folder.ts";
import { type FileSystem, nodeFileSystem } from "./file-system.ts";
import { createPause, SLICE_MS } from "./pause.ts";
import { openPrivateFolder } from "./private-folder.ts";
import { doomedPath, isSha256, readSpillFile, spillPath } from "./spill-file.ts";
import { failureOf, type StoreFailure } from "./store-failure.ts";
import { removeOldTemporaries, removeQuietly, syncFolder, temporaryPath, writeAll } from "./whole-file.ts";

/** Keeps spilled outputs as files named by the hash of their bytes, readable by their owner only, and cleans up after itself. */
export function createFileSpillStore(options: FileSpillStoreOptions = {}): SpillStore {
  const { fs = nodeFileSystem, durable = true, now = Date.now, cleaning = "hourly" } = options;
  const root = resolve(options.root ?? join(defaultStateFolder(process.env), "spill"));
  let hasStarted = false;
  let cleanedMs = Number.NEGATIVE_INFINITY;

  async function put(content: string | Uint8Array): Promise<SpillRef | SpillFailure> {
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
  ): Promise<SpillRef | StoreFailure> {
    const { sha256, bytes } = await writeHashed(temporary, content);
    const realRoot = dirname(temporary);
    const path = spillPath(realRoot, sha256);
    const shard = await openPrivateFolder({ fs, path: dirname(path), durable, inside: realRoot });
    if (shard.status === "failed") return shard;
    // Over a file with the same name too: that one may be damaged, and it is about to be counted as used.
    fs.rename(temporary, path);
    if (durable) await syncFolder(fs, shard.path);
    return { status: "stored", handle: sha256, sha256, bytes, path };
  }

  async function writeHashed(path: string, content: string | Uint8Array): Promise<Hashed> {
    const pause = createPause(SLICE_MS);
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

  async function readText(path: string, sha256: string): Promise<string | undefined> {
    try {
      const content = await readSpillFile(fs, path);
      if (content.sha256 !== sha256) return undefined;
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(content.bytes);
    } catch {
      return undefined;
    }
  }

  function cleanWhenDue(): void {
    if (cleaning === "never" || now() - cleanedMs < CLEANING_INTERVAL_MS) return;
    cleanedMs = now();
    void cleanSpills({ ...options, root, fs, now })
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
      if (folder.status === "failed") return undefined;
      const path = spillPath(folder.path, handle);
      const text = (await readText(path, handle)) ?? (await readText(doomedPath(path), handle));
      try {
        if (text !== undefined) fs.touch(path, now());
      } catch {
        // Only the order of cleaning depends on it.
      }
      return text;
    },
  };
}

export interface FileSpillStoreOptions extends SpillLimits {
  /** Default: `spill` in the state folder. */
  readonly root?: string;
  /** Whether content must also survive a power cut; default true. */
  readonly durable?: boolean;
  /** Hourly means with the first put and then at most once an hour; default hourly. */
  readonly cleaning?: "hourly" | "never";
  readonly onCleaned?: (report: CleanReport | StoreFailure) => void;
  readonly fs?: FileSystem;
  readonly now?: () => number;
}

interface Hashed {
  readonly sha256: string;
  readonly bytes: number;
}

const CLEANING_INTERVAL_MS = 3_600_000;
