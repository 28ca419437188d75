import { listOf, numberFrom, readOptions, type Shape, text, withDefault } from "../text/check.ts";
import { hashText } from "../text/hash-text.ts";
import { tryJson } from "../text/json.ts";
import { mapStrings } from "../text/map-strings.ts";
import { tailCut } from "../text/truncate.ts";
import {
  createToolMatcher,
  handleOf,
  hasOnlyStub,
  type ToolResult,
  toolResults,
} from "../transcript/content.ts";
import { type Edit, type Handle, replaceCall, type Stage } from "../transcript/edit.ts";
import { type Transcript, withText } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";
import { filterCompacted, startOfNewestTurns } from "./boundary.ts";
import { type FileAccess, type FileRead, fileAccess } from "./file-access.ts";
import { PRUNE_PROTECT_TURNS, PRUNE_PROTECTED_TOOLS } from "./prune.ts";

/**
 * Replaces results that newer ones make obsolete by a line that names the newer one: reads of lines that were read
 * again or of a file that was rewritten, outputs that are repeated later, long inputs of edits that failed.
 */
export function supersede(options: SupersedeOptions = {}): Stage {
  const { protectTurns, protectedTools } = readOptions(SHAPE, options);
  const isProtected = createToolMatcher(protectedTools);
  return (transcript) => {
    const window = filterCompacted(transcript);
    const results = sentResults(window);
    const guarded = new Set(window.slice(startOfNewestTurns(window, protectTurns)));
    const newer = createNewerIndex(results);
    const edits: Edit[] = [];
    for (const result of results.toReversed()) {
      const { message, part } = result;
      const access = fileAccess(part);
      const mayChange = !guarded.has(message) && !isProtected(part.tool);
      const changed = mayChange ? replacement(result, access, newer) : undefined;
      newer.addChange(result, access);
      if (changed === undefined) newer.addOutput(result, access);
      else edits.push(replaceCall(result, changed, { stage: "supersede", reason: "superseded" }));
    }
    return edits.reverse();
  };
}

/** Options of `supersede`. */
export interface SupersedeOptions {
  /** How many of the newest turns stay whole. @default 2 */
  readonly protectTurns?: number;
  /** Tools whose calls are never touched; upper and lower case are the same. @default skill */
  readonly protectedTools?: readonly string[];
}

const SHAPE: Shape<SupersedeOptions, keyof SupersedeOptions> = {
  protectTurns: withDefault(numberFrom(0), PRUNE_PROTECT_TURNS),
  protectedTools: withDefault(listOf(text), PRUNE_PROTECTED_TOOLS),
};

/** Strings of a failed edit up to this length stay, to show what was tried. */
const SUPERSEDE_KEEP_INPUT_CHARS = 200;

/** Results that are sent: those without a call are dropped before sending. */
function sentResults(window: Transcript): readonly ToolResult[] {
  return toolResults(window).filter(({ part }) => !part.callMissing);
}

function replacement(
  result: ToolResult,
  access: FileAccess | undefined,
  newer: NewerIndex,
): ToolPart | undefined {
  if (result.status === "failed") {
    return access === undefined || access.type === "read" ? undefined : withoutInput(result, access, newer);
  }
  if (result.cleared || hasAttachments(result) || hasOnlyStub(result.part)) return undefined;
  const covering = access?.type === "read" ? newer.replacingRead(access, result) : undefined;
  if (access?.type === "read" && covering !== undefined) {
    return withStub(result, stub(covering, `read of ${shortPath(access.path)}`));
  }
  const same = newer.sameOutput(result);
  return same === undefined ? undefined : withStub(result, stub(same, `same output of ${result.part.tool}`));
}

function withStub({ part, text }: ToolResult, line: string): ToolPart | undefined {
  if (line.length >= text.length) return undefined;
  const originalChars = part.cut?.originalChars ?? text.length;
  return {
    ...part,
    outcome: withText(part.outcome, line),
    cut: { method: "head", originalChars, omittedChars: originalChars, limitChars: 0 },
  };
}

function withoutInput(
  { part }: ToolResult,
  { path, type }: Exclude<FileAccess, { type: "read" }>,
  newer: NewerIndex,
): ToolPart | undefined {
  // A signature is only valid for the original input.
  if (part.inputCut !== undefined || part.signed) return undefined;
  const what = `failed ${type}${path === undefined ? "" : ` of ${shortPath(path)}`}`;
  const next = newer.nextChange(path);
  const input = mapStrings(part.input, (text) => {
    const line = next === undefined ? `[${what}: ${text.length} chars]` : stub(next, what);
    const isPath = path !== undefined && text.endsWith(path);
    return text.length > Math.max(SUPERSEDE_KEEP_INPUT_CHARS, line.length) && !isPath ? line : text;
  });
  if (input === part.input) return undefined;
  const before = tryJson(part.input);
  const preview = tryJson(input);
  if (before === undefined || preview === undefined || preview.length >= before.length) return undefined;
  return {
    ...part,
    input,
    inputCut: {
      method: "head",
      originalChars: before.length,
      omittedChars: before.length - preview.length,
      limitChars: preview.length,
      preview,
    },
  };
}

function stub(newer: Handle, what: string): string {
  return `[superseded by ${newer}: ${what}]`.replace(/\s+/g, " ");
}

/** The end of a path, with limited length. */
function shortPath(path: string): string {
  if (path.length <= MAX_PATH_CHARS) return path;
  return `...${path.slice(tailCut(path, path.length - MAX_PATH_CHARS))}`;
}

const MAX_PATH_CHARS = 120;

/** An index of the results that are newer than the one being examined and that the model sees whole. */
interface NewerIndex {
  /** Adds what a call did to a file; results are added newest first. */
  addChange(result: ToolResult, access: FileAccess | undefined): void;
  /** Adds an output that stays. */
  addOutput(result: ToolResult, access: FileAccess | undefined): void;
  /** The result that shows the lines of a read again, or the one that rewrote its file. */
  replacingRead(read: FileRead, result: ToolResult): Handle | undefined;
  /** A result of the same tool with the same text. */
  sameOutput(result: ToolResult): Handle | undefined;
  /** The next change of a file that succeeded. */
  nextChange(path: string | undefined): Handle | undefined;
}

/** An empty index; `results` are all that will be added or looked up. */
function createNewerIndex(results: readonly ToolResult[]): NewerIndex {
  const reads = new Map<string, ShownRead[]>();
  const writes = new Map<string, Handle>();
  const changes = new Map<string, Handle>();
  const outputs = new Map<string, { readonly text: string; readonly handle: Handle }>();
  const keys = outputKeys(results);

  return {
    addChange({ message, partIndex, part, status }, access) {
      if (status !== "done" || access?.path === undefined || access.type === "read") return;
      const handle = handleOf(message, partIndex);
      changes.set(access.path, handle);
      if (access.type === "write" && part.inputCut === undefined) writes.set(access.path, handle);
    },

    addOutput(result, access) {
      const { message, partIndex, part, status } = result;
      if (status !== "done" || result.cleared || part.cut !== undefined || hasAttachments(result)) return;
      const handle = handleOf(message, partIndex);
      if (access?.type === "read") addRead(reads, { result, access, handle });
      const key = keys.get(result);
      if (key !== undefined && !outputs.has(key)) outputs.set(key, { text: result.text, handle });
    },

    replacingRead(read, result) {
      const known = reads.get(read.question);
      const older = known && linesOf(read, result);
      const covering = older && known.find((newer) => covers(shownLines(newer), older));
      return covering?.handle ?? writes.get(read.path);
    },

    sameOutput(result) {
      const key = keys.get(result);
      const newer = key === undefined ? undefined : outputs.get(key);
      return newer?.text === result.text ? newer.handle : undefined;
    },

    nextChange: (path) => (path === undefined ? undefined : changes.get(path)),
  };
}

/** True when a result is more than text, so that a line cannot replace it. */
function hasAttachments({ part }: ToolResult): boolean {
  return part.outcome.status === "done" && part.outcome.attachments.length > 0;
}

/** The lines that a read asked for, and those it returned. */
interface ReadLines {
  readonly startLine: number;
  readonly askedEnd: number;
  readonly shownEnd: number;
}

interface ShownRead {
  readonly access: FileRead;
  readonly result: ToolResult;
  readonly handle: Handle;
  /** Computed when an older read of the same file asks. */
  lines?: ReadLines;
}

function shownLines(read: ShownRead): ReadLines {
  read.lines ??= linesOf(read.access, read.result);
  return read.lines;
}

function covers(newer: ReadLines, older: ReadLines): boolean {
  // For an identical read the newer result replaces it, even if the file became shorter.
  if (newer.startLine === older.startLine && older.askedEnd <= newer.askedEnd) return true;
  return newer.startLine <= older.startLine && older.shownEnd <= newer.shownEnd;
}

/** Tools may return fewer lines than were asked for, so the returned lines are counted. */
function linesOf({ startLine, maxLines }: FileRead, { text, part }: ToolResult): ReadLines {
  const askedEnd = startLine + maxLines;
  const shownEnd = part.cut === undefined ? startLine + Math.min(maxLines, countLines(text)) : askedEnd;
  return { startLine, askedEnd, shownEnd };
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}

/** Only this many newest reads of a file are compared, which bounds the cost of a lookup. */
const MAX_READS_OF_FILE = 32;

function addRead(reads: Map<string, ShownRead[]>, read: ShownRead): void {
  const known = reads.get(read.access.question);
  if (known === undefined) reads.set(read.access.question, [read]);
  else if (known.length < MAX_READS_OF_FILE) known.push(read);
}

/** Keys of outputs that may be equal to another; texts of a length that occurs once are not hashed. */
function outputKeys(results: readonly ToolResult[]): ReadonlyMap<ToolResult, string> {
  const seen = new Set<number>();
  const repeated = new Set<number>();
  for (const { text } of results) (seen.has(text.length) ? repeated : seen).add(text.length);
  const mayHaveEqual = results.filter(({ text }) => repeated.has(text.length));
  return new Map(mayHaveEqual.map((result) => [result, `${result.part.tool}\n${textKey(result.text)}`]));
}

/** A short key that equal texts share. Different texts may share one too, so a match must still be compared. */
function textKey(text: string): string {
  return `${text.length}:${hashText(text)}`;
}
