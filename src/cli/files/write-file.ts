import { randomBytes } from "node:crypto";
import { type BigIntStats, fstatSync } from "node:fs";
import { constants, copyFile, lstat, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { formatOf, transcriptText } from "../../formats/read-transcript.ts";
import type {
  OpenCodeWire,
  SessionMessage,
  SessionPart,
} from "../../formats/wires/opencode/decode-messages.ts";
import { messagesOf, withMessages } from "../../formats/wires/opencode/opencode.ts";
import { errorMessage } from "../../text/failure.ts";
import { asNumber, asObject, type UnknownObject } from "../../text/unknown-value.ts";
import type { Edit } from "../../transcript/edit.ts";
import { CliError, systemError } from "../terminal/cli-error.ts";
import type { InputFile } from "./read-input.ts";
import { cannotRead } from "./unreadable.ts";

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

/** A file's state when it was read, to be compared before it is replaced. */
export interface FileVersion {
  /** With links resolved. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  readonly mode: number;
}

/** The present state of a file. */
export async function fileVersion(path: string): Promise<FileVersion> {
  try {
    const resolved = await realpath(path);
    const { size, mtimeMs, mode } = await stat(resolved);
    return { path: resolved, sizeBytes: size, modifiedMs: mtimeMs, mode: mode & 0o777 };
  } catch (error) {
    throw cannotRead(path, error as NodeJS.ErrnoException);
  }
}

/** Backs a file up, replaces it atomically and gives the path of the backup. Throws if it was written to since it was read. */
export async function replaceFile(version: FileVersion, content: string | Uint8Array): Promise<string> {
  await checkUnchanged(version);
  const backup = await backUp(version.path);
  await checkUnchanged(version);
  await writeFileAtomic(version.path, content, { mode: version.mode });
  return backup;
}

async function checkUnchanged(version: FileVersion): Promise<void> {
  const now = await fileVersion(version.path);
  if (now.sizeBytes === version.sizeBytes && now.modifiedMs === version.modifiedMs) return;
  throw new CliError(`${version.path} has changed since it was read; it was left as it is`, [
    "An agent is probably at work in this session. End it and try again.",
  ]);
}

/** Copies a file to the first free name, so that no older backup is overwritten. */
async function backUp(path: string): Promise<string> {
  for (let number = 0; number < MAX_BACKUPS; number++) {
    const backup = number === 0 ? `${path}.bak` : `${path}.bak${number}`;
    try {
      await copyFile(path, backup, constants.COPYFILE_EXCL);
      return backup;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw new CliError(`Cannot write ${backup}: ${errorMessage(error)}`, ["Nothing was changed."], {
        cause: error,
      });
    }
  }
  throw new CliError(`There are ${MAX_BACKUPS} copies of ${path} already`, ["Remove some of them."]);
}

const MAX_BACKUPS = 1000;

/** The text of a file after edits, in the file's own format. */
export function editedText(
  { format, form, wire }: InputFile,
  edits: readonly Edit[],
  { at, order }: EditedTextOptions,
): string {
  const edited = formatOf(format).apply(wire, edits, { at });
  if (format !== "opencode") return transcriptText({ form, wire: edited });
  const session = importableSession(edited as OpenCodeWire);
  return transcriptText({ form, wire: order === "of-the-list" ? orderByTime(session) : session });
}

interface EditedTextOptions {
  /** Timestamp of inserted messages. */
  readonly at: number;
  /**
   * OpenCode sorts messages by time. `of-the-list` changes their times so that the present order is kept; `of-time` does
   * not, which is right for a compaction, since its marker names the tail that it keeps.
   */
  readonly order: "of-the-list" | "of-time";
}

/**
 * Completes an OpenCode session so that `opencode import` accepts it: inserted messages take the agent, the model and
 * other required fields from the nearest message of their role. Gives the same reference if nothing was missing.
 */
export function importableSession(wire: OpenCodeWire): OpenCodeWire {
  const messages = messagesOf(wire);
  const infos = messages.map((message) => asObject(asObject(message).info));
  let isChanged = false;
  const complete = messages.map((message, index) => {
    const missing = missingFields(infos[index] ?? {});
    const model = missing.length === 0 ? undefined : nearestComplete(infos, index);
    if (model === undefined) return message;
    isChanged = true;
    const copied = missing.map((name) => [name, INSERTED_USAGE[name] ?? model[name]] as const);
    return {
      info: { ...message.info, ...Object.fromEntries(copied) },
      parts: message.parts.map(withPartId),
    };
  });
  return isChanged ? withMessages(wire, complete) : wire;
}

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  user: ["agent", "model"],
  assistant: ["parentID", "modelID", "providerID", "mode", "agent", "path", "cost", "tokens"],
};

/** An inserted message has cost nothing. */
const INSERTED_USAGE: UnknownObject = {
  cost: 0,
  tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
};

function missingFields(info: UnknownObject): readonly string[] {
  return (REQUIRED[`${info.role}`] ?? []).filter((name) => info[name] === undefined);
}

/** The nearest `info` of the same role that has all required fields. */
function nearestComplete(infos: readonly UnknownObject[], index: number): UnknownObject | undefined {
  for (let distance = 1; distance < infos.length; distance++) {
    for (const info of [infos[index + distance], infos[index - distance]])
      if (info !== undefined && info.role === infos[index]?.role && missingFields(info).length === 0)
        return info;
  }
  return undefined;
}

/** OpenCode recognizes a part by the prefix of its id. */
function withPartId(part: SessionPart): SessionPart {
  const { id } = part;
  return typeof id === "string" && !id.startsWith("prt") ? { ...part, id: `prt_${id}` } : part;
}

/**
 * Changes the times of an OpenCode session's messages so that OpenCode, which sorts by time, keeps them in the order of
 * the list: a message that is later than its successor gets a time just before it. Gives the same reference if all are
 * in order.
 */
export function orderByTime(wire: OpenCodeWire): OpenCodeWire {
  const messages = messagesOf(wire);
  const ordered: SessionMessage[] = [];
  let next = Number.POSITIVE_INFINITY;
  let isChanged = false;
  for (const message of messages.toReversed()) {
    const created = asNumber(asObject(asObject(asObject(message).info).time).created);
    const isLate = created !== undefined && created > next;
    ordered.push(isLate ? withCreatedTime(message, next - 1) : message);
    isChanged ||= isLate;
    next = Math.min(next, created ?? next) - (isLate ? 1 : 0);
  }
  return isChanged ? withMessages(wire, ordered.reverse()) : wire;
}

function withCreatedTime(message: SessionMessage, created: number): SessionMessage {
  return { ...message, info: { ...message.info, time: { ...asObject(message.info.time), created } } };
}
