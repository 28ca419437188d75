import { compactionBoundary, findCompletedCompaction, hideFailedSummaries } from "../stages/boundary.ts";
import { repairPairing } from "../stages/repair.ts";
import { either, listOf, oneOf, type Shape, text } from "../text/check.ts";
import { applyEdits, type Edit } from "../transcript/edit.ts";
import {
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
  /** The edits that make the window out of the transcript: the compaction boundary and the repairs. */
  readonly edits: readonly Edit[];
  /** The newest compaction of a provider, where nothing newer of ours stands behind it: what is before it is sent, and not measured. */
  readonly providerBlock: PlacedProviderBlock | undefined;
}

const windows = new WeakMap<Transcript, ContextWindow>();

/** The window of a transcript. It is read anew for each list, each message in it once. */
export function windowOf(transcript: Transcript): ContextWindow {
  const known = windows.get(transcript) ?? readWindow(transcript);
  windows.set(transcript, known);
  return known;
}

function readWindow(transcript: Transcript): ContextWindow {
  // Most of a long transcript is hidden, so little is looked for in all of it.
  const present = transcript.filter(isVisibleToModel);
  const compaction = present.some(isMarkerOrSummary) ? findCompletedCompaction(transcript) : undefined;
  const boundary = [
    ...(compaction === undefined ? [] : compactionBoundary({ from: "marker", system: "keep" })(transcript)),
    ...hideFailedSummaries(present, transcript),
  ];
  const visible =
    boundary.length === 0 ? present : applyEdits(transcript, boundary, { at: 0 }).filter(isVisibleToModel);
  const { shown, marked: repaired, edits, providerBlock } = repairAll(visible);
  const marked = providerBlock === undefined ? repaired : withoutReplaced(repaired, providerBlock);
  const summary = compaction && transcript[compaction.summaryIndex];
  const newest = present.findLastIndex((message) => message === summary || isCarriedFacts(message));
  const newerCount = newest === -1 ? marked.length : present.length - 1 - newest;
  return {
    shown,
    marked,
    visible,
    compactedCount: Math.max(0, marked.length - newerCount),
    edits: boundary.concat(edits),
    providerBlock,
  };
}

function isMarkerOrSummary(message: Message): boolean {
  return message.summary === true || compactionPart(message) !== undefined;
}

/** The newest messages of a window, and its instructions: the rest is what a provider's compaction stands for. */
function withoutReplaced(marked: Transcript, { messageId }: PlacedProviderBlock): Transcript {
  const start = marked.findLastIndex(({ id }) => id === messageId);
  return marked.filter((message, index) => index >= start || message.role === "system");
}

/** True for the marker or the summary of a compaction, or what a provider left of one. */
export function isOfCompaction(message: Message): boolean {
  return isMarkerOrSummary(message) || placedProviderBlock(message) !== undefined || isCarriedFacts(message);
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
  readonly shown: Transcript;
  readonly marked: Transcript;
  readonly edits: readonly Edit[];
  readonly providerBlock: PlacedProviderBlock | undefined;
}

/** The same as `repairPairing` over all messages, reading each of them once; the calls of a history have ids of their own. */
function repairAll(visible: Transcript): Repairs {
  const [shown, marked, edits]: [Message[], Message[], Edit[]] = [[], [], []];
  let hasSpeaker = false;
  let providerBlock: PlacedProviderBlock | undefined;
  for (const message of visible) {
    const repaired = repairAlone(message);
    edits.push(...repaired.edits);
    providerBlock = repaired.providerBlock ?? providerBlock;
    if (!hasSpeaker && message.role !== "system" && repaired.shown !== undefined) {
      hasSpeaker = true;
      const opening = repairPairing([...marked, message]).find(({ type }) => type === "insert-message");
      if (opening?.type === "insert-message") {
        edits.push(opening);
        marked.push(opening.message);
        shown.push(opening.message);
      }
    }
    marked.push(repaired.marked);
    if (repaired.shown !== undefined) shown.push(repaired.shown);
  }
  return { shown, marked, edits, providerBlock };
}

/** A message as it is sent, and what had to be repaired for that. */
interface RepairedMessage {
  /** With its hidden parts, so that part indexes and cleared outputs can still be seen. */
  readonly marked: Message;
  /** What the model reads; undefined when nothing of it is sent. */
  readonly shown: Message | undefined;
  readonly edits: readonly Edit[];
  readonly providerBlock: PlacedProviderBlock | undefined;
}

/** Messages never change, so each is repaired once. */
const repairedMessages = new WeakMap<Message, RepairedMessage>();

function repairAlone(message: Message): RepairedMessage {
  const known = repairedMessages.get(message);
  if (known !== undefined) return known;
  // Whether it may come first is a matter of the whole window.
  const edits = repairPairing([message]).filter((edit) => edit.type !== "insert-message");
  const marked = (edits.length > 0 && applyEdits([message], edits, { at: 0 })[0]) || message;
  const repaired = {
    marked,
    shown: project([marked])[0],
    edits,
    providerBlock: placedProviderBlock(message),
  };
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
  /**
   * Whose compaction blocks it takes back; what it cannot read goes out as our backup summary of it.
   * @default everybody's
   * @when the conversation moves between providers
   */
  readonly reads?: readonly string[] | "all";
}

/** What a management may be. */
export const MANAGEMENT_SHAPE: Shape<ProviderManagement> = {
  acts: oneOf("nothing", "clears", "compacts"),
  reads: either(oneOf("all"), listOf(text)),
};

/** The compaction of a provider, which stands in an answer for everything before it. */
export interface PlacedProviderBlock {
  readonly messageId: MessageId;
  readonly partIndex: number;
  /** Who made it. */
  readonly provider: string;
  /** `asked`: by a request of ours, with nothing but the block in its message; what is kept stands behind it as it was. */
  readonly made: "by-itself" | "asked";
}

/** The newest compaction of a provider that the model is sent. */
export function findProviderBlock(transcript: Transcript): PlacedProviderBlock | undefined {
  for (let index = transcript.length - 1; index >= 0; index--) {
    const message = transcript[index] as Message;
    const block = isVisibleToModel(message) ? placedProviderBlock(message) : undefined;
    if (block !== undefined) return block;
  }
  return undefined;
}

/** The compaction of a provider in a message. */
export function placedProviderBlock({ id, parts }: Message): PlacedProviderBlock | undefined {
  const partIndex = parts.findLastIndex((part) => part.providerBlock !== undefined && reachesModel(part));
  const part = parts[partIndex];
  if (part?.providerBlock === undefined) return undefined;
  const made = part.type === "text" && part.block !== undefined ? "asked" : "by-itself";
  return { messageId: id, partIndex, provider: part.providerBlock, made };
}

/** True for a batch that keeps a backup summary of a block, and changes nothing of what the model is sent. */
export function isBackupBatch({ step }: { readonly step: string }): boolean {
  return step === "keep-backup-summary";
}
