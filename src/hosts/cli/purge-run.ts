import { rmdir } from "node:fs/promises";
import { dirname } from "node:path";
import { cleanSpills } from "../../stores/files/clean-spills.ts";
import { createFileRecordStore } from "../../stores/files/file-record-store.ts";
import { nodeFileSystem } from "../../stores/files/file-system.ts";
import { codeOf } from "../../stores/files/store-failure.ts";
import { groupBy } from "../../text/group-by.ts";
import { contentsIn } from "./purge-files.ts";
import type { KeptContent, KeptFile, KeptFork, PurgePlan } from "./purge-plan.ts";

/**
 * Removes what a plan names, file by file. Logs go last, since they say what belongs to a session: one that was stopped
 * half way finishes the rest when it is asked again.
 */
export async function runPurge(plan: PurgePlan, { isQuiet, signal }: PurgeOptions): Promise<Purged> {
  const done: Tally = { files: 0, bytes: 0, problems: [] };
  for (const [root, contents] of groupBy(plan.contents, ({ root }) => root)) {
    if (signal.aborted) break;
    await removeContents({ root, contents, isQuiet }, done);
  }
  for (const fork of plan.sessions.flatMap(({ forks }) => forks)) {
    if (signal.aborted) break;
    await removeFork(fork, done);
  }
  for (const file of [...plan.leftovers, ...plan.sessions.flatMap(({ logs }) => logs)]) {
    if (signal.aborted) break;
    removeFile(file, done);
  }
  const folders = new Set(
    [...plan.contents, ...plan.leftovers, ...allOf(plan)].map(({ path }) => dirname(path)),
  );
  if (!signal.aborted) for (const folder of folders) await removeEmpty(folder);
  return { ...done, status: signal.aborted ? "stopped" : "purged" };
}

export interface PurgeOptions {
  /** Nobody else works in the folders, so that even what was just written may go. */
  readonly isQuiet: boolean;
  readonly signal: AbortSignal;
}

export interface Purged {
  readonly status: "purged" | "stopped";
  readonly files: number;
  readonly bytes: number;
  readonly problems: readonly string[];
}

interface Tally {
  files: number;
  bytes: number;
  readonly problems: string[];
}

interface ContentsOfRoot {
  readonly root: string;
  readonly contents: readonly KeptContent[];
  readonly isQuiet: boolean;
}

/** Through the store's own cleaning, which never removes what is put again at the same moment. */
async function removeContents({ root, contents, isQuiet }: ContentsOfRoot, done: Tally): Promise<void> {
  const doomed = new Set(contents.map(({ handle }) => handle));
  const report = await cleanSpills({
    root,
    maxFiles: 0,
    ...(isQuiet && { minAgeMs: 0 }),
    live: async () => {
      const all = await contentsIn(root, "spill");
      return new Set(all.map(({ handle }) => handle).filter((handle) => !doomed.has(handle)));
    },
  });
  if (report.status === "failed") {
    done.problems.push(`${root}: ${report.reason}`);
    return;
  }
  done.files += report.removedFiles;
  done.bytes += report.removedBytes;
  done.problems.push(...report.problems.map(({ reason }) => reason));
}

async function removeFork({ folder, id, path, sizeBytes }: KeptFork, done: Tally): Promise<void> {
  const store = createFileRecordStore({ root: folder, durable: false });
  const found = await store.get(id);
  if (found.status !== "found") return;
  const deleted = await store.delete(id, found.version);
  if (deleted.status === "deleted") {
    done.files += 1;
    done.bytes += sizeBytes;
  } else done.problems.push(`${path}: ${deleted.status === "failed" ? deleted.reason : "it has changed"}`);
}

function removeFile({ path, sizeBytes }: KeptFile, done: Tally): void {
  try {
    nodeFileSystem.unlink(path);
    done.files += 1;
    done.bytes += sizeBytes;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") done.problems.push(`${path}: ${codeOf(error)}`);
  }
}

function allOf({ sessions }: PurgePlan): readonly KeptFile[] {
  return sessions.flatMap(({ logs, forks }) => [...logs, ...forks]);
}

/** A folder in which anything is left stays. */
async function removeEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => undefined);
}
