import { tokenFamilyOf } from "../../models/token-family.ts";
import { omitUndefined } from "../../text/unknown-value.ts";
import type { CarriedFacts } from "../../transcript/carried-facts.ts";
import { handleOf } from "../../transcript/content.ts";
import type { Handle } from "../../transcript/edit.ts";
import { type ContextEstimateOptions, estimateContext } from "../../transcript/estimate-context.ts";
import { charsOf, estimateMessageTokens } from "../../transcript/estimate-message.ts";
import {
  createIdDeduplicator,
  isBareMarker,
  isSummary,
  isVisibleToModel,
  type Message,
  type MessageId,
  type Transcript,
  typedText,
} from "../../transcript/message.ts";
import type { SummarizerModel, SummaryRequest } from "../ports/summarizer.ts";
import { collectFacts, type FactsBudget, factsBudget } from "../summary/facts.ts";
import type { LocalSummaryMaterial } from "../summary/local-summary.ts";
import { type PreviousSummary, type Representation, readPreviousSummary } from "../summary/message.ts";
import { handlesInPlace, type Pin, pinsRoom, resolvePins } from "../summary/pins.ts";
import {
  buildSummaryRequest,
  MAX_SUMMARY_SHARE,
  MAX_SUMMARY_TOKENS,
  type SummaryMaterial,
  summarySystem,
} from "../summary/request.ts";
import {
  createTextCleaner,
  piecesOf,
  type SecretRedaction,
  serializePieces,
  type TextCleaner,
  type TextPiece,
} from "../summary/text.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "../trigger/compaction-settings.ts";
import { inputWindowTokens } from "../trigger/overflow.ts";
import { isFinished, isUnanswered, lastRequestIndex } from "./last-request.ts";
import {
  type ConversationSplit,
  type KeepInput,
  keepAmount,
  splitConversation,
} from "./split-conversation.ts";
import { isCompactionLeftover, markedPins, readWindow } from "./window.ts";

/**
 * Decides a compaction without doing it: the same input gives the same plan. The window is read and split into what is
 * replaced and what stays; from the replaced part come the request to the summarizer, the material of a summary without
 * a model, and the facts that are carried along whatever the summary says.
 */
export function planCompaction(input: CompactionInput): CompactionPlan | NothingToCompact {
  const { transcript, trigger, representation = "pivot", redaction = {}, keep = [] } = input;
  // Messages are estimated like the whole context: by the tokens of the model that reads them.
  const { model, family = model && tokenFamilyOf(model) } = input.estimate ?? {};
  const estimate = { ...input.estimate, ...(family && { family }) };
  const window = readWindow(transcript);
  const kept = new Set(keep);
  const tokensBefore = contextTokens(window.shown, estimate);
  const overheadTokens = contextTokens(window.system, estimate);
  const nothing = (reason: NothingToCompact["reason"]): NothingToCompact => ({
    status: "nothing",
    reason,
    tokensBefore,
    transcript,
    ...(window.pendingMarker && { pendingMarkerId: window.pendingMarker.id }),
  });
  if (window.conversation.length === 0) return nothing("empty");
  const split = splitConversation(window.conversation, {
    keep: keepAmount({ ...input, representation, overheadTokens }),
    forced: trigger === "threshold" ? "as-needed" : "forced",
    estimate,
    isProtected: (message) => message.parts.some((_, index) => kept.has(handleOf(message, index))),
  });
  if (split.replaced.every(isCompactionLeftover)) return nothing("nothing-old");
  const tokensOf = (messages: Transcript): number =>
    messages.reduce((sum, message) => sum + estimateMessageTokens(message, estimate), 0);
  const replacedTokens = tokensOf(split.replaced) + tokensOf(window.summaries);
  if (replacedTokens < (tokensBefore - overheadTokens) * MIN_GAIN_SHARE) return nothing("too-little");

  const cleaner = createTextCleaner(redaction);
  const previous = readPreviousSummary(window.summaries, cleaner);
  const read = readMessages(split.replaced, cleaner);
  const lastRequest = lastRequestOf(window.conversation, split);
  const material = summaryMaterial(input, { split, read, previous, cleaner, replacedTokens });
  const { request, omittedMessages } = buildSummaryRequest(material);
  const keptIds = split.kept.map((message) => message.id);
  const pendingMarker = representation === "pivot" ? window.pendingMarker : undefined;
  const visible = transcript.filter((message) => message.role !== "system" && isVisibleToModel(message));
  const stays = new Set([...keptIds, pendingMarker?.id]);
  const replacedIds = visible.map((message) => message.id).filter((id) => !stays.has(id));
  const { pins, unknownHandles } = resolvePins({
    transcript,
    pins: input.pins,
    marked: markedPins(transcript),
    carried: previous?.facts?.pins ?? [],
    cleaner,
  });
  const windowTokens = windowTokensOf(input, tokensBefore);
  const budget = factsBudget(replacedTokens, windowTokens);
  // Facts of messages that another program's compaction left out of the window were never collected.
  const inWindow = new Set<Message>(window.conversation);
  const earlier = visible.filter(
    (message) =>
      previous?.facts === undefined &&
      !inWindow.has(message) &&
      !isSummary(message) &&
      !isBareMarker(message),
  );
  return {
    status: "planned",
    transcript,
    trigger,
    representation,
    replacedIds,
    keptIds,
    keep,
    protectedIds: split.protectedMessages.map((message) => message.id),
    ...omitUndefined({ firstKeptId: keptIds[0], pendingMarkerId: pendingMarker?.id, lastRequest }),
    splitTurn: split.turnPrefix.length > 0 ? "split" : "whole",
    ids: insertedIds(transcript, replacedIds),
    request,
    omittedMessages,
    material,
    localSummaryMaterial: { messages: split.replaced, previous, redaction },
    facts: collectFacts({
      carried: previous?.facts,
      pins,
      replaced: [...earlier, ...split.replaced],
      pieces: [...readMessages(earlier, cleaner).pieces, ...read.pieces],
      firstHandle: transcript.find((message) => isVisibleToModel(message) && typedText(message) !== "")?.id,
      mustHandle: requiredHandle(lastRequest),
      budget,
      cleaner,
    }),
    factsBudget: budget,
    pinsInPlace: handlesInPlace(pins, split.kept),
    pinsMaxChars: pinsRoom(windowTokens, estimate),
    unknownPins: unknownHandles,
    replay: isOverflowTrigger(trigger) && isUnanswered(window.conversation) ? "replayed" : "none",
    continuation: continuationOf(input, window.conversation),
    tokensBefore,
    overheadTokens,
    replacedTokens,
    toolCallCutoff: (input.settings ?? DEFAULT_COMPACTION_SETTINGS).toolCallCutoff,
    estimate,
    redaction,
  };
}

/** The size of the window; where it is not known, one that had to be compacted is full. */
function windowTokensOf({ limits, trigger }: CompactionInput, tokensBefore: number): number {
  const { contextTokens = 0 } = limits ?? {};
  if (contextTokens > 0) return contextTokens;
  return trigger === "manual" ? Number.POSITIVE_INFINITY : tokensBefore;
}

/** The replaced message whose words the summary has to carry, if there is one. */
export function requiredHandle(lastRequest: LastRequest | undefined): MessageId | undefined {
  return lastRequest?.place === "replaced" ? lastRequest.messageId : undefined;
}

/** The tokens of a context by estimate alone, without reported usage. */
export function contextTokens(shown: Transcript, estimate: CompactionPlan["estimate"]): number {
  return estimateContext(shown, { ...estimate, epochStartIndex: Number.POSITIVE_INFINITY }).tokens;
}

/** Replacing less than this can never bring the context, without the overhead, down to nine tenths. */
const MIN_GAIN_SHARE = 0.1;

function lastRequestOf(conversation: Transcript, { kept }: ConversationSplit): LastRequest | undefined {
  const message = conversation[lastRequestIndex(conversation)];
  if (message === undefined) return undefined;
  const place = kept.includes(message) ? "kept" : "replaced";
  return { messageId: message.id, text: typedText(message), place };
}

/** True when the window that is compacted did not fit. */
export function isOverflowTrigger(trigger: CompactionTrigger): boolean {
  return trigger === "overflow" || trigger === "context_limit_recovery";
}

function continuationOf(input: CompactionInput, conversation: Transcript): Continuation {
  if (input.representation === "user-summary") return "not-a-pivot";
  if (input.trigger === "manual") return "manual";
  if (input.autoContinue === "never") return "off";
  if (conversation.at(-1)?.role === "user" || isUnanswered(conversation)) return "user-is-waiting";
  return isFinished(conversation) ? "finished" : "append";
}

/** What a compaction is planned from. Everything but the transcript and the trigger has a default. */
export interface CompactionInput extends Partial<Omit<KeepInput, "overheadTokens">> {
  /** All messages, hidden ones included. */
  readonly transcript: Transcript;
  /** All but `threshold` cut even when everything would fit. */
  readonly trigger: CompactionTrigger;
  /** The model that writes the summary; its window is that of `limits` when unset. @default unset */
  readonly summarizer?: SummarizerModel;
  /**
   * What must stay visible to the model; when unset, the pins of the last compaction. Messages that the user marked with
   * `#pin` are pinned as well.
   * @default those of the last compaction
   */
  readonly pins?: readonly Pin[];
  /** Tool outputs that stay as they are, each with its call, whatever else is replaced. @default none */
  readonly keep?: readonly Handle[];
  /** How tokens are counted; usage is never used, since it describes a context that is going away. @default characters / 4 */
  readonly estimate?: Omit<ContextEstimateOptions, "epochStartIndex">;
  /** How secrets are found in what goes to the summarizer and into the summary. @default on */
  readonly redaction?: SecretRedaction;
  /** `never`: the agent is not told to go on after an automatic pivot. @default as-needed */
  readonly autoContinue?: "as-needed" | "never";
}

/** Why a compaction happens. Only a manual one was asked for by a person. */
export type CompactionTrigger = "threshold" | "overflow" | "context_limit_recovery" | "manual";

/** There is nothing to compact: no messages, nothing outside what stays, or too little of it to matter. */
export interface NothingToCompact {
  readonly status: "nothing";
  readonly reason: "empty" | "nothing-old" | "too-little";
  readonly tokensBefore: number;
  readonly transcript: Transcript;
  /** A marker that asked for this compaction. */
  readonly pendingMarkerId?: MessageId;
}

/** A compaction as data: what is hidden, what stays, what a model is asked, what is carried in any case. */
export interface CompactionPlan {
  readonly status: "planned";
  readonly transcript: Transcript;
  readonly trigger: CompactionTrigger;
  readonly representation: Representation;
  /** The messages that are hidden because the summary replaces them, oldest first. */
  readonly replacedIds: readonly MessageId[];
  /** What stays word for word, oldest first. */
  readonly keptIds: readonly MessageId[];
  /** Outputs that stay as they are. */
  readonly keep: readonly Handle[];
  /** The kept messages of which only such outputs stay. */
  readonly protectedIds: readonly MessageId[];
  readonly firstKeptId?: MessageId;
  readonly splitTurn: "split" | "whole";
  readonly pendingMarkerId?: MessageId;
  readonly ids: InsertedIds;
  /** What the summarizer is asked when no hook changes it. */
  readonly request: SummaryRequest;
  /** How many messages the request had to leave out to fit. */
  readonly omittedMessages: number;
  readonly material: SummaryMaterial;
  readonly localSummaryMaterial: LocalSummaryMaterial;
  readonly facts: CarriedFacts;
  readonly factsBudget: FactsBudget;
  /** Pins whose message stays as it is. */
  readonly pinsInPlace: readonly Handle[];
  /** What the others may have together in the summary; longer ones are cut and say so. */
  readonly pinsMaxChars: number;
  /** Pinned handles that name nothing. */
  readonly unknownPins: readonly Handle[];
  /** The user's last request; `replaced` when its words are carried in the summary. */
  readonly lastRequest?: LastRequest;
  /** `replayed`: the request that did not fit stands behind the summary again, without its media. */
  readonly replay: "replayed" | "none";
  /** Whether the agent is told to go on, or why not. */
  readonly continuation: Continuation;
  readonly tokensBefore: number;
  readonly overheadTokens: number;
  readonly replacedTokens: number;
  readonly toolCallCutoff: number;
  readonly estimate: Omit<ContextEstimateOptions, "epochStartIndex">;
  readonly redaction: SecretRedaction;
}

interface LastRequest {
  readonly messageId: MessageId;
  readonly text: string;
  readonly place: "kept" | "replaced";
}

/** The ids of messages that a compaction may insert, made from their neighbours. */
type InsertedIds = Readonly<Record<"marker" | "summary" | "digest" | "continuation", MessageId>>;

type Continuation = "append" | "manual" | "off" | "user-is-waiting" | "finished" | "not-a-pivot";

/** What the summarizer is asked about, and within which limits. */
function summaryMaterial(
  input: CompactionInput,
  { split, read, previous, cleaner, replacedTokens }: Replaced,
): SummaryMaterial {
  const { summarizer = {}, limits, settings = DEFAULT_COMPACTION_SETTINGS } = input;
  const turn = new Set(split.turnPrefix);
  // The request of a split turn stays a message, and is quoted too: the replaced part of the turn answers it.
  const kept = new Set(split.kept);
  const request = split.turnPrefix.filter((message) => kept.has(message));
  const first = read.pieces.find((piece) => piece.type === "typed");
  // The model the user was talking to writes the summary unless another one is named.
  const model =
    summarizer.model ??
    input.transcript.findLast((message) => message.role === "user" && message.model !== undefined)?.model;
  const windowTokens =
    [summarizer.windowTokens, limits && inputWindowTokens(limits)].find((tokens = 0) => tokens > 0) ??
    DEFAULT_WINDOW_TOKENS;
  const caps = [summarizer.outputTokens ?? 0, Math.floor(settings.reserveTokens * RESERVE_SHARE)];
  return {
    blocks: serializePieces(read.newestPieces.filter((piece) => !turn.has(piece.message))),
    turnBlocks: serializePieces([
      ...piecesOf(request, cleaner),
      ...read.newestPieces.filter((piece) => turn.has(piece.message)),
    ]),
    ...(first && { firstRequest: serializePieces([first])[0] }),
    skippedMessages: read.skippedMessages,
    skippedChars: read.skippedChars,
    ...(previous && { previousSummary: previous.prose }),
    windowTokens,
    maxOutputTokens: Math.min(
      MAX_SUMMARY_TOKENS,
      Math.floor(windowTokens * OUTPUT_SHARE),
      ...caps.filter((tokens) => tokens > 0),
    ),
    maxSummaryTokens: Math.min(MAX_SUMMARY_TOKENS, Math.floor(replacedTokens * MAX_SUMMARY_SHARE)),
    system: summarySystem(summarizer.system, input.profile),
    ...omitUndefined({ model, instructions: summarizer.instructions }),
  };
}

interface Replaced {
  readonly split: ConversationSplit;
  readonly read: ReadMessages;
  readonly previous: PreviousSummary | undefined;
  readonly cleaner: TextCleaner;
  readonly replacedTokens: number;
}

/** Assumed when the summarizer's window is unknown. */
const DEFAULT_WINDOW_TOKENS = 32_000;
const RESERVE_SHARE = 0.8;
/** The largest share of the summarizer's window that its answer may take. */
const OUTPUT_SHARE = 0.25;

/** What was read of some messages: everything of the newest, of the older ones only what the user typed. */
interface ReadMessages {
  readonly pieces: readonly TextPiece[];
  /** The newest pieces, those that a summarizer could be shown. */
  readonly newestPieces: readonly TextPiece[];
  readonly skippedMessages: number;
  readonly skippedChars: number;
}

/** Reads messages up to a number of characters, so that a history of hundreds of megabytes costs no more than a window. */
function readMessages(messages: Transcript, cleaner: TextCleaner): ReadMessages {
  let readChars = 0;
  let start = messages.length;
  while (start > 0) {
    const chars = charsOf(messages[start - 1] as Message);
    if (readChars > 0 && readChars + chars > MAX_READ_CHARS) break;
    readChars += chars;
    start--;
  }
  const skipped = messages.slice(0, start);
  const newestPieces = piecesOf(messages.slice(start), cleaner);
  const typed = skipped.filter((message) => typedText(message) !== "");
  return {
    pieces: [...piecesOf(typed, cleaner), ...newestPieces],
    newestPieces,
    skippedMessages: skipped.length,
    skippedChars: skipped.reduce((sum, message) => sum + charsOf(message), 0),
  };
}

/** About a million tokens: more than any summarizer reads. */
const MAX_READ_CHARS = 4_000_000;

/** Ids for what a compaction inserts: the last replaced message's id and a word, so that the same plan gives the same ids. */
function insertedIds(transcript: Transcript, replacedIds: readonly MessageId[]): InsertedIds {
  const freeId = createIdDeduplicator(transcript);
  const base = replacedIds.at(-1) ?? "compaction";
  return {
    marker: freeId(`${base}~marker`),
    summary: freeId(`${base}~summary`),
    digest: freeId(`${base}~digest`),
    continuation: freeId(`${base}~continue`),
  };
}
