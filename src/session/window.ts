import { compactionBoundary, compactionPart, findCompletedCompaction } from "../stages/boundary.ts";
import { repairPairing } from "../stages/repair.ts";
import { applyEdits, type Edit } from "../transcript/edit.ts";
import {
  isVisibleToModel,
  type Message,
  project,
  reachesModel,
  type Transcript,
} from "../transcript/message.ts";
import type { CallId, Part } from "../transcript/part.ts";

/**
 * What the model sees of an edited transcript: the window of the newest compaction, repaired and projected.
 * A message more at the end costs no more than reading that message.
 */
export interface ContextWindow {
  /** Starts anew with a whole transcript. */
  rebuild(transcript: Transcript): void;
  /** Takes one more message; false when the window has to be rebuilt for it. */
  push(message: Message): boolean;
  /** Takes the newest message off again; false when the window has to be rebuilt for it. */
  pop(message: Message): boolean;
  /** What is sent; the same list as long as nothing changes. */
  shown(): Transcript;
  /** The same messages with what is hidden in them still there: what is measured. */
  marked(): Transcript;
  /** How many of `marked` stay as they are while `version` does: all but a newest message that waits for results. */
  settledCount(): number;
  /** How many of `marked` were there when the newest compaction ended: what they count describes a context that is gone. */
  compactedCount(): number;
  /** Changes whenever anything but the end does; the end may grow, and its last message while it is not settled. */
  version(): number;
  /** The edits that make the window out of the transcript: the compaction boundary and the repairs. */
  edits(): readonly Edit[];
}

/** An empty window. */
export function createContextWindow(): ContextWindow {
  let version = 0;
  let boundary: readonly Edit[] = [];
  let rows: Row[] = [];
  let marked: Message[] = [];
  let shown: Message[] = [];
  let snapshot: Transcript | undefined;
  let calls = new Set<CallId>();
  let carriesFinish = false;
  let hasSpeaker = false;
  let compactedCount = 0;
  let settledCount = 0;

  function add(message: Message): void {
    if (!isVisibleToModel(message)) return;
    const repaired = repairMessage(message, calls);
    const isFirst = !hasSpeaker && message.role !== "system" && repaired.shown !== undefined;
    const opening = isFirst && message.role !== "user" ? openingFor(marked, message) : undefined;
    if (opening !== undefined) {
      marked.push(opening.message);
      shown.push(opening.message);
    }
    hasSpeaker ||= isFirst;
    settledCount = marked.length;
    rows.push({ source: message, ...repaired, isFirst, ...(opening && { opening }) });
    marked.push(repaired.marked);
    if (!awaitsResults(message)) settledCount = marked.length;
    if (repaired.shown !== undefined) shown.push(repaired.shown);
    for (const callId of callsOf(message)) calls.add(callId);
    snapshot = undefined;
  }

  function canPop(last: Row | undefined, message: Message): last is Row {
    // A call that an earlier message has as well would be forgotten too soon.
    return last?.source === message && !last.isFirst && !last.repeatsCalls;
  }

  function movesBoundary(message: Message): boolean {
    if (isOfCompaction(message)) return true;
    return hasFinish(message) && !rows.some(({ source }) => source !== message && hasFinish(source));
  }

  return {
    rebuild(transcript) {
      version++;
      boundary = compactionBoundary({ from: "marker" })(transcript);
      rows = [];
      marked = [];
      shown = [];
      snapshot = undefined;
      calls = new Set();
      hasSpeaker = false;
      settledCount = 0;
      carriesFinish = transcript.some(hasFinish);
      for (const message of applyEdits(transcript, boundary, { at: 0 })) add(message);
      const compaction = findCompletedCompaction(transcript);
      const newer = compaction === undefined ? transcript : transcript.slice(compaction.summaryIndex + 1);
      compactedCount = compaction === undefined ? 0 : marked.length - newer.filter(isVisibleToModel).length;
    },

    push(message) {
      if (isOfCompaction(message) || (!carriesFinish && hasFinish(message))) return false;
      add(message);
      return true;
    },

    pop(message) {
      if (movesBoundary(message)) return false;
      if (!isVisibleToModel(message)) return true;
      const last = rows.at(-1);
      if (!canPop(last, message)) return false;
      rows.pop();
      // What was not settled, nobody has counted.
      if (marked.length > settledCount) marked.pop();
      else {
        version++;
        marked = marked.slice(0, -1);
        settledCount = marked.length;
      }
      if (last.shown !== undefined) shown.pop();
      for (const callId of callsOf(message)) calls.delete(callId);
      snapshot = undefined;
      return true;
    },

    shown() {
      // A copy: whoever holds the window of an earlier moment keeps it.
      snapshot ??= shown.slice();
      return snapshot;
    },

    marked: () => marked,
    settledCount: () => settledCount,
    compactedCount: () => compactedCount,
    version: () => version,

    edits: () => [
      ...boundary,
      ...rows.flatMap(({ edits, opening }) => (opening === undefined ? edits : [...edits, opening])),
    ],
  };
}

interface Row extends RepairedMessage {
  readonly source: Message;
  /** The first message that is not the system's. */
  readonly isFirst: boolean;
  /** Set on the first message when it is not the user's. */
  readonly opening?: Opening;
}

type Opening = Extract<Edit, { type: "insert-message" }>;

function openingFor(before: Transcript, first: Message): Opening | undefined {
  return repairPairing([...before, first]).find((edit) => edit.type === "insert-message");
}

/** True for a message that is not over, and about which nothing was counted: what becomes of it comes under the same id. */
function awaitsResults({ parts, usage, unfinished }: Message): boolean {
  const isWaiting = parts.some((part) => part.type === "tool" && part.outcome.status === "pending");
  return usage === undefined && (unfinished === true || isWaiting);
}

/** True for the marker or the summary of a compaction. */
export function isOfCompaction(message: Message): boolean {
  return message.summary === true || compactionPart(message) !== undefined;
}

function hasFinish({ role, finish }: Message): boolean {
  return role === "assistant" && finish !== undefined;
}

/** A message as it is sent, and what had to be repaired for that. */
interface RepairedMessage {
  /** With its hidden parts, so that part indexes and cleared outputs can still be seen. */
  readonly marked: Message;
  /** What the model reads; undefined when nothing of it is sent. */
  readonly shown: Message | undefined;
  readonly edits: readonly Edit[];
  /** True when an earlier message has one of its calls as well. */
  readonly repeatsCalls: boolean;
}

/**
 * Repairs one message given the calls that stand before it: the same as `repairPairing` over all of them, without
 * walking them again. Does not look at who speaks first.
 */
function repairMessage(message: Message, earlierCalls: ReadonlySet<CallId>): RepairedMessage {
  const repeated = message.parts.flatMap((part, partIndex): Edit[] =>
    isCall(part) && earlierCalls.has(part.callId)
      ? [
          {
            type: "hide-part",
            what: "part",
            messageId: message.id,
            partIndex,
            stage: "repair-pairing",
            reason: "duplicate-call",
          },
        ]
      : [],
  );
  if (repeated.length === 0) return repairAlone(message);
  const rest = repairAlone(applyEdits([message], repeated, { at: 0 })[0] ?? message);
  const edits = rest.shown === undefined ? rest.edits : [...repeated, ...rest.edits];
  return { ...rest, edits, repeatsCalls: true };
}

/** The calls of a message that reach the model. */
function callsOf({ parts }: Message): readonly CallId[] {
  return parts.flatMap((part) => (isCall(part) ? [part.callId] : []));
}

/** Messages never change, so each is repaired once. */
const repairedMessages = new WeakMap<Message, RepairedMessage>();

function repairAlone(message: Message): RepairedMessage {
  const before = repairedMessages.get(message);
  if (before !== undefined) return before;
  // Whether it may come first is a matter of the whole transcript.
  const edits = repairPairing([message]).filter((edit) => edit.type !== "insert-message");
  const marked = applyEdits([message], edits, { at: 0 })[0] ?? message;
  const shown = isVisibleToModel(marked) ? project([marked])[0] : undefined;
  const repaired = { marked, shown, edits, repeatsCalls: false };
  repairedMessages.set(message, repaired);
  return repaired;
}

function isCall(part: Part): part is Extract<Part, { type: "tool" }> {
  return part.type === "tool" && !part.callMissing && reachesModel(part);
}
