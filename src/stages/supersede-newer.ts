import type { Handle } from "../transcript/edit.ts";
import { handleOf, type ToolResult } from "../transcript/tool-results.ts";
import type { FileAccess, FileRead } from "./supersede-file-access.ts";
import { textKey } from "./supersede-text-key.ts";

/** What stands behind the result being looked at, as far as the model sees it whole. */
export interface NewerResults {
  /** Adds what a call did to a file; results come newest first. */
  rememberChange(result: ToolResult, access: FileAccess | undefined): void;
  /** Adds an output that stays. */
  rememberOutput(result: ToolResult, access: FileAccess | undefined): void;
  /** The result that shows the lines of a read again, or the one that wrote its file anew. */
  replacingRead(read: FileRead, result: ToolResult): Handle | undefined;
  /** A result of the same tool with the same text. */
  sameOutput(result: ToolResult): Handle | undefined;
  /** The next change of a file that succeeded. */
  nextChange(path: string | undefined): Handle | undefined;
}

/** Knows nothing at first; `results` are all that will be remembered or asked about. */
export function createNewerResults(results: readonly ToolResult[]): NewerResults {
  const reads = new Map<string, ShownRead[]>();
  const writes = new Map<string, Handle>();
  const changes = new Map<string, Handle>();
  const outputs = new Map<string, { readonly text: string; readonly handle: Handle }>();
  const keys = outputKeys(results);

  return {
    rememberChange({ message, partIndex, part, status }, access) {
      if (status !== "done" || access?.path === undefined || access.type === "read") return;
      const handle = handleOf(message, partIndex);
      changes.set(access.path, handle);
      if (access.type === "write" && part.inputCut === undefined) writes.set(access.path, handle);
    },

    rememberOutput(result, access) {
      const { message, partIndex, part, status } = result;
      if (status !== "done" || result.cleared || part.cut !== undefined || hasAttachments(result)) return;
      const handle = handleOf(message, partIndex);
      if (access?.type === "read") rememberRead(reads, access, { ...linesOf(access, result), handle });
      const key = keys.get(result);
      if (key !== undefined && !outputs.has(key)) outputs.set(key, { text: result.text, handle });
    },

    replacingRead(read, result) {
      const older = linesOf(read, result);
      const covering = reads.get(read.question)?.find((newer) => covers(newer, older));
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

/** True when a result is more than text, so that no text can stand in for it. */
export function hasAttachments({ part }: ToolResult): boolean {
  return part.outcome.status === "done" && part.outcome.attachments.length > 0;
}

/** The lines that a read asked for, and how far it got. */
interface ReadLines {
  readonly startLine: number;
  readonly askedEnd: number;
  readonly shownEnd: number;
}

interface ShownRead extends ReadLines {
  readonly handle: Handle;
}

function covers(newer: ReadLines, older: ReadLines): boolean {
  // The same question asked again: the newer answer counts even where the file became shorter.
  if (newer.startLine === older.startLine && older.askedEnd <= newer.askedEnd) return true;
  return newer.startLine <= older.startLine && older.shownEnd <= newer.shownEnd;
}

/** Tools stop before the end that was asked for, so what a read shows is told by counting the lines it gave. */
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

/** Of a file read in more pieces than this only the newest count, so that a look-up costs the same in any session. */
const MAX_REMEMBERED_READS = 32;

function rememberRead(reads: Map<string, ShownRead[]>, { question }: FileRead, lines: ShownRead): void {
  const known = reads.get(question);
  if (known === undefined) reads.set(question, [lines]);
  else if (known.length < MAX_REMEMBERED_READS) known.push(lines);
}

/** Keys for outputs that may have an equal; a length that occurs once needs no look at the text. */
function outputKeys(results: readonly ToolResult[]): ReadonlyMap<ToolResult, string> {
  const seen = new Set<number>();
  const repeated = new Set<number>();
  for (const { text } of results) (seen.has(text.length) ? repeated : seen).add(text.length);
  const mayHaveEqual = results.filter(({ text }) => repeated.has(text.length));
  return new Map(mayHaveEqual.map((result) => [result, `${result.part.tool}\n${textKey(result.text)}`]));
}
