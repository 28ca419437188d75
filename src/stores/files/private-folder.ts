import { dirname } from "node:path";
import { codeOf, failureOf, type StoreFailure } from "../../text/failure.ts";
import { type FileStat, type FileSystem, ifAny, syncFolder } from "./file-system.ts";

/**
 * Makes sure that a folder exists, that only this user can access it, and that a power cut does not take it away with what is
 * put into it; a link or another owner is a failure.
 */
export async function openPrivateFolder(
  options: PrivateFolderOptions,
): Promise<PrivateFolder | StoreFailure> {
  const { fs, path, durable } = options;
  try {
    const stat = ifAny(() => fs.lstat(path)) ?? makeFolder(fs, path);
    if (stat.type !== "folder") return unsafe(path, "is not a folder of its own (a link, perhaps)");
    const uid = process.getuid?.();
    if (uid !== undefined && stat.uid !== uid) return unsafe(path, "belongs to another user");
    if (uid !== undefined && (stat.mode & 0o077) !== 0) {
      if (isShared(fs, path, stat.mode)) return unsafe(path, SHARED);
      fs.chmod(path, 0o700);
    }
    const realPath = fs.realpath(path);
    if (options.inside !== undefined && dirname(realPath) !== options.inside) {
      return unsafe(path, `leads out of ${options.inside}`);
    }
    if (durable) await flushName(fs, realPath);
    return { status: "open", path: realPath };
  } catch (error) {
    return failureOf(error);
  }
}

interface PrivateFolderOptions {
  readonly fs: FileSystem;
  readonly path: string;
  readonly durable: boolean;
  /** The real path that the folder's parent must have. */
  readonly inside?: string;
}

interface PrivateFolder {
  readonly status: "open";
  /** With links resolved. */
  readonly path: string;
}

function unsafe(path: string, reason: string): StoreFailure {
  return { status: "failed", code: "UNSAFE_FOLDER", reason: `${path} ${reason}` };
}

/** True for a folder that others may use: closing it would break what they do there. */
function isShared(fs: FileSystem, path: string, mode: number): boolean {
  if ((mode & STICKY) !== 0) return true;
  const names = fs.readdir(path);
  return (mode & 0o022) !== 0 ? names.length > 0 : !names.every((name) => OWN_NAMES.test(name));
}

const STICKY = 0o1000;

const SHARED = "is a folder that others use: name one for this store alone, or close it with chmod 700";

/** Outputs and their folders; records, logs, locks and what else lies beside them; unfinished files. */
const OWN_NAMES =
  /^(?:[0-9a-f]{2}|[0-9a-f]{64}(?:\.doomed)?|long|@?[\w-]+\.(?:json(?:\.bak|\.corrupt-\d+)?|\d+-\d+-\d+\.jsonl)|[@\w.-]+(?:\.lock|\.version|\.break)|\.\d+-[0-9a-f]{16}\.tmp)$/;

function makeFolder(fs: FileSystem, path: string): FileStat {
  const first = fs.mkdir(path);
  // It may have been there before, and removed.
  for (let made = path; made.length >= (first ?? path).length; made = dirname(made)) {
    flushedNames.get(fs)?.delete(made);
    if (dirname(made) === made) break;
  }
  return fs.lstat(path);
}

/**
 * Brings the name of a folder to the disk, and those of the folders above it that may have been made together with it. Done
 * once in each program, also for folders that were there: whoever made them may have been killed before it got so far.
 */
function flushName(fs: FileSystem, path: string): Promise<void> {
  const known = flushedNames.get(fs) ?? new Map<string, Promise<void>>();
  flushedNames.set(fs, known);
  const before = known.get(path);
  if (before !== undefined) return before;
  const flushing = flushNameNow(fs, path);
  known.set(path, flushing);
  flushing.catch(() => known.delete(path));
  return flushing;
}

async function flushNameNow(fs: FileSystem, path: string): Promise<void> {
  const parent = dirname(path);
  if (parent === path) return;
  try {
    await syncFolder(fs, parent);
  } catch (error) {
    // A folder that cannot even be listed is not one that we made something in.
    if (codeOf(error) !== "EACCES") throw error;
  }
  if (isLikeOurs(fs.lstat(parent))) await flushName(fs, parent);
}

/** The folders whose names this program has brought to the disk, or is about to. */
const flushedNames = new WeakMap<FileSystem, Map<string, Promise<void>>>();

/** True for a folder as we make them. */
function isLikeOurs({ mode, uid }: FileStat): boolean {
  return (mode & 0o777) === 0o700 && uid === process.getuid?.();
}
