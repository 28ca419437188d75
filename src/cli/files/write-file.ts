import { randomBytes } from "node:crypto";
import { constants, copyFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { formatOf, transcriptText } from "../../formats/read-transcript.ts";
import {
  messagesOf,
  type OpenCodeWire,
  type SessionMessage,
  type SessionPart,
  withMessages,
} from "../../formats/wires/opencode/session-message.ts";
import { asNumber, asObject, type UnknownObject } from "../../text/json.ts";
import type { Edit } from "../../transcript/edit.ts";
import { CliError } from "../terminal/cli-error.ts";
import type { InputFile } from "./read-input.ts";

/** Writes a file at once, so that an interrupt leaves the old one or the new one, never half of it. */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  { mode }: WriteOptions = {},
): Promise<void> {
  // In a folder that others can write to, a name that can be guessed may be a link that leads elsewhere.
  const temporary = `${path}.${process.pid}-${randomBytes(8).toString("hex")}.tmp`;
  try {
    await writeFile(temporary, content, { flag: "wx", flush: true, ...(mode !== undefined && { mode }) });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new CliError(`Cannot write ${path}: ${(error as Error).message}`, [], { cause: error });
  }
}

interface WriteOptions {
  /** Who may read the new file; what the system gives new files when unset. */
  readonly mode?: number;
}

/** A file as it was when it was read. */
export interface FileVersion {
  /** Links followed. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  readonly mode: number;
}

/** What to hold against the file again before it is replaced. */
export async function fileVersion(path: string): Promise<FileVersion> {
  const whole = await realpath(path);
  const { size, mtimeMs, mode } = await stat(whole);
  return { path: whole, sizeBytes: size, modifiedMs: mtimeMs, mode: mode & 0o777 };
}

/**
 * Replaces a file as a whole and gives the path of the copy that was made of it first. A file that somebody has written
 * to since it was read is left alone.
 */
export async function replaceFile(version: FileVersion, content: string | Uint8Array): Promise<string> {
  await checkUnchanged(version);
  const backup = await copyAside(version.path);
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

/** The first free name: an older copy is never written over. */
async function copyAside(path: string): Promise<string> {
  for (let number = 0; number < MAX_BACKUPS; number++) {
    const backup = number === 0 ? `${path}.bak` : `${path}.bak${number}`;
    try {
      await copyFile(path, backup, constants.COPYFILE_EXCL);
      return backup;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw new CliError(`Cannot write ${backup}: ${(error as Error).message}`, ["Nothing was changed."], {
        cause: error,
      });
    }
  }
  throw new CliError(`There are ${MAX_BACKUPS} copies of ${path} already`, ["Remove some of them."]);
}

const MAX_BACKUPS = 1000;

/** The text of a file with edits in it, in the file's own format. */
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
  /** Milliseconds since 1970, for what the edits insert. */
  readonly at: number;
  /**
   * Where an agent sorts by time: `of-the-list` dates messages so that they stay where they stand; `of-time` leaves a
   * compaction where it happened, since its marker names the tail that it keeps.
   */
  readonly order: "of-the-list" | "of-time";
}

/**
 * An OpenCode session that `opencode import` accepts: messages that an edit inserted take the agent, the model and
 * whatever else is asked for from the nearest message of their role. The same reference where none lacks anything.
 */
export function importableSession(wire: OpenCodeWire): OpenCodeWire {
  const messages = messagesOf(wire);
  const complete = messages.map((message, index) => withRequiredFields(message, { messages, index }));
  return complete.every((message, index) => message === messages[index])
    ? wire
    : withMessages(wire, complete);
}

interface Place {
  readonly messages: readonly SessionMessage[];
  readonly index: number;
}

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  user: ["agent", "model"],
  assistant: ["parentID", "modelID", "providerID", "mode", "agent", "path", "cost", "tokens"],
};

/** Nothing was paid for what an edit inserted. */
const DEFAULTS: UnknownObject = {
  cost: 0,
  tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
};

function withRequiredFields(message: SessionMessage, place: Place): SessionMessage {
  const info = asObject(asObject(message).info);
  const missing = (REQUIRED[`${info.role}`] ?? []).filter((name) => info[name] === undefined);
  const model = missing.length === 0 ? undefined : nearestCompleteInfo(place, `${info.role}`);
  if (model === undefined) return message;
  const lent = Object.fromEntries(missing.map((name) => [name, DEFAULTS[name] ?? model[name]]));
  return {
    info: { ...message.info, ...lent },
    parts: message.parts.map((part) => withPartId(part)),
  };
}

/** The `info` of the nearest message that has all that its role asks for. */
function nearestCompleteInfo({ messages, index }: Place, role: string): UnknownObject | undefined {
  const isWhole = (info: UnknownObject): boolean =>
    info.role === role && (REQUIRED[role] ?? []).every((name) => info[name] !== undefined);
  for (let distance = 1; distance < messages.length; distance++) {
    for (const at of [index + distance, index - distance]) {
      const info = asObject(asObject(messages[at]).info);
      if (isWhole(info)) return info;
    }
  }
  return undefined;
}

/** OpenCode knows a part by how its id begins. */
function withPartId(part: SessionPart): SessionPart {
  const { id } = part;
  return typeof id === "string" && !id.startsWith("prt") ? { ...part, id: `prt_${id}` } : part;
}

/**
 * An OpenCode session whose messages have their times in the order of the list, which is how OpenCode sorts them: what
 * was inserted or moved to the front is dated before what follows it. The same reference where they are in order.
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
