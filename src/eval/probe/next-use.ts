import { asObject } from "../../text/unknown-value.ts";
import { isSummary, type Message, type Transcript } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import { editLines } from "./edit-lines.ts";
import {
  blockAt,
  callsOf,
  type HistoryBlock,
  type HistoryText,
  historyText,
  outputOf,
  unescapeText,
} from "./history-text.ts";
import { findIdentifiers, hasIdentifier, type Mentioned, type TargetClass } from "./identifiers.ts";

/** A place in a recorded session, and what the agent used after it that it could only know from before. */
export interface Probe {
  readonly history: Transcript;
  /** The first message after the history. */
  readonly next: Message | undefined;
  /** The length of the whole history as plain text. */
  readonly historyChars: number;
  readonly targets: readonly LocatedTarget[];
  /** For each following edit, the lines that it had to repeat; only edits whose lines are in the history. */
  readonly edits: readonly (readonly string[])[];
}

export interface NextUseOptions {
  /** Where in the stretch the probe is: the index of a step of the agent. */
  readonly atIndex: number;
  /** How many steps to look ahead. */
  readonly steps: number;
  readonly workingDirectory?: string;
}

/** Finds what the agent used in its next steps and had seen before, unless it was shown again in between. */
export function createProbe(stretch: Transcript, options: NextUseOptions): Probe {
  const history = stretch.slice(0, options.atIndex);
  const whole = historyText(history);
  const known = new Set<string>();
  const used: Mentioned[] = [];
  const edits: (readonly string[])[] = [];
  let revealed = "";
  for (const message of nextMessages(stretch, options)) {
    for (const part of callsThatAct(message)) {
      const needed = [...editLines(part.input)].filter((line) => !revealed.includes(line));
      if (needed.length > 0 && needed.every((line) => whole.text.includes(line))) edits.push(needed);
      for (const mentioned of mentionedBy(part, options)) {
        if (known.has(mentioned.identifier)) continue;
        known.add(mentioned.identifier);
        if (!hasIdentifier(revealed, mentioned) && hasIdentifier(whole.text, mentioned)) used.push(mentioned);
      }
    }
    revealed += revealedBy(message);
  }
  return {
    history,
    next: stretch[options.atIndex],
    historyChars: whole.sentChars,
    edits,
    targets: locateTargets(used, whole),
  };
}

/** The messages from the probe to the end of the look-ahead, or to the next summary. */
function* nextMessages(stretch: Transcript, { atIndex, steps }: NextUseOptions): Generator<Message> {
  let taken = 0;
  for (const message of stretch.slice(atIndex)) {
    if (isSummary(message)) return;
    if (isStep(message) && ++taken > steps) return;
    yield message;
  }
}

/** To-do lists are status, not action. */
function callsThatAct(message: Message): readonly ToolPart[] {
  return callsOf([message]).filter(({ tool }) => !/^todo/i.test(tool));
}

function mentionedBy(part: ToolPart, { workingDirectory }: NextUseOptions): readonly Mentioned[] {
  const classes = new Map<string, TargetClass>(findIdentifiers(stringsOf(part.input), workingDirectory));
  for (const line of editLines(part.input)) classes.set(line, "edit-line");
  return [...classes].map(([identifier, kind]) => ({ identifier, class: kind }));
}

/** All strings of a value, one a line. */
function stringsOf(value: unknown): string {
  // Iterating a set includes values added meanwhile, and a cyclic value is visited once.
  const values = new Set<unknown>([value]);
  for (const inner of values) for (const next of Object.values(asObject(inner))) values.add(next);
  return [...values].filter((inner) => typeof inner === "string").join("\n");
}

function revealedBy(message: Message): string {
  let text = "";
  for (const part of message.parts) {
    if (part.type === "text" && message.role === "user") text += `\n${unescapeText(part.text)}`;
    if (part.type === "tool") text += `\n${unescapeText(outputOf(part) ?? "")}`;
  }
  return text;
}

/** A target with the places where it stood, and what fetching it again would take. */
export interface LocatedTarget extends Mentioned {
  /** Calls since it was last seen. */
  readonly callsSince: number;
  /** True when it is only in tool outputs, in no message and no input. */
  readonly resultOnly: boolean;
  /** The places where it stood, newest first. */
  readonly places: readonly TargetPlace[];
  /** The newest result that contains it. */
  readonly newestResult: { readonly startChar: number; readonly chars: number } | undefined;
}

/** One line in which a target stood. */
interface TargetPlace {
  /** What must be kept unchanged to use the target: the line, or the part of a very long line around the target. */
  readonly snippet: string;
  /** The line with its neighbours in the same block; undefined at the block's edge. Blank lines do not count. */
  readonly line: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Finds where targets stood in the history. */
function locateTargets(targets: readonly Mentioned[], history: HistoryText): readonly LocatedTarget[] {
  const written = writtenText(history);
  return targets.map((target) => ({
    ...target,
    ...lastSeen(target, history),
    resultOnly: !hasIdentifier(written, target),
    places: placesOf(target, history),
  }));
}

/** At most this many places per target. */
const MAX_PLACES = 24;

/** In longer lines only the text around the target must be kept. */
const MAX_LINE_CHARS = 240;
const WINDOW_CHARS = 60;

function writtenText({ text, blocks }: HistoryText): string {
  let written = "";
  for (const block of blocks)
    if (block.type !== "result") written += `\n${text.slice(block.startChar, block.endChar)}`;
  return written;
}

function lastSeen(
  { identifier }: Mentioned,
  history: HistoryText,
): Pick<LocatedTarget, "callsSince" | "newestResult"> {
  let newest: HistoryBlock | undefined;
  for (let at = history.text.lastIndexOf(identifier); at !== -1; ) {
    const block = blockAt(history, at);
    newest ??= block;
    if (block?.type === "result") {
      const newestResult = { startChar: block.startChar, chars: block.sentChars };
      return { callsSince: newest?.callsSince ?? 0, newestResult };
    }
    if (block === undefined || block.startChar === 0) break;
    at = history.text.lastIndexOf(identifier, block.startChar - 1);
  }
  return { callsSince: newest?.callsSince ?? 0, newestResult: undefined };
}

function placesOf({ identifier, class: kind }: Mentioned, history: HistoryText): readonly TargetPlace[] {
  const { text } = history;
  const places = new Map<string, TargetPlace>();
  let at = text.lastIndexOf(identifier);
  for (let left = MAX_PLACES; left > 0 && at !== -1; left--) {
    const lineStart = text.lastIndexOf("\n", at) + 1;
    const nextBreak = text.indexOf("\n", at);
    const lineEnd = nextBreak === -1 ? text.length : nextBreak;
    const line = text.slice(lineStart, lineEnd).trim();
    const isLong = lineEnd - lineStart > MAX_LINE_CHARS;
    const from = isLong ? Math.max(lineStart, at - WINDOW_CHARS) : lineStart;
    const to = isLong ? Math.min(lineEnd, at + identifier.length + WINDOW_CHARS) : lineEnd;
    const snippet = kind === "edit-line" ? identifier : text.slice(from, to).trim();
    const block = blockAt(history, at);
    const before = block && neighbour(text, { from: lineStart - 1, to: block.startChar, step: -1 });
    const after = block && neighbour(text, { from: lineEnd, to: block.endChar, step: 1 });
    const key = `${before}\n${isLong ? snippet : line}\n${after}`;
    if (!places.has(key)) places.set(key, { snippet, line, before, after });
    at = at === 0 ? -1 : text.lastIndexOf(identifier, at - 1);
  }
  return [...places.values()];
}

interface NeighbourSearch {
  /** The line break next to the line. */
  readonly from: number;
  /** The border of the block. */
  readonly to: number;
  readonly step: 1 | -1;
}

/** The nearest line that is not blank, on one side, within the block. */
function neighbour(text: string, { from, to, step }: NeighbourSearch): string | undefined {
  let edge = from;
  while (step === 1 ? edge < to : edge > to) {
    const next = step === 1 ? text.indexOf("\n", edge + 1) : text.lastIndexOf("\n", edge - 1);
    const line =
      step === 1
        ? text.slice(edge + 1, next === -1 || next > to ? to : next)
        : text.slice(Math.max(next + 1, to), edge);
    if (line.trim() !== "") return line.trim();
    if (next === -1) return undefined;
    edge = next;
  }
  return undefined;
}

/** True for a step of the agent: an answer of the model that is no summary. */
export function isStep(message: Message): boolean {
  return message.role === "assistant" && !isSummary(message);
}
