import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RESTORE_FILE } from "../../plugin/stores/folders.ts";
import { jsonOrText } from "../../text/json.ts";
import { asNumber, asObject } from "../../text/unknown-value.ts";
import { sizeOf, tailOf } from "../files/file-end.ts";
import type { HookWords } from "./hook-agent.ts";

/** What a hook before a summary leaves to those behind it, of which several run at once. */
export interface SummaryNote {
  /** How long the session was. */
  readonly bytes: number;
  /** The texts of the user; unset as long as it is not worked out. */
  readonly words?: readonly string[];
  /** What is restored where none of them is still sent, and where all are. */
  readonly all?: readonly string[];
  readonly others?: readonly string[];
  /** What is restored, where the first of several hooks had to work it out for all of them. */
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
 * The note of this session once it says what is restored, and that, if nothing has to be loaded to know it. The first of
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
  return join(folder, RESTORE_FILE);
}

function ownerOf({ agent, sessionId }: NotePlace): string {
  return `${agent} ${sessionId}`;
}
