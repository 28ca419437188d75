import { randomBytes } from "node:crypto";
import { type BigIntStats, fstatSync } from "node:fs";
import { lstat, rename, rm, stat, writeFile } from "node:fs/promises";
import { errorMessage } from "../../text/failure.ts";
import { CliError, systemError } from "../terminal/cli-error.ts";

/** Writes a file atomically: after an interrupt there is the old file or the new one, never half of it. Without a mode it has the system's default. */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array | Iterable<string>,
  { mode }: { readonly mode?: number } = {},
): Promise<void> {
  // The name is random: in a folder that others can write to, a predictable one could be a link to another file.
  const temporary = `${path}.${process.pid}-${randomBytes(8).toString("hex")}.tmp`;
  try {
    await writeFile(temporary, content, { flag: "wx", flush: true, ...(mode !== undefined && { mode }) });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    if (error instanceof CliError) throw error;
    throw (
      systemError(error) ?? new CliError(`Cannot write ${path}: ${errorMessage(error)}`, [], { cause: error })
    );
  }
}

/** A file that a flag names for writing. */
export interface OutputFile {
  /** The flag that names it, for messages. */
  readonly flag: "--out" | "--html" | "--svg";
  readonly path: string;
  /** What the command reads, `-` for standard input; never written over. */
  readonly inputs: readonly string[];
  /** `--force`: a file that exists may be replaced. */
  readonly force: boolean;
}

/** The option that lets a command replace a file. */
export const FORCE_OPTION = ["--force", "replace the file that is written to if it exists"] as const;

/** The file that a flag names, if one does. Commands ask before they begin their work; throws unless it may be written. */
export async function outputFile(
  flag: OutputFile["flag"],
  path: string | undefined,
  { inputs, force = false }: { readonly inputs: readonly string[]; readonly force?: boolean },
): Promise<OutputFile | undefined> {
  if (path === undefined) return undefined;
  const file = { flag, path, inputs, force };
  await checkOutputFile(file);
  return file;
}

/**
 * Throws unless a file may be written: a new one, or with `force` a regular file that the command does not read. A link,
 * a pipe or a device would be replaced by a regular file, so those are refused as well.
 */
async function checkOutputFile({ flag, path, inputs, force }: OutputFile): Promise<void> {
  if (path === "") throw new CliError(`${flag} needs the name of a file`);
  const target = await lstat(path, { bigint: true }).catch(() => undefined);
  if (target === undefined) return;
  if (!target.isFile())
    throw new CliError(`${flag} ${path} is ${kindOf(target)}, no file that could be replaced`, [
      "Name a new file, or leave the flag out and redirect what is printed.",
    ]);
  for (const input of inputs) {
    const read = await statInput(input);
    if (read?.dev !== target.dev || read.ino !== target.ino) continue;
    throw new CliError(`${flag} ${path} is the session that is read; it was left as it is`, [
      "Name another file.",
    ]);
  }
  if (force) return;
  throw new CliError(`${flag} ${path} exists already; it was left as it is`, [
    "Name another file, or add --force to replace it.",
  ]);
}

/** Writes a file that a flag names, if it may be written. Only its owner can read it: it holds a session. */
export async function writeOutputFile(
  file: OutputFile,
  content: string | Uint8Array | Iterable<string>,
): Promise<void> {
  await checkOutputFile(file);
  await writeFileAtomic(file.path, content, { mode: 0o600 });
}

/** With links followed; standard input is a file too where the shell redirects one to it. */
async function statInput(input: string): Promise<BigIntStats | undefined> {
  try {
    return input === "-" ? fstatSync(0, { bigint: true }) : await stat(input, { bigint: true });
  } catch {
    return undefined;
  }
}

function kindOf(target: BigIntStats): string {
  if (target.isDirectory()) return "a folder";
  if (target.isSymbolicLink()) return "a link";
  if (target.isFIFO()) return "a pipe";
  return target.isSocket() ? "a socket" : "a device";
}
