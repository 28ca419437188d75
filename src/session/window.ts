import {
  compactionBoundary,
  findCompletedCompaction,
  hasFinish,
  hideFailedSummaries,
} from "../stages/boundary.ts";
import { repairPairing } from "../stages/repair.ts";
import { either, listOf, oneOf, type Shape, text } from "../text/check.ts";
import { applyEdits, type Edit } from "../transcript/edit.ts";
import {
  commonLength,
  compactionPart,
  isVisibleToModel,
  type Message,
  type MessageId,
  project,
  reachesModel,
  type Transcript,
} from "../transcript/message.ts";

/** What the model sees of an edited transcript: what the newest compaction left, repaired so that no provider refuses it. */
export interface ContextWindow {
  /** What is sent. */
  readonly shown: Transcript;
  /** The same messages with their hidden parts still in them: what is measured. */
  readonly marked: Transcript;
  /** The same messages as they are in the transcript, before repairs. */
  readonly visible: Transcript;
  /** How many of `marked` were there when the newest compaction ended: their usage describes a context that is gone. */
  readonly compactedCount: number;
  /** Changes whenever anything but the end does. A newest message that waits for results may be replaced. */
  readonly version: number;
  /** The edits that make the window out of the transcript: the compaction boundary and the repairs. */
  readonly edits: readonly Edit[];
  /** The newest compaction of a provider, where nothing newer of ours stands behind it: what is before it is sent, and not measured. */
  readonly native: NativeBlock | undefined;
}

/**
 * Reads the window of a transcript. Nothing is kept up to date piece by piece: the last window is remembered, each
 * message is repaired once, and a transcript that only grew is read on from where the last one ended.
 */
export function createWindowReader(): (transcript: Transcript) => ContextWindow {
  const repairAll = createRepairer();
  let last: Reading | undefined;
  return (transcript) => {
    if (transcript === last?.transcript) return last.window;
    const change = last && changedEnd(last, transcript);
    const { boundary, visible, carriesFinish, summaryIndex, nativeIndex, native } =
      last !== undefined && change !== undefined
        ? { ...last, visible: change.visible }
        : readBoundary(transcript);
    const { shown, marked: repaired, edits } = repairAll(visible, change?.kept);
    const marked = nativeIndex <= 0 ? repaired : withoutReplaced(repaired, visible.length - nativeIndex);
    const window: ContextWindow = {
      shown: shown.slice(),
      marked: marked.slice(),
      visible,
      edits: boundary.concat(edits),
      native,
      compactedCount:
        last !== undefined && change !== undefined
          ? last.window.compactedCount
          : Math.max(0, marked.length - newerCount(transcript, summaryIndex, marked)),
      version: (last?.window.version ?? 0) + (change?.extent === "end" ? 0 : 1),
    };
    last = {
      transcript,
      window,
      boundary,
      carriesFinish,
      summaryIndex,
      nativeIndex,
      native,
      ...withoutOpen(transcript, visible),
    };
    return window;
  };
}

/** What is remembered of the newest transcript. */
interface Reading {
  readonly transcript: Transcript;
  readonly window: ContextWindow;
  readonly boundary: readonly Edit[];
  readonly carriesFinish: boolean;
  /** Where the newest compaction ended, with its summary or its facts; -1 without one. */
  readonly summaryIndex: number;
  /** Where a provider's own compaction stands among what is visible; -1 without one. */
  readonly nativeIndex: number;
  readonly native: NativeBlock | undefined;
  /** The transcript without a newest message that waits for results, and what the boundary leaves of it. */
  readonly settled: Transcript;
  readonly visible: Transcript;
}

/**
 * What the boundary leaves of a transcript whose end has grown, or was edited behind the newest compaction; undefined
 * when the boundary has to be looked for again.
 */
function changedEnd(
  { settled, visible, carriesFinish, summaryIndex }: Reading,
  transcript: Transcript,
): ChangedEnd | undefined {
  const same = commonLength(settled, transcript);
  if (same <= summaryIndex) return undefined;
  const gone = settled.slice(same);
  const added = transcript.slice(same);
  if (gone.some(isOfCompaction) || added.some(isOfCompaction)) return undefined;
  // Whether any answer tells how it finished decides which summaries count as complete.
  if (carriesFinish ? gone.some(hasFinish) && !added.some(hasFinish) : added.some(hasFinish))
    return undefined;
  const kept = visible.length - gone.filter(isVisibleToModel).length;
  return {
    visible: (kept < visible.length ? visible.slice(0, kept) : visible).concat(
      added.filter(isVisibleToModel),
    ),
    kept,
    extent: gone.length === 0 ? "end" : "edited",
  };
}

interface ChangedEnd {
  readonly visible: Transcript;
  /** How many of these the window had before. */
  readonly kept: number;
  readonly extent: "end" | "edited";
}

function readBoundary(
  transcript: Transcript,
): Pick<Reading, "boundary" | "visible" | "carriesFinish" | "summaryIndex" | "nativeIndex" | "native"> {
  const compaction = compactionBoundary({ from: "marker", system: "keep" })(transcript);
  const boundary = [...compaction, ...hideFailedSummaries(transcript)];
  const visible = applyEdits(transcript, boundary, { at: 0 }).filter(isVisibleToModel);
  const native = findNativeBlock(visible);
  return {
    boundary,
    visible,
    native,
    nativeIndex: native === undefined ? -1 : visible.findLastIndex(({ id }) => id === native.messageId),
    carriesFinish: withoutOpen(transcript, visible).settled.some(hasFinish),
    summaryIndex: Math.max(
      findCompletedCompaction(transcript)?.summaryIndex ?? -1,
      transcript.findLastIndex((message) => isCarriedFacts(message) && isVisibleToModel(message)),
    ),
  };
}

/** The newest messages of a window, and its instructions: the rest is what a provider's compaction stands for. */
function withoutReplaced(marked: Transcript, keptCount: number): Transcript {
  const start = marked.length - keptCount;
  return marked.filter((message, index) => index >= start || message.role === "system");
}

function withoutOpen(transcript: Transcript, visible: Transcript): Pick<Reading, "settled" | "visible"> {
  const newest = transcript.at(-1);
  if (newest === undefined || isOfCompaction(newest) || !awaitsResults(newest))
    return { settled: transcript, visible };
  return {
    settled: transcript.slice(0, -1),
    visible: visible.at(-1) === newest ? visible.slice(0, -1) : visible,
  };
}

/** How many messages of the window came after the newest compaction. */
function newerCount(transcript: Transcript, summaryIndex: number, marked: Transcript): number {
  if (summaryIndex === -1) return marked.length;
  return transcript.slice(summaryIndex + 1).filter(isVisibleToModel).length;
}

/** True for a message that is not over, and about which nothing was counted: what becomes of it comes under the same id. */
function awaitsResults({ parts, usage, unfinished }: Message): boolean {
  const isWaiting = parts.some((part) => part.type === "tool" && part.outcome.status === "pending");
  return usage === undefined && (unfinished === true || isWaiting);
}

/** True for the marker or the summary of a compaction, or what a provider left of one. */
export function isOfCompaction(message: Message): boolean {
  return (
    message.summary === true ||
    compactionPart(message) !== undefined ||
    nativeBlockOf(message) !== undefined ||
    isCarriedFacts(message)
  );
}

/** The kind of message that says, behind the kept ones, what a compaction of the provider must not lose. */
export const CARRIED_FACTS = "carried_facts";

function isCarriedFacts({ metadata }: Message): boolean {
  return metadata?.kind === CARRIED_FACTS;
}

/** True for a finished answer of the model. */
export function isFinishedAnswer(message: Message): boolean {
  return (
    message.role === "assistant" &&
    message.summary !== true &&
    message.error === undefined &&
    message.unfinished !== true &&
    isVisibleToModel(message) &&
    message.parts.some(reachesModel)
  );
}

interface Repairs {
  readonly shown: Message[];
  readonly marked: Message[];
  readonly edits: Edit[];
  hasSpeaker: boolean;
}

/** Repairs the messages of a window; those before the first that differs from the last window are not read again. */
function createRepairer(): (visible: Transcript, kept?: number) => Repairs {
  const state: Repairs = { shown: [], marked: [], edits: [], hasSpeaker: false };
  /** For each message read so far, what there was before it. */
  const marks: RepairMark[] = [];
  let read: Transcript = [];
  return (visible, kept) => {
    const same = kept ?? commonLength(read, visible);
    const mark = marks[same];
    if (mark !== undefined) {
      marks.length = same;
      state.shown.length = mark.shown;
      state.marked.length = mark.marked;
      state.edits.length = mark.edits;
      state.hasSpeaker = mark.hasSpeaker;
    }
    for (const message of visible.slice(same)) {
      const { shown, marked, edits, hasSpeaker } = state;
      marks.push({ shown: shown.length, marked: marked.length, edits: edits.length, hasSpeaker });
      addRepaired(state, message);
    }
    read = visible;
    return state;
  };
}

interface RepairMark {
  readonly shown: number;
  readonly marked: number;
  readonly edits: number;
  readonly hasSpeaker: boolean;
}

/** The same as `repairPairing` over all messages, reading each of them once; the calls of a history have ids of their own. */
function addRepaired(state: Repairs, message: Message): void {
  const { marked, shown, edits } = repairAlone(message);
  state.edits.push(...edits);
  if (!state.hasSpeaker && message.role !== "system" && shown !== undefined) {
    state.hasSpeaker = true;
    const opening = repairPairing([...state.marked, message]).find((edit) => edit.type === "insert-message");
    if (opening !== undefined) {
      state.edits.push(opening);
      state.marked.push(opening.message);
      state.shown.push(opening.message);
    }
  }
  state.marked.push(marked);
  if (shown !== undefined) state.shown.push(shown);
}

/** A message as it is sent, and what had to be repaired for that. */
interface RepairedMessage {
  /** With its hidden parts, so that part indexes and cleared outputs can still be seen. */
  readonly marked: Message;
  /** What the model reads; undefined when nothing of it is sent. */
  readonly shown: Message | undefined;
  readonly edits: readonly Edit[];
}

/** Messages never change, so each is repaired once. */
const repairedMessages = new WeakMap<Message, RepairedMessage>();

function repairAlone(message: Message): RepairedMessage {
  const known = repairedMessages.get(message);
  if (known !== undefined) return known;
  // Whether it may come first is a matter of the whole window.
  const edits = repairPairing([message]).filter((edit) => edit.type !== "insert-message");
  const marked = (edits.length > 0 && applyEdits([message], edits, { at: 0 })[0]) || message;
  const repaired = { marked, shown: project([marked])[0], edits };
  repairedMessages.set(message, repaired);
  return repaired;
}

/**
 * What the provider that is asked next does about the window by itself. Ours steps aside for that: nothing is cleared
 * where it clears, and nothing is compacted where it compacts. What it refuses is recovered all the same.
 */
export interface ProviderManagement {
  /** `clears`: old tool results; `compacts`: these, and the old part of the conversation. @default nothing */
  readonly acts?: "nothing" | "clears" | "compacts";
  /** Whose compaction blocks it takes back; what it cannot read goes out as our shadow of it. @default everybody's */
  readonly reads?: readonly string[] | "all";
}

/** What a management may be. */
export const MANAGEMENT_SHAPE: Shape<ProviderManagement> = {
  acts: oneOf("nothing", "clears", "compacts"),
  reads: either(oneOf("all"), listOf(text)),
};

/** The compaction of a provider, which stands in an answer for everything before it. */
export interface NativeBlock {
  readonly messageId: MessageId;
  readonly partIndex: number;
  /** Who made it. */
  readonly provider: string;
  /** `asked`: by a request of ours, with nothing but the block in its message; what is kept stands behind it as it was. */
  readonly made: "by-itself" | "asked";
}

/** The newest compaction of a provider that the model is sent. */
export function findNativeBlock(transcript: Transcript): NativeBlock | undefined {
  for (let index = transcript.length - 1; index >= 0; index--) {
    const message = transcript[index] as Message;
    const block = isVisibleToModel(message) ? nativeBlockOf(message) : undefined;
    if (block !== undefined) return block;
  }
  return undefined;
}

/** The compaction of a provider in a message. */
export function nativeBlockOf({ id, parts }: Message): NativeBlock | undefined {
  const partIndex = parts.findLastIndex((part) => part.native !== undefined && reachesModel(part));
  const part = parts[partIndex];
  if (part?.native === undefined) return undefined;
  const made = part.type === "text" && part.block !== undefined ? "asked" : "by-itself";
  return { messageId: id, partIndex, provider: part.native, made };
}

/** True for a batch that keeps a shadow of a block, and changes nothing of what the model is sent. */
export function isShadowBatch({ step }: { readonly step: string }): boolean {
  return step === "keep-shadow";
}
