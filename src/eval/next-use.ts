import type { Message, Transcript } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";
import { editLines } from "./edit-lines.ts";
import { isStep, isSummary } from "./eval-session.ts";
import { findIdentifiers } from "./find-identifiers.ts";
import { hasIdentifier, type Mentioned, type TargetClass } from "./has-identifier.ts";
import { historyText } from "./history-text.ts";
import { type LocatedTarget, locateTargets } from "./locate-targets.ts";
import { outputOf } from "./plain-text.ts";
import { unescapeText } from "./unescape-text.ts";

/** A place in a recorded session, and what the agent used behind it that it could only know from before. */
export interface Probe {
  readonly history: Transcript;
  /** The first message behind the history. */
  readonly next: Message | undefined;
  /** The length of the whole history as plain text. */
  readonly historyChars: number;
  readonly targets: readonly LocatedTarget[];
  /** For each next edit, the lines it had to repeat; only edits whose lines the history holds. */
  readonly edits: readonly (readonly string[])[];
}

export interface NextUseOptions {
  /** Where in the stretch the probe is: the index of a step of the agent. */
  readonly atIndex: number;
  /** How many steps to look ahead. */
  readonly steps: number;
  readonly workingDirectory?: string;
}

/** What the agent used in its next steps and had seen before, unless it was shown again in between. */
export function nextUse(stretch: Transcript, options: NextUseOptions): Probe {
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

/** Lists of things to do are status text, not action. */
function callsThatAct({ parts }: Message): readonly ToolPart[] {
  return parts.filter((part) => part.type === "tool").filter(({ tool }) => !/^todo/i.test(tool));
}

function mentionedBy(part: ToolPart, { workingDirectory }: NextUseOptions): readonly Mentioned[] {
  const classes = new Map<string, TargetClass>(findIdentifiers(stringsOf(part.input), workingDirectory));
  for (const line of editLines(part.input)) classes.set(line, "edit-line");
  return [...classes].map(([identifier, kind]) => ({ identifier, class: kind }));
}

/** All strings of a value, one a line. */
function stringsOf(value: unknown): string {
  // A set grows while it is walked, and a value that holds itself is met once.
  const values = new Set<unknown>([value]);
  for (const inner of values) {
    if (typeof inner !== "object" || inner === null) continue;
    for (const next of Object.values(inner)) values.add(next);
  }
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
