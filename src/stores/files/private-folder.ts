import { dirname } from "node:path";
import type { FileStat, FileSystem } from "./file-system.ts";
import { codeOf, failureOf, type StoreFailure } from "./store-failure.ts";
import { syncFolder } from "./whole-file.ts";

/** Makes sure that the folder exists and is ours alone; a link, a foreign owner or a failing call is a value. */
export async function openPrivateFolder(
  options: PrivateFolderOptions,
): Promise<PrivateFolder | StoreFailure> {
  const { fs, path } = options;
  try {
    const stat = statIfAny(fs, path) ?? (await makeFolder(options));
    if (stat.type !== "folder") return unsafe(path, "is not a folder of its own (a link, perhaps)");
    const uid = process.getuid?.();
    if (uid !== undefined && stat.uid !== uid) return unsafe(path, "belongs to another user");
    if (uid !== undefined && (stat.mode & 0o077) !== 0) fs.chmod(path, 0o700);
    const realPath = fs.realpath(path);
    if (options.inside !== undefined && dirname(realPath) !== options.inside) {
      return unsafe(path, `leads out of ${options.inside}`);
    }
    return { status: "open", path: realPath };
  } catch (error) {
    return failureOf(error);
  }
}

export interface PrivateFolderOptions {
  readonly fs: FileSystem;
  readonly path: string;
  readonly durable: boolean;
  /** The real path of the folder that must directly hold this one. */
  readonly inside?: string;
}

export interface PrivateFolder {
  readonly status: "open";
  /** Without links. */
  readonly path: string;
}

async function makeFolder({ fs, path, durable }: PrivateFolderOptions): Promise<FileStat> {
  const first = fs.mkdir(path);
  const stat = fs.lstat(path);
  if (!durable || first === undefined) return stat;
  const top = dirname(first);
  for (let parent = dirname(path); parent.length >= top.length; parent = dirname(parent)) {
    await syncFolder(fs, parent);
    if (parent === dirname(parent)) break;
  }
  return stat;
}

function statIfAny(fs: FileSystem, path: string): FileStat | undefined {
  try {
    return fs.lstat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function unsafe(path: string, reason: string): StoreFailure {
  return { status: "failed", code: "UNSAFE_FOLDER", reason: `${path} ${reason}` };
}
