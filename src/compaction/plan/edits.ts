import { describeFile, handleOf, isMedia } from "../../transcript/content.ts";
import { type Edit, hideMessage, hidePart, type Position } from "../../transcript/edit.ts";
import {
  isVisibleToModel,
  type Message,
  messageText,
  reachesModel,
  type Transcript,
  typedText,
} from "../../transcript/message.ts";
import type { CompactionPart, FilePart, Part } from "../../transcript/part.ts";
import { renderFacts, shownPins } from "../summary/facts.ts";
import { COMPACTION_AGENT, summaryMessage } from "../summary/message.ts";
import { handlesInPlace, pinText } from "../summary/pins.ts";
import { createTextCleaner, fenceQuote } from "../summary/text.ts";
import { compactToolResultsInRecent } from "../tool-summaries/edits.ts";
import {
  type CompactionPlan,
  isOverflowTrigger,
  type NothingToCompact,
  requiredHandle,
} from "./plan-compaction.ts";

/**
 * The edits of a compaction: the replaced messages are hidden and the summary is inserted before what stays, so that
 * the visible messages are the window, in order. The marker also names where the kept tail begins, for hosts that order
 * messages by time.
 */
export function compactionEdits(plan: CompactionPlan, result: SummaryResult): readonly Edit[] {
  const before = positionBeforeKept(plan);
  const facts = { ...plan.facts, ...(result.degraded && { degraded: true as const }) };
  const isPivot = plan.representation === "pivot";
  const markerId = isPivot ? (plan.pendingMarkerId ?? plan.ids.marker) : undefined;
  const summary = summaryMessage({
    id: plan.ids.summary,
    representation: plan.representation,
    markerId,
    prose: result.prose,
    facts,
    factsText: renderFacts(facts, {
      budget: plan.factsBudget,
      share: result.factsShare,
      wordsShare: result.wordsShare,
      ...pinsPlace(plan, result.pinsShare),
    }),
    replacedIds: plan.replacedIds,
  });
  return [
    ...hideEdits(plan),
    ...protectedEdits(plan),
    ...(isPivot ? markerEdits(plan, before) : []),
    insertMessage(summary, markerId ?? before),
    ...(isPivot ? [] : recentEdits(plan)),
    ...replayEdits(plan),
    ...(plan.continuation === "append" && result.continuation === "append" ? [continueEdit(plan)] : []),
  ];
}

/** Which pins the summary has to show, and how much of them. */
function pinsPlace({ pinsInPlace, pinsMaxChars, lastRequest }: CompactionPlan, share: number) {
  return { pinsInPlace, pinsMaxChars: pinsMaxChars * share, mustHandle: requiredHandle(lastRequest) };
}

export interface SummaryResult {
  readonly prose: string;
  readonly degraded: boolean;
  /** How much of their room files and key facts may use, from 0 to 1. */
  readonly factsShare: number;
  /** How much of their room the user's words may use, from 0 to 1. */
  readonly wordsShare: number;
  /** How much of their room the pins may use, from 0 to 1. */
  readonly pinsShare: number;
  /** `suppressed`: a hook does not want the agent to be told to go on. */
  readonly continuation: "append" | "suppressed";
}

/**
 * How much of their room facts, words and pins get, tried in this order before a compaction is given up. The user's words
 * give way only where nothing else is left to, and pins last, where they are a part of what fills the window.
 */
export function carriedShares({ facts, trigger, pinsMaxChars }: CompactionPlan): readonly CarriedShares[] {
  const isFull = trigger !== "manual" && facts.pins.length > 0 && Number.isFinite(pinsMaxChars);
  return [
    ...[1, 0.5, 0.25, 0].map((factsShare) => ({ factsShare, wordsShare: 1, pinsShare: 1 })),
    ...[0.5, 0.25, 0].map((wordsShare) => ({ factsShare: 0, wordsShare, pinsShare: 1 })),
    ...(isFull ? [0.5, 0.25, 0].map((pinsShare) => ({ factsShare: 0, wordsShare: 0, pinsShare })) : []),
  ];
}

type CarriedShares = Pick<SummaryResult, "factsShare" | "wordsShare" | "pinsShare">;

/** Tells an agent that the compaction interrupted to go on. */
export const CONTINUE_TEXT =
  "If something that the user asked for is still open, carry on with it. If nothing is open, or you are not sure what is wanted, say so and stop.";

const STAGE = "compaction";

/** The message behind which summary and marker go: the one before what stays. */
function positionBeforeKept({ transcript, firstKeptId, pendingMarkerId }: CompactionPlan): Position {
  const others = transcript.filter((message) => message.id !== pendingMarkerId);
  const index = others.findIndex((message) => message.id === firstKeptId);
  return (index === -1 ? others.at(-1) : others[index - 1])?.id ?? null;
}

function hideEdits({ transcript, replacedIds }: CompactionPlan): readonly Edit[] {
  const gone = new Set(replacedIds);
  return transcript
    .filter((message) => gone.has(message.id))
    .map((message) => hideMessage(message, { stage: STAGE, reason: "summarized" }));
}

/** Of a message that stays for an output in it the rest goes; reasoning that a provider may ask for stays with the call. */
function protectedEdits({ transcript, protectedIds, keep }: CompactionPlan): readonly Edit[] {
  const [protectedMessages, kept] = [new Set(protectedIds), new Set(keep)];
  return transcript
    .filter((message) => protectedMessages.has(message.id))
    .flatMap((message) =>
      message.parts.flatMap((part, partIndex) =>
        kept.has(handleOf(message, partIndex)) || part.type === "reasoning" || !reachesModel(part)
          ? []
          : [hidePart({ message, partIndex, part }, { stage: STAGE, reason: "summarized" })],
      ),
    );
}

function markerEdits(plan: CompactionPlan, before: Position): readonly Edit[] {
  const { pendingMarkerId, transcript, ids, firstKeptId } = plan;
  const pending = transcript.find((message) => message.id === pendingMarkerId);
  const tail = firstKeptId === undefined ? {} : { tailStartId: firstKeptId };
  if (pending === undefined) {
    const part: CompactionPart = {
      type: "compaction",
      trigger: plan.trigger === "manual" ? "manual" : "auto",
      ...(isOverflowTrigger(plan.trigger) && { overflow: true }),
      ...tail,
    };
    const marker = { id: ids.marker, role: "user", parts: [part], metadata: { kind: "compaction_marker" } };
    return [insertMessage(marker, before)];
  }
  const partIndex = pending.parts.findIndex((part) => part.type === "compaction");
  const part = { ...(pending.parts[partIndex] as CompactionPart), ...tail };
  const why = { messageId: pending.id, stage: STAGE, reason: "summarized" } as const;
  return [
    { type: "move-message", after: before, ...why },
    { type: "replace-part", partIndex, part, ...why },
  ];
}

function recentEdits({
  transcript,
  keptIds,
  toolCallCutoff,
  ids,
  facts,
  keep,
  redaction,
}: CompactionPlan): readonly Edit[] {
  const kept = new Set(keptIds);
  return compactToolResultsInRecent(
    transcript.filter((message) => kept.has(message.id)),
    toolCallCutoff,
    {
      digestAfter: ids.summary,
      digestId: ids.digest,
      keepHandles: [...keep, ...facts.pins.flatMap(({ handle }) => (handle === undefined ? [] : [handle]))],
      redaction,
    },
  );
}

/** The request that did not fit loses its media, which may be the reason. */
function replayEdits({ replay, transcript, lastRequest }: CompactionPlan): readonly Edit[] {
  const request = transcript.find((message) => message.id === lastRequest?.messageId);
  if (replay === "none" || request === undefined) return [];
  const where = { messageId: request.id, stage: STAGE, reason: "media" } as const;
  return request.parts.flatMap((part, partIndex): readonly Edit[] =>
    part.type === "file" && part.agentVisible !== false && isMedia(part)
      ? [{ type: "replace-part", partIndex, part: filePlaceholder(part), ...where }]
      : [],
  );
}

function filePlaceholder(file: FilePart): Part {
  const name = createTextCleaner().line(describeFile(file), 200);
  return { type: "text", text: `[File left out: ${name}]`, synthetic: true };
}

function continueEdit({ transcript, ids, pendingMarkerId, keptIds }: CompactionPlan): Edit {
  const last = transcript.findLast((message) => message.id !== pendingMarkerId)?.id;
  const message: Message = {
    id: ids.continuation,
    role: "user",
    parts: [{ type: "text", text: CONTINUE_TEXT, synthetic: true }],
    metadata: { kind: "continue", userVisible: false },
  };
  return insertMessage(message, keptIds.length === 0 ? ids.summary : (last ?? ids.summary));
}

function insertMessage(message: Message, after: Position): Edit {
  return { type: "insert-message", message, after, stage: STAGE, reason: "summarized" };
}

/** What the model must still see after a compaction and does not: the user's last request, or a pin. */
export function missingContent(
  plan: CompactionPlan,
  { after, pinsShare }: { readonly after: Transcript; readonly pinsShare: number },
): readonly string[] {
  const shown = after.filter(isVisibleToModel);
  const summary = shown.find((message) => message.id === plan.ids.summary);
  const summaryText = summary === undefined ? "" : messageText(summary);
  const missing: string[] = [];
  const { lastRequest } = plan;
  if (lastRequest !== undefined) {
    const { place, messageId, text } = lastRequest;
    const isThere =
      place === "kept"
        ? shown.some((message) => message.id === messageId && typedText(message) === text)
        : summaryText.includes(fenceQuote(createTextCleaner(plan.redaction).typed(text)));
    if (!isThere) missing.push("the user's last request");
  }
  const inPlace = new Set(handlesInPlace(plan.facts.pins, shown));
  const left = plan.facts.pins.filter(({ handle = "" }) => plan.pinsInPlace.includes(handle));
  for (const pin of left)
    if (!inPlace.has(pin.handle ?? "") && !summaryText.includes(pinText(pin))) missing.push("a pin");
  const keep = plan.keep.map((handle) => ({ handle, text: "" }));
  if (handlesInPlace(keep, shown).length < keep.length) missing.push("a kept output");
  for (const text of shownPins(plan.facts, pinsPlace(plan, pinsShare)))
    if (!summaryText.includes(text)) missing.push("a pin");
  return missing;
}

/**
 * Takes back the marker that asked for a compaction which did not happen, and records a failure as a failed summary. After
 * an abort, or while another compaction runs, everything stays as it was.
 */
export function cancelEdits(
  plan: CompactionPlan | NothingToCompact,
  { reason, detail = reason }: { readonly reason: string; readonly detail?: string },
): readonly Edit[] {
  const { pendingMarkerId } = plan;
  if (pendingMarkerId === undefined || reason === "aborted" || reason === "already-running") return [];
  const why = { stage: STAGE, reason } as const;
  const hidden: Edit = { type: "hide-message", messageId: pendingMarkerId, ...why };
  if (plan.status === "nothing" || reason === "vetoed") return [hidden];
  const record: Message = {
    id: plan.ids.summary,
    role: "assistant",
    parts: [],
    summary: true,
    agent: COMPACTION_AGENT,
    finish: "error",
    error: { name: reason, text: detail },
    parentId: pendingMarkerId,
    metadata: { kind: "compaction_summary", agentVisible: false },
  };
  return [hidden, { type: "insert-message", message: record, after: pendingMarkerId, ...why }];
}
