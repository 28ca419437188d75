import { tokenFamilyOf } from "../text/token-model-families.ts";
import { estimateContextTokens } from "../transcript/estimate-context-tokens.ts";
import { estimateMessageTokens } from "../transcript/estimate-message-tokens.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "./compaction-settings.ts";
import { foldMaterial } from "./fold.ts";
import { handlesInPlace, resolvePins } from "./pins.ts";
import { insertedIds } from "./plan-compaction-ids.ts";
import { keepOf } from "./plan-compaction-keep.ts";
import { summaryMaterial } from "./plan-compaction-material.ts";
import { readMessages } from "./plan-compaction-read.ts";
import { isFinished, isUnanswered, lastRequestIndex, typedText } from "./plan-compaction-requests.ts";
import { type Split, splitConversation } from "./plan-compaction-split.ts";
import type {
  CompactionInput,
  CompactionPlan,
  Continuation,
  LastRequest,
  NothingToCompact,
} from "./plan-compaction-types.ts";
import { isBareMarker, readWindow } from "./plan-compaction-window.ts";
import { createTextCleaner } from "./summary-clean-text.ts";
import { collectFacts, factsBudget } from "./summary-facts.ts";
import { isSummary, readPreviousSummary } from "./summary-previous.ts";
import { buildSummaryRequest } from "./summary-request.ts";

/** Decides a compaction without doing it: the same input gives the same plan. */
export function planCompaction(input: CompactionInput): CompactionPlan | NothingToCompact {
  const { transcript, trigger, representation = "pivot", redaction = {} } = input;
  const estimate = withFamily(input.estimate ?? {});
  const window = readWindow(transcript);
  const tokensBefore = contextTokens(window.shown, estimate);
  const nothing = (reason: NothingToCompact["reason"]): NothingToCompact => ({
    status: "nothing",
    reason,
    tokensBefore,
    transcript,
    ...(window.pendingMarker && { pendingMarkerId: window.pendingMarker.id }),
  });
  if (window.conversation.length === 0) return nothing("empty");
  const split = splitConversation(window.conversation, {
    keep: keepOf({ ...input, representation }),
    forced: trigger === "threshold" ? "as-needed" : "forced",
    estimate,
  });
  if (split.folded.every(isOurs)) return nothing("nothing-old");
  const tokensOf = (messages: Transcript): number =>
    messages.reduce((sum, message) => sum + estimateMessageTokens(message, estimate), 0);
  const replacedTokens = tokensOf(split.folded) + tokensOf(window.summaries);
  if (replacedTokens < tokensBefore * MIN_GAIN_SHARE) return nothing("too-little");

  const cleaner = createTextCleaner(redaction);
  const previous = readPreviousSummary(window.summaries, cleaner);
  const read = readMessages(split.folded, cleaner);
  const lastRequest = lastRequestOf(window.conversation, split);
  const material = summaryMaterial({ input, split, read, previous, cleaner, replacedTokens });
  const { request, omittedMessages } = buildSummaryRequest(material);
  const keptIds = split.kept.map((message) => message.id);
  const pendingMarker = representation === "pivot" ? window.pendingMarker : undefined;
  const foldedIds = goneIds(transcript, new Set([...keptIds, ...(pendingMarker ? [pendingMarker.id] : [])]));
  const { pins, unknownHandles } = resolvePins({
    transcript,
    pins: input.pins,
    carried: previous?.facts?.pins ?? [],
    cleaner,
  });
  const budget = factsBudget(replacedTokens);
  const earlier = previous?.facts === undefined ? earlierMessages(transcript, window.conversation) : [];
  return {
    status: "planned",
    transcript,
    trigger,
    representation,
    foldedIds,
    keptIds,
    ...(keptIds[0] !== undefined && { firstKeptId: keptIds[0] }),
    splitTurn: split.turnPrefix.length > 0 ? "split" : "whole",
    ...(pendingMarker && { pendingMarkerId: pendingMarker.id }),
    ids: insertedIds(transcript, foldedIds),
    request,
    omittedMessages,
    material,
    foldMaterial: foldMaterial(read.pieces, {
      messages: split.folded.length,
      ...(previous && { previousSummary: previous.prose }),
    }),
    facts: collectFacts({
      carried: previous?.facts,
      pins,
      folded: [...earlier, ...split.folded],
      pieces: [...readMessages(earlier, cleaner).pieces, ...read.pieces],
      firstHandle: transcript.find((message) => isVisibleToModel(message) && typedText(message) !== "")?.id,
      mustHandle: mustHandle(lastRequest),
      budget,
      cleaner,
    }),
    factsBudget: budget,
    pinsInPlace: handlesInPlace(pins, split.kept),
    unknownPins: unknownHandles,
    ...(lastRequest && { lastRequest }),
    replay: isReplay(input, window.conversation) ? "replayed" : "none",
    continuation: continuationOf(input, window.conversation),
    tokensBefore,
    replacedTokens,
    toolCallCutoff: (input.settings ?? DEFAULT_COMPACTION_SETTINGS).toolCallCutoff,
    estimate,
    redaction,
  };
}

/** The message whose words the summary has to carry, if it is folded. */
export function mustHandle(lastRequest: LastRequest | undefined): MessageId | undefined {
  return lastRequest?.place === "folded" ? lastRequest.messageId : undefined;
}

/** What a context weighs by estimate alone. */
export function contextTokens(shown: Transcript, estimate: CompactionPlan["estimate"]): number {
  return estimateContextTokens(shown, { ...estimate, epochStartIndex: Number.POSITIVE_INFINITY }).tokens;
}

/** A message is weighed like the whole context: by the tokens of the model that reads it. */
function withFamily(estimate: CompactionPlan["estimate"]): CompactionPlan["estimate"] {
  const { family, model } = estimate;
  return family === undefined && model !== undefined
    ? { ...estimate, family: tokenFamilyOf(model.id) }
    : estimate;
}

/** Folding less than this can never bring the context down to nine tenths. */
const MIN_GAIN_SHARE = 0.1;
function goneIds(transcript: Transcript, stay: ReadonlySet<MessageId>): readonly MessageId[] {
  return transcript
    .filter((message) => message.role !== "system" && isVisibleToModel(message) && !stay.has(message.id))
    .map((message) => message.id);
}

/** True for what an earlier compaction or summary of ours left behind: folding that alone would only repeat it. */
function isOurs({ metadata }: Message): boolean {
  return metadata?.kind === "tool_summary" || metadata?.kind === "continue";
}

/** What an earlier compaction by somebody else left out of the window: its facts were never collected. */
function earlierMessages(transcript: Transcript, conversation: Transcript): Transcript {
  const inWindow = new Set<Message>(conversation);
  return transcript.filter(
    (message) =>
      message.role !== "system" &&
      isVisibleToModel(message) &&
      !inWindow.has(message) &&
      !isSummary(message) &&
      !isBareMarker(message),
  );
}

function lastRequestOf(conversation: Transcript, { kept }: Split): LastRequest | undefined {
  const message = conversation[lastRequestIndex(conversation)];
  if (message === undefined) return undefined;
  const place = kept.includes(message) ? "kept" : "folded";
  return { messageId: message.id, text: typedText(message), place };
}

function isReplay({ trigger }: CompactionInput, conversation: Transcript): boolean {
  return (trigger === "overflow" || trigger === "context_limit_recovery") && isUnanswered(conversation);
}

function continuationOf(input: CompactionInput, conversation: Transcript): Continuation {
  if (input.representation === "user-summary") return "not-a-pivot";
  if (input.trigger === "manual") return "manual";
  if (input.autoContinue === "never") return "off";
  if (conversation.at(-1)?.role === "user" || isUnanswered(conversation)) return "user-is-waiting";
  return isFinished(conversation) ? "finished" : "append";
}
