import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { WholeOutput } from "../../plugin/host/agent-host.ts";
import { PUT_BACK_FILE, pluginFolders, WAITING_FOLDER } from "../../plugin/stores/folders.ts";
import { jsonOrText } from "../../text/json.ts";
import { asNumber, asObject, type UnknownObject } from "../../text/unknown-value.ts";
import type { Format } from "../../transcript/format.ts";
import type { StartWords } from "./start-words.ts";

/** An agent whose sessions are files, and whose own program can go on with one. */
export interface FileAgent {
  readonly name: "claude-code" | "codex" | "pi";
  readonly format: Format<readonly unknown[]>;
  /** Where a text of the user begins that the agent wrote in the user's name; unset where it writes none. */
  readonly addedByAgent?: RegExp;
  /** The file of a session, or without an id of the newest; undefined where there is none. */
  findSession(sessionId: string | undefined, place: AgentPlace): Promise<string | undefined>;
  /** A line of a session's file as its format reads it, where that passes over what a hook of ours has added; unset for as it is. */
  readonly readLine?: (line: object) => object;
  /** The lines of a session as it sends them now, where others of them edit some. */
  readonly sentLines?: (lines: readonly unknown[]) => readonly unknown[];
  /** The ids of the answers with which turns ended, where the format does not say it. */
  readonly turnEnds?: (lines: readonly unknown[]) => ReadonlySet<string>;
  readonly child: ChildProgram;
}

/** What an agent says to a process of ours at its moments, and what it takes for an answer. */
export interface HookWords {
  readonly name: "claude-code" | "codex";
  /** The output of a finished call; undefined for one that stays as it is. */
  readOutput(payload: UnknownObject): HookOutput | undefined;
  /** Text that stands before the model from now on. */
  addContext(event: string, text: string): string;
  /** How much of it one hook may say, and how many hooks of one moment there are. */
  readonly context: { readonly maxChars: number; readonly hooks: number };
  /** Text for the agent's request for a summary; unset where it takes none. */
  readonly instructSummary?: (text: string) => string;
}

/** An agent that starts a process of ours at its moments, as facts. Most moments need only its words, and load no more. */
export interface HookAgent extends HookWords, FileAgent {
  readonly name: HookWords["name"];
  /** The part of a session's lines that is sent to the model now. */
  windowOf(lines: readonly unknown[]): readonly unknown[];
  /** The session that calls a tool of ours. */
  callingSession(call: CallingTool, place: AgentPlace): Promise<string | undefined>;
  /** The folder in which the agent keeps whole outputs of a session, by the session's file; unset where it keeps none. */
  readonly outputFolder?: (sessionFile: string) => string;
  /** Whether a person sees what is going on. */
  isAttended(env: AgentPlace["env"], started: StartWords | undefined): boolean;
}

/** How the agent's own program runs as the child of a fork. */
export interface ChildProgram {
  /** Set where we run inside the agent, which then tells itself of results: the words that start its program. */
  readonly program?: readonly [string, ...string[]];
  readonly command: string;
  /** The variable that names the program where it is not on the `PATH`. */
  readonly variable: string;
  isProgram(path: string): boolean;
  /** What the agent's process says of itself in its environment, which is not true of a child. */
  readonly ownVariables?: RegExp;
  /** The place of a new session. */
  sessionFile(session: { readonly id: string; readonly atMs: number }, place: AgentPlace): string;
  /** A line that holds a text of the user, for `decode`. */
  textLine(text: string): object;
  /** What a child may do at most when this session starts it; a text says why it may start none. */
  rightsOf(parent: ParentSession): ChildRights | string;
  /** The arguments that go on with a session by a prompt on stdin, with events on stdout. */
  resume(run: {
    readonly sessionId: string;
    readonly rights: ChildRights;
    readonly maxUSD?: number;
  }): string[];
  readEvent(line: UnknownObject): readonly ChildEvent[];
}

/** A session that starts a child, as its agent shows it. */
export interface ParentSession {
  readonly lines: readonly unknown[];
  readonly startedWith: StartWords | undefined;
  /** The permission mode in which the call was made, where a hook was told it. */
  readonly mode: string | undefined;
}

/** What a child is held to: arguments of its program, and how much they allow compared with others. */
export interface ChildRights {
  readonly rank: number;
  readonly args: readonly string[];
  /** What the parent's process and its children may cost together; unset where it was given no limit. */
  readonly maxUSD?: number;
  /** For people. */
  readonly label: string;
}

/** What a child's program says that it does. */
export type ChildEvent =
  | { readonly type: "call"; readonly callId: string; readonly tool: string; readonly input: unknown }
  /** Since the beginning of the session, as far as the program knows. */
  | { readonly type: "spent"; readonly costUSD?: number; readonly tokens: number }
  | { readonly type: "failed"; readonly message: string };

/** Where an agent runs. */
export interface AgentPlace {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What an agent says beside the arguments of a call over MCP. */
export interface CallingTool {
  readonly meta: UnknownObject;
}

/** A tool output as the agent would show it to the model, and the way to show another text. */
export interface HookOutput {
  readonly tool: string;
  readonly callId: string;
  readonly text: string;
  whole(): Promise<WholeOutput>;
  /** The agent's own file with all of it, where there is one. */
  readonly path?: string;
  /** See `FinishedTool`. */
  readonly noticeChars?: number;
  readonly maxBytes?: number;
  /** The answer that replaces it, once the whole was asked for; undefined where it must stay. */
  replace(text: string): string | undefined;
}

/** Whether an output may be too long, looked at without loading what bounds it: most outputs are short. */
export function mayBeTooLong({ text, noticeChars }: Pick<HookOutput, "text" | "noticeChars">): boolean {
  if (noticeChars !== undefined || text.length > SHORT_UNITS) return true;
  let lines = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines > SHORT_LINES;
}

/** No text of so many units has more bytes, nor one of so many breaks more lines, than the default limits leave whole. */
const SHORT_UNITS = 17_000;
const SHORT_LINES = 2_000;

/** The end of a session's file, at most so many bytes of it. */
export function tailOf(path: string, maxBytes: number): string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, maxBytes));
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString("utf8");
  } finally {
    closeSync(file);
  }
}

/** In bytes; a file that is not there has none. */
export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** What a hook before a summary leaves to those behind it, of which several run at once. */
export interface SummaryNote {
  /** How long the session was. */
  readonly bytes: number;
  /** The texts of the user; unset as long as it is not worked out. */
  readonly words?: readonly string[];
  /** What is put back where none of them is still sent, and where all are. */
  readonly all?: readonly string[];
  readonly others?: readonly string[];
  /** What is put back, where the first of several hooks had to work it out for all of them. */
  readonly pieces?: readonly string[];
}

/** Where the note of a session lies: one file for all, which says whose it is. */
export interface NotePlace {
  readonly folder: string;
  readonly agent: HookWords["name"];
  readonly sessionId: string;
}

export function writeNote(place: NotePlace, note: SummaryNote): void {
  const fresh = `${noteFile(place)}.${process.pid}`;
  const text = JSON.stringify({ of: ownerOf(place), atMs: Date.now(), ...note });
  try {
    mkdirSync(place.folder, { recursive: true, mode: 0o700 });
    writeFileSync(fresh, text, { mode: 0o600 });
    renameSync(fresh, noteFile(place));
  } catch {
    // Without it each of them works by itself.
  }
}

/** The note of this session; undefined where there is none, or one of long ago. */
function readNote(place: NotePlace): SummaryNote | undefined {
  try {
    const note = asObject(jsonOrText(readFileSync(noteFile(place), "utf8")));
    const isFresh = Date.now() - (asNumber(note.atMs) ?? 0) <= MAX_AGE_MS;
    return note.of === ownerOf(place) && isFresh ? (note as unknown as SummaryNote) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The note of this session once it says what is put back, and that, if nothing has to be loaded to know it. The first of
 * several hooks waits for what is being prepared, and gets a note that has to be looked into; the others wait for the first.
 */
export async function waitForNote(place: NotePlace, { part, file }: NoteReader): Promise<ReadNote> {
  for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += PAUSE_MS) {
    const note = readNote(place);
    const pieces = note && notedPieces(note, file);
    if (pieces !== undefined) return { note, pieces };
    if (part === 1 && (note === undefined || (note.words ?? note.pieces) !== undefined)) return { note };
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return {};
}

interface NoteReader {
  readonly part: number;
  /** The file of the session. */
  readonly file: string;
}

/** What a note said; nothing where there was none in time. */
export interface ReadNote {
  readonly note?: SummaryNote | undefined;
  readonly pieces?: readonly string[] | undefined;
}

/** Where none of the user's words stands in the file behind what was noted, none of them is still sent. */
function notedPieces({ bytes, words, all, pieces }: SummaryNote, file: string): ReadNote["pieces"] {
  const behindBytes = sizeOf(file) - bytes;
  if (pieces !== undefined) return behindBytes === 0 ? pieces : undefined;
  if (words === undefined || behindBytes < 0) return undefined;
  const behind = tailOf(file, behindBytes);
  return words.some((text) => behind.includes(JSON.stringify(text).slice(1, -1))) ? undefined : all;
}

const MAX_AGE_MS = 3_600_000;
const MAX_WAIT_MS = 3_000;
const PAUSE_MS = 10;

function noteFile({ folder }: NotePlace): string {
  return join(folder, PUT_BACK_FILE);
}

function ownerOf({ agent, sessionId }: NotePlace): string {
  return `${agent} ${sessionId}`;
}

/** Says that a session may have a result to get, so that a hook need not load anything to know that it has none. */
export function markWaiting(env: AgentPlace["env"], sessionId: string, forkId: string): void {
  const folder = waitingFolder(env, sessionId);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, forkId), "", { mode: 0o600 });
}

/** What a person types for a report of ours. */
export const REPORT_COMMAND: RegExp = /^\/carryover:(context|cost)\b/;

/** The forks of a session that may have a result for it. */
export function waitingForks(env: AgentPlace["env"], sessionId: string): readonly string[] {
  try {
    return readdirSync(waitingFolder(env, sessionId));
  } catch {
    return [];
  }
}

export function unmarkWaiting(env: AgentPlace["env"], sessionId: string, forkId: string): void {
  rmSync(join(waitingFolder(env, sessionId), forkId), { force: true });
}

/** Notes the permission mode of a call, which the server of the call is not told. */
export function noteMode(env: AgentPlace["env"], callId: string, mode: string): void {
  const folder = modesFolder(env);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, fileName(callId)), mode, { mode: 0o600 });
}

/** The mode that was noted for a call; it is asked for once. */
export function takeMode(env: AgentPlace["env"], callId: string): string | undefined {
  const file = join(modesFolder(env), fileName(callId));
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  } finally {
    rmSync(file, { force: true });
  }
}

function modesFolder(env: AgentPlace["env"]): string {
  return join(pluginFolders({ store: undefined, env }).root, WAITING_FOLDER, "modes");
}

function fileName(id: string): string {
  return id.replaceAll(/[^\w-]/g, "_").slice(0, 120) || "unknown";
}

function waitingFolder(env: AgentPlace["env"], sessionId: string): string {
  const { root } = pluginFolders({ store: undefined, env });
  return join(root, WAITING_FOLDER, fileName(sessionId));
}
