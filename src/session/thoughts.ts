import type { AfterEdit } from "../models/model-row.ts";
import { hashText } from "../text/hash-text.ts";
import { safeJson } from "../text/json.ts";
import { isObject } from "../text/unknown-value.ts";
import { applyEdits, type Edit, hidePart } from "../transcript/edit.ts";
import {
  type Message,
  type MessageId,
  project,
  reachesModel,
  shownOutcome,
  type Transcript,
} from "../transcript/message.ts";
import type { Part, ReasoningPart, StandsFor } from "../transcript/part.ts";
import type { ContextWindow } from "./window.ts";

/**
 * Some providers bind a thought to everything before it: where that has changed since, they refuse the request or drop the
 * thought. So for each message with thoughts a hash is remembered of what stood before it when it was made. A thought holds
 * as long as the same stands before it now, whatever was edited, taken back or restored in between.
 */
export interface ThoughtBindings {
  /** What stood before the thoughts of a message; 0 for those that are never sent again. */
  readonly lines: ReadonlyMap<MessageId, Line>;
  /** What was sent last, where the answer to it comes with a later list. */
  readonly sent?: SentLine;
  /** The provider has refused a thought of this conversation: from then on its rule holds, whatever is known of the model. */
  readonly refused?: true;
}

/** A hash of some messages without their thoughts. */
type Line = number;

/** A request: the source message that it ended with, and what an answer to it is bound to. */
interface SentLine {
  readonly afterId: MessageId | undefined;
  readonly line: Line;
}

/** Nothing was bound yet. */
export const NO_BINDINGS: ThoughtBindings = { lines: new Map() };

const NEVER: Line = 0;

/** How the thoughts in a window stand to what is before them. */
export interface ThoughtReading {
  /** Messages whose thoughts were made behind something else. */
  readonly stale: ReadonlySet<MessageId>;
  /** What stands before the thoughts of each message now. */
  readonly before: ReadonlyMap<MessageId, Line>;
  /** What an answer to this window would be bound to. */
  readonly end: Line;
  /** By message: the answer that it follows with neither a result nor a word of the user between them. */
  readonly behindAnswer: ReadonlyMap<MessageId, MessageId>;
  /** The answer that the window ends with. */
  readonly lastAnswer: MessageId | undefined;
  /** All that thoughts behind this window may be bound to, `end` first. */
  readonly lines: readonly Line[];
  /** Of the system messages that the window begins with. */
  readonly head: Line;
}

/**
 * Compares what stands before each thought of a window with what stood there when it was made; `marked` are its messages with
 * their hidden parts, and `from` says what stands before the first. A thought that is not known yet holds. Behind a compaction
 * that the provider made when asked there is more than one way to read what stands before: the block itself, for thoughts that
 * were made behind it, and what it stands for, for those of the kept messages.
 */
export function readThoughts(
  marked: Transcript,
  { lines }: ThoughtBindings,
  from: Line = START,
): ThoughtReading {
  const stale = new Set<MessageId>();
  const before = new Map<MessageId, Line>();
  const behindAnswer = new Map<MessageId, MessageId>();
  let end: Line = from;
  let others: readonly Line[] = [];
  let head: Line = from;
  let isBeginning = true;
  let isAnyKept = false;
  let lastAnswer: MessageId | undefined;
  const goOn = (next: number): void => {
    end = mix(end, next);
    others = others.map((line) => mix(line, next));
  };
  for (const message of marked) {
    const { hash, thoughts, hidden, standsFor, isAnswer, isProviderBlock } = traitsOf(message);
    // A provider that compacts by itself reads nothing before its block.
    if (isProviderBlock) {
      end = BLOCK;
      others = [];
      isAnyKept = false;
      lastAnswer = undefined;
    }
    if (message.role !== "system") isBeginning = false;
    if (standsFor !== undefined && hash !== undefined) {
      end = mix(head, hash);
      others = standsFor.head === head ? standsFor.lines : [];
      // Of the thoughts before it none is read any more.
      isAnyKept = false;
      lastAnswer = undefined;
      continue;
    }
    if (thoughts > 0) {
      if (lastAnswer !== undefined) behindAnswer.set(message.id, lastAnswer);
      const bound = lines.get(message.id);
      before.set(message.id, end);
      const isBound = bound === undefined || bound === end || others.includes(bound);
      if (isBound && hidden === 0) isAnyKept = true;
      else {
        // Of several thoughts in one answer none stays without the others.
        stale.add(message.id);
        if (isBound && isAnyKept) goOn(GAP);
      }
    } else if (hidden > 0 && isAnyKept) goOn(GAP);
    // A message of nothing but stale thoughts is not sent.
    const isSent = hash !== undefined || (thoughts > 0 && !stale.has(message.id));
    if (!isSent) continue;
    goOn(hash ?? START);
    if (isBeginning) head = end;
    lastAnswer = isAnswer ? message.id : undefined;
  }
  return { stale, before, end, lines: [end, ...others], head, behindAnswer, lastAnswer };
}

/**
 * Binds the thoughts that are not known yet: those that came since the last request to what was sent then and to what came
 * since, whatever is edited now; any other to what stands before it.
 */
export function bindThoughts(bindings: ThoughtBindings, { reading, source }: BoundWindow): ThoughtBindings {
  const unknown = [...reading.before].filter(([id]) => !bindings.lines.has(id));
  if (unknown.length === 0) return bindings;
  const { sent } = bindings;
  const index = source.findLastIndex(({ id }) => id === sent?.afterId);
  const since =
    sent === undefined || index === -1
      ? undefined
      : readThoughts(source.slice(index + 1), NO_BINDINGS, sent.line).before;
  const lines = new Map(bindings.lines);
  for (const [id, line] of unknown) {
    const isClosed = isClosedBySender(reading.behindAnswer.get(id), source, id);
    lines.set(id, since?.get(id) ?? (isClosed ? NEVER : line));
  }
  return { ...bindings, lines };
}

/**
 * A window that edits leave with an answer at its end is sent with a message behind it that asks to go on, and that is in no
 * later request. True for an answer to such a window.
 */
function isClosedBySender(answerId: MessageId | undefined, source: Transcript, id?: MessageId): boolean {
  if (answerId === undefined) return false;
  const index = id === undefined ? source.length : source.findLastIndex((message) => message.id === id);
  return source[index - 1]?.id !== answerId;
}

interface BoundWindow {
  readonly reading: ThoughtReading;
  /** The owner's messages, before any edit. */
  readonly source: Transcript;
}

/** Remembers that a window is being sent now. */
export function sendThoughts(bindings: ThoughtBindings, { reading, source }: BoundWindow): ThoughtBindings {
  const line = isClosedBySender(reading.lastAnswer, source) ? NEVER : reading.end;
  return { ...bindings, sent: { afterId: source.at(-1)?.id, line } };
}

/** After the provider has refused a thought: none that was sent is sent again, and from now on its rule holds. */
export function refuseThoughts(bindings: ThoughtBindings, { before }: ThoughtReading): ThoughtBindings {
  const lines = new Map(bindings.lines);
  for (const id of before.keys()) lines.set(id, NEVER);
  return { ...bindings, lines, refused: true };
}

/** The edits that leave stale thoughts out of what is sent; `marked` are the messages with their hidden parts. */
export function hideStaleThoughts(marked: Transcript, stale: ReadonlySet<MessageId>): readonly Edit[] {
  if (stale.size === 0) return [];
  return marked.flatMap((message) =>
    !stale.has(message.id)
      ? []
      : message.parts.flatMap((part, partIndex): readonly Edit[] =>
          isThought(part) && part.agentVisible !== false
            ? [hidePart({ message, partIndex, part }, STALE_THOUGHT)]
            : [],
        ),
  );
}

const STALE_THOUGHT = { what: "thought", stage: "thoughts", reason: "stale-thought" } as const;

/** A window as it is sent, and how the thoughts in it stand. */
export interface ThoughtWindow extends ContextWindow {
  /** `marked` with the thoughts that are left out. */
  readonly unfiltered: Transcript;
  readonly thoughts: ThoughtReading;
  /** How many thoughts the provider takes as they are. */
  readonly thoughtCount: number;
}

/** The newest reading of each window. */
const readings = new WeakMap<ContextWindow, ThoughtOptions & { readonly result: ThoughtWindow }>();

/** The window without stale thoughts, where they would be refused. */
export function thoughtWindowOf(window: ContextWindow, options: ThoughtOptions): ThoughtWindow {
  const { bindings, afterEdit } = options;
  const known = readings.get(window);
  if (known?.bindings === bindings && known.afterEdit === afterEdit) return known.result;
  const thoughts = readThoughts(window.marked, bindings);
  const leftOut = afterEdit === "refused" ? thoughts.stale : NONE;
  const result: ThoughtWindow = {
    ...window,
    ...(leftOut.size > 0 && leaveOut(window, leftOut)),
    unfiltered: window.marked,
    thoughts,
    thoughtCount: countThoughts(window.marked, afterEdit === "kept" ? NONE : thoughts.stale),
  };
  readings.set(window, { bindings, afterEdit, result });
  return result;
}

interface ThoughtOptions {
  readonly bindings: ThoughtBindings;
  /** What the model that is asked next does about a thought that no longer holds. */
  readonly afterEdit: AfterEdit;
}

const NONE: ReadonlySet<MessageId> = new Set();

function leaveOut(
  { shown, marked, edits }: ContextWindow,
  stale: ReadonlySet<MessageId>,
): Pick<ContextWindow, "shown" | "marked" | "edits"> {
  return {
    shown: shown.flatMap((message) => (stale.has(message.id) ? withoutThoughts(message).shown : [message])),
    marked: marked.map((message) => (stale.has(message.id) ? withoutThoughts(message).marked : message)),
    edits: edits.concat(hideStaleThoughts(marked, stale)),
  };
}

/** Messages never change, so each is written once. */
const bare = new WeakMap<Message, Bare>();

interface Bare {
  readonly marked: Message;
  /** Nothing where the message was nothing but thoughts. */
  readonly shown: Transcript;
}

/** The message with its thoughts hidden, and what is sent of it. */
function withoutThoughts(message: Message): Bare {
  const before = bare.get(message);
  if (before !== undefined) return before;
  const [marked = message] = applyEdits([message], hideStaleThoughts([message], new Set([message.id])), {
    at: 0,
  });
  const written = { marked, shown: project([marked]) };
  bare.set(message, written);
  return written;
}

/** How many thoughts of a window are sent and hold. */
export function countThoughts(marked: Transcript, stale: ReadonlySet<MessageId>): number {
  let count = 0;
  for (const message of marked) if (!stale.has(message.id)) count += traitsOf(message).thoughts;
  return count;
}

/** Bindings as plain data: those of messages that are still there. */
export function storeBindings(
  { lines, sent, refused }: ThoughtBindings,
  isThere: (id: MessageId) => boolean,
): StoredBindings | undefined {
  const bound = [...lines].filter(([id]) => isThere(id));
  if (bound.length === 0 && refused === undefined) return undefined;
  // Where nothing was ever thought, an answer to what was sent is bound to nothing that matters.
  return { bound, ...(sent && bound.length > 0 && { sent }), ...(refused && { refused }) };
}

/** Bindings as they are kept. */
export interface StoredBindings {
  readonly bound: readonly (readonly [id: MessageId, line: Line])[];
  readonly sent?: SentLine;
  readonly refused?: true;
}

/** Stored bindings over those that are known; what cannot be read is left out. */
export function restoreBindings(known: ThoughtBindings, stored: unknown): ThoughtBindings {
  if (!isObject(stored)) return known;
  const { bound, sent, refused } = stored;
  const lines = new Map(known.lines);
  for (const entry of Array.isArray(bound) ? bound : []) {
    const [id, line] = Array.isArray(entry) ? entry : [];
    if (typeof id === "string" && typeof line === "number") lines.set(id, line);
  }
  const newest = isSentLine(sent) ? sent : known.sent;
  return {
    lines,
    ...(newest && { sent: newest }),
    ...((refused === true || known.refused) && { refused: true }),
  };
}

function isSentLine(value: unknown): value is SentLine {
  if (!isObject(value) || typeof value.line !== "number") return false;
  return value.afterId === undefined || typeof value.afterId === "string";
}

/** True for a thought of the model. */
function isThought(part: Part): part is ReasoningPart {
  return part.type === "reasoning";
}

/** What a message brings into what stands before later thoughts. */
interface Traits {
  /** Of everything that is sent of it but thoughts; undefined when nothing is. */
  readonly hash: number | undefined;
  /** Thoughts that are sent. */
  readonly thoughts: number;
  /** Thoughts that an edit has hidden while something of the message stays. */
  readonly hidden: number;
  /** The model has the last word in it. */
  readonly isAnswer: boolean;
  /** There is a compaction in it that the provider made by itself. */
  readonly isProviderBlock: boolean;
  /** Set on a compaction that the provider made when asked. */
  readonly standsFor: StandsFor | undefined;
}

/** Messages never change, so each is read once. */
const known = new WeakMap<Message, Traits>();

function traitsOf(message: Message): Traits {
  const before = known.get(message);
  if (before !== undefined) return before;
  const { role, parts } = message;
  const thoughts = parts.filter((part) => isThought(part) && reachesModel(part)).length;
  const hidden = parts.filter((part) => isThought(part) && !reachesModel(part)).length;
  const rest = parts.filter((part) => !isThought(part) && reachesModel(part));
  const hash = rest.length === 0 ? undefined : hashText(safeJson([role, ...rest.map(contentOf)]));
  const isAnswer = role === "assistant" && rest.at(-1)?.type !== "tool";
  const standsFor = rest.flatMap((part) => (part.type === "text" && part.standsFor) || [])[0];
  const isProviderBlock =
    standsFor === undefined && rest.some(({ providerBlock }) => providerBlock !== undefined);
  const traits = { hash, thoughts, hidden, isAnswer, isProviderBlock, standsFor };
  known.set(message, traits);
  return traits;
}

/** What a provider compares of a part: not when it was cleared, or what was known of it. */
function contentOf(part: Part): unknown {
  switch (part.type) {
    case "text":
      return part.text;
    case "tool": {
      const { callId, tool, input } = part;
      const outcome = shownOutcome(part);
      if (outcome.status !== "done") return [callId, tool, input, outcome];
      return [callId, tool, input, outcome.output, outcome.attachments.map(contentOf)];
    }
    case "file":
      return [part.mime, part.filename, part.sizeBytes];
    case "opaque":
      return [part.name, part.chars];
    case "compaction":
    case "reasoning":
      return part.type;
    default:
      return part satisfies never;
  }
}

const START: Line = 1;
const BLOCK: Line = 3;
const GAP = 2;

/** The hash of a line that goes on; never 0. One step of MurmurHash3, since a long window takes thousands. */
function mix(line: Line, next: number): Line {
  const scrambled = Math.imul(rotate(Math.imul(next, 0xcc9e2d51), 15), 0x1b873593);
  return (Math.imul(rotate(line ^ scrambled, 13), 5) + 0xe6546b64) >>> 0 || 1;
}

function rotate(bits: number, by: number): number {
  return (bits << by) | (bits >>> (32 - by));
}
