import { compactionBoundary, filterCompacted } from "../stages/boundary.ts";
import { cutAnyPart, cutOutput, mediaLine, withoutMedia } from "../stages/cut-part.ts";
import { PRUNE_PROTECT, prune } from "../stages/prune.ts";
import { repairPairing } from "../stages/repair.ts";
import { cutToLength, largestPassing, shrinkToFit } from "../stages/shrink.ts";
import { normalizeTypedText } from "../text/normalize.ts";
import { truncate } from "../text/truncate.ts";
import { handleOf } from "../transcript/content.ts";
import { applyEdits, type Edit, type Handle, hideMessage, runStages } from "../transcript/edit.ts";
import {
  type ContextEstimate,
  type ContextEstimateOptions,
  estimateContext,
} from "../transcript/estimate-context.ts";
import {
  createIdDeduplicator,
  isVisibleToModel,
  type Message,
  reachesModel,
  type Transcript,
} from "../transcript/message.ts";
import type { TextPart } from "../transcript/part.ts";
import { carriedShares, compactionEdits } from "./plan/edits.ts";
import { findLastRequest } from "./plan/last-request.ts";
import { planCompaction } from "./plan/plan-compaction.ts";
import { localSummary } from "./summary/local-summary.ts";
import type { Representation } from "./summary/message.ts";
import type { Pin } from "./summary/pins.ts";
import type { SecretRedaction } from "./summary/text.ts";

/**
 * The next step that makes a refused window smaller, given the steps taken before: the first retry step that was not
 * tried yet and changes anything. Steps go from pruning over one compaction by a model to the last request alone, which
 * is cut to the limit and therefore fits. Nothing is changed here: a step is a list of edits.
 */
export function planRecovery(transcript: Transcript, request: RecoveryRequest): RecoveryPlan {
  const { limitTokens, tried, estimate = {} } = request;
  const before = estimateWire(transcript, estimate);
  if (before.high <= limitTokens) return { status: "fits", estimate: before };
  const lastTried = Math.max(-1, ...tried.map((step) => RECOVERY_STEPS.indexOf(step)));
  for (const step of RECOVERY_STEPS.slice(lastTried + 1)) {
    if (step === "compact") {
      if (request.model === "not-available") continue;
      return { status: "compact" };
    }
    const edits = EDITS_OF[step](transcript, request);
    if (edits.length === 0) continue;
    const after = estimateWire(applyEdits(transcript, edits, { at: 0 }), estimate);
    if (after.tokens >= before.tokens) continue;
    return { status: "step", step, edits, estimate: after, fits: after.high <= limitTokens };
  }
  return { status: "exhausted", estimate: before };
}

/** The steps from the gentlest to the one that always fits; each is taken at most once for a request. */
export const RECOVERY_STEPS: readonly RecoveryStep[] = [
  "prune",
  "shrink-turn",
  "compact",
  "local-summary",
  "cut-oversized",
  "last-request",
];

/** A retry step. */
export type RecoveryStep = LocalRecoveryStep | "compact";

/** A retry step for which no model is needed. */
type LocalRecoveryStep = "prune" | "shrink-turn" | "local-summary" | "cut-oversized" | "last-request";

/** What the window has to come down to, and what was tried before. */
export interface RecoveryRequest {
  /** What the upper bound of the estimate has to come down to. */
  readonly limitTokens: number;
  /** The steps that were taken for this request; those below the highest are not tried again. */
  readonly tried: readonly RecoveryStep[];
  /** `not-available` leaves the model's step out. @default available */
  readonly model?: "available" | "not-available";
  /** How tokens are counted. @default characters / 4 */
  readonly estimate?: ContextEstimateOptions;
  /** The usual limit of one tool output, in characters. @default 51,200 */
  readonly outputMaxChars?: number;
  /** How a summary stands in the window, as in any other compaction of the session. @default pivot */
  readonly representation?: Representation;
  /** What must stay visible to the model. @default none */
  readonly pins?: readonly Pin[];
  /** Tool outputs that stay as they are, oldest first, while there is room for them; then the oldest go first. @default none */
  readonly keep?: readonly Handle[];
  /** How secrets are found in what goes into a summary without a model. @default on */
  readonly redaction?: SecretRedaction;
}

/** The next step of a recovery, or that none is needed or left. */
export type RecoveryPlan =
  | { readonly status: "fits"; readonly estimate: ContextEstimate }
  | {
      readonly status: "step";
      readonly step: LocalRecoveryStep;
      readonly edits: readonly Edit[];
      /** After the edits. */
      readonly estimate: ContextEstimate;
      readonly fits: boolean;
    }
  /** Now the one model call; plan again when it is done. */
  | { readonly status: "compact" }
  /** No step makes it smaller: what is sent beside the messages takes all the room. */
  | { readonly status: "exhausted"; readonly estimate: ContextEstimate };

/** The documented limit of a tool output in bytes, taken as characters. */
const RECOVERY_OUTPUT_MAX_CHARS = 51_200;

type EditsOf = (transcript: Transcript, request: RecoveryRequest) => readonly Edit[];

const EDITS_OF: Readonly<Record<LocalRecoveryStep, EditsOf>> = {
  prune: (transcript, { limitTokens }) =>
    prune(transcript, {
      protectTokens: Math.min(PRUNE_PROTECT, Math.floor(limitTokens * PROTECTED_SHARE)),
      minimumTokens: 0,
    }).edits,
  "shrink-turn": (transcript, { outputMaxChars = RECOVERY_OUTPUT_MAX_CHARS }) =>
    shrinkTurn(filterCompacted(transcript), outputMaxChars),
  "local-summary": summarizeOlder,
  "cut-oversized": cutOversized,
  "last-request": lastRequestOnly,
};

/** The documented protection is meant for large windows; in a small one it would protect everything. */
const PROTECTED_SHARE = 0.2;

/** Edits that cut the outputs since the user's last request to a quarter of the usual limit. */
export function shrinkTurn(window: Transcript, outputMaxChars: number): readonly Edit[] {
  return cutToLength(window.slice(findLastRequest(window) + 1), {
    cut: cutOutput,
    limitChars: Math.floor(outputMaxChars * SHRUNKEN_SHARE),
    stage: "recover-shrink-turn",
    reason: "recovery",
  });
}

const SHRUNKEN_SHARE = 0.25;

/**
 * Edits that summarize everything but the user's last request and the newest step behind it into a summary without a
 * model; the facts carried along are reduced until it fits, and then the outputs that should stay. Empty when there is
 * nothing to replace.
 */
export function summarizeOlder(
  transcript: Transcript,
  request: Omit<RecoveryRequest, "tried">,
): readonly Edit[] {
  const { limitTokens, estimate } = request;
  for (let { keep = [] } = request; ; keep = keep.slice(Math.ceil(keep.length / 2))) {
    const edits = summarizeAround(transcript, { ...request, keep });
    const after = applyEdits(transcript, edits, { at: 0 });
    if (keep.length === 0 || (edits.length > 0 && estimateWire(after, estimate).high <= limitTokens))
      return edits;
  }
}

function summarizeAround(transcript: Transcript, request: Omit<RecoveryRequest, "tried">): readonly Edit[] {
  const { limitTokens, estimate = {}, representation, pins, redaction, keep = [] } = request;
  const plan = planCompaction({
    transcript,
    trigger: "context_limit_recovery",
    representation: representation ?? "pivot",
    // Keeps as little as possible: the newest message, and the request it answers.
    tailTokens: 1,
    limits: { contextTokens: limitTokens, outputTokens: 0 },
    // No model is asked, so nothing has to be cut to fit a request.
    summarizer: { windowTokens: Number.MAX_SAFE_INTEGER },
    autoContinue: "never",
    keep,
    estimate: { estimator: "calibrated", ...estimate },
    ...(pins && { pins }),
    ...(redaction && { redaction }),
  });
  if (plan.status === "nothing") return [];
  const window = filterCompacted(transcript);
  const requestId = window[findLastRequest(window)]?.id;
  // A request without words, such as a lone picture, cannot be carried in a summary.
  if (requestId !== undefined && !plan.keptIds.includes(requestId)) return [];
  const maxTokens = Math.min(plan.material.maxSummaryTokens, Math.floor(limitTokens * SUMMARY_SHARE));
  const prose = localSummary(plan.localSummaryMaterial, {
    maxTokens,
    estimator: estimate.estimator ?? "calibrated",
  });
  let edits: readonly Edit[] = [];
  for (const shares of carriedShares(plan)) {
    edits = compactionEdits(plan, { prose, degraded: true, ...shares, continuation: "suppressed" });
    if (estimateWire(applyEdits(transcript, edits, { at: 0 }), estimate).high <= limitTokens) break;
  }
  return edits;
}

/** How much of the limit the summary without a model may take, not counting the facts carried along. */
const SUMMARY_SHARE = 0.2;

/** Edits that cut the longest parts to one length, head and tail, at which everything fits; empty when there is none. */
function cutOversized(transcript: Transcript, { limitTokens, estimate }: RecoveryRequest): readonly Edit[] {
  const wire = wireOf(transcript);
  const systems = wire.filter((message) => message.role === "system");
  const window = wire.filter((message) => message.role !== "system");
  const edits = shrinkToFit(window, {
    cut: cutAnyPart,
    measure: (cut) => estimateWire([...systems, ...cut], estimate).high,
    maxSize: limitTokens,
    leastChars: MIN_PART_CHARS,
    mostChars: MIN_PART_CHARS + limitTokens * MOST_CHARS_PER_TOKEN,
    stage: "recover-cut-oversized",
    reason: "recovery",
  });
  return edits ?? [];
}

/** A part cut to less than this says nothing. */
const MIN_PART_CHARS = 200;

/**
 * Edits that leave the system prompt, a notice and the user's last request, cut until the upper bound of the estimate is
 * within the limit; where the system prompt takes all the room, without it; and where nothing fits, a few lines of the
 * request alone.
 */
function lastRequestOnly(transcript: Transcript, recovery: RecoveryRequest): readonly Edit[] {
  const request = transcript[findLastRequest(transcript)];
  const systems = transcript.filter((message) => message.role === "system" && isVisibleToModel(message));
  const bare = [...hideAllBut(transcript, [request]), ...shortenRequest(request, MIN_REQUEST_CHARS)];
  return keepRequest(transcript, systems, recovery) ?? keepRequest(transcript, [], recovery) ?? bare;
}

/** Edits that leave the last request, as long as it fits beside these messages; undefined when not even its beginning does. */
function keepRequest(
  transcript: Transcript,
  beside: Transcript,
  { limitTokens, estimate }: RecoveryRequest,
): readonly Edit[] | undefined {
  const request = transcript[findLastRequest(transcript)];
  const hidden = hideAllBut(transcript, [request, ...beside]);
  const notice = noticeFor(transcript, request, hidden.length);
  const kept = [notice, ...(request ? [request] : []), ...beside];

  // Only what is kept is measured: the rest of a long transcript would be walked at every try.
  const fits = (keepChars: number): boolean => {
    const cut = applyEdits(kept, shortenRequest(request, keepChars), { at: 0 });
    return estimateWire(cut, estimate).high <= limitTokens;
  };
  const most = Math.min(requestText(request).length, limitTokens * MOST_CHARS_PER_TOKEN);
  const whole = Number.POSITIVE_INFINITY;
  const keepChars = fits(whole) ? whole : largestPassing(fits, { most });
  if (keepChars === undefined) return undefined;
  const before = transcript[request === undefined ? transcript.length - 1 : transcript.indexOf(request) - 1];
  return [
    ...hidden,
    ...shortenRequest(request, keepChars),
    { type: "insert-message", message: notice, after: before?.id ?? null, ...LAST_REQUEST },
  ];
}

function hideAllBut(transcript: Transcript, kept: readonly (Message | undefined)[]): readonly Edit[] {
  const stays = new Set(kept);
  return transcript
    .filter((message) => isVisibleToModel(message) && !stays.has(message))
    .map((message) => hideMessage(message, LAST_REQUEST));
}

/** What is left of a request where nothing fits by estimate: the provider decides about the smallest window there is. */
const MIN_REQUEST_CHARS = 200;
const LAST_REQUEST = { stage: "recover-last-request", reason: "recovery" } as const;

/** An upper bound: no long text has more. */
const MOST_CHARS_PER_TOKEN = 16;

/** All text of the request becomes one part, so that a thousand small parts cannot be too much together. */
function shortenRequest(request: Message | undefined, keepChars: number): readonly Edit[] {
  if (request === undefined) return [];
  const isPlain = request.parts.every((part) => !reachesModel(part) || part.type === "text");
  if (keepChars === Number.POSITIVE_INFINITY && isPlain) return [];
  const { text, cut } = truncate(requestText(request), { limitChars: keepChars, method: "head-tail" });
  const part: TextPart = { type: "text", text, ...(cut && { cut }) };
  const firstShown = request.parts.findIndex(reachesModel);
  return request.parts.flatMap((old, partIndex): Edit[] => {
    if (!reachesModel(old)) return [];
    const isFirst = partIndex === firstShown;
    const omitted = { chars: isFirst ? (cut?.omittedChars ?? 0) : 0, handle: handleOf(request, partIndex) };
    const where = { messageId: request.id, partIndex, ...LAST_REQUEST, omitted };
    return [
      isFirst ? { type: "replace-part", part, ...where } : { type: "hide-part", what: "part", ...where },
    ];
  });
}

function requestText(request: Message | undefined): string {
  const lines = (request?.parts ?? []).filter(reachesModel).flatMap((part) => {
    if (part.type === "text") return [part.text];
    return part.type === "file" ? [mediaLine(part)] : [];
  });
  const text = lines.join("\n");
  return normalizeTypedText(text).trim() === "" ? "(a message without text)" : text;
}

function noticeFor(transcript: Transcript, request: Message | undefined, hiddenMessages: number): Message {
  const messages = hiddenMessages === 1 ? "1 message was" : `${hiddenMessages} messages were`;
  const text = `[The conversation did not fit the model's window: ${messages} left out and the request below may be shortened. Nothing is deleted; ask for what is missing.]`;
  return {
    id: createIdDeduplicator(transcript)(`${request?.id ?? "carryover"}~notice`),
    role: "user",
    parts: [{ type: "text", text, synthetic: true }],
    metadata: { kind: "hint", userVisible: false },
  };
}

/**
 * Edits that replace media by a line each, for a request with too many bytes: those before the user's last request first,
 * or the older half when there are none; `all` takes every one. Empty when there are no media left.
 */
export function dropMedia(transcript: Transcript, which: "oldest" | "all"): readonly Edit[] {
  const window = wireOf(transcript);
  const drop = (messages: Transcript): readonly Edit[] =>
    cutToLength(messages, {
      cut: (part, _limitChars, message) => withoutMedia(part, message),
      limitChars: 0,
      stage: "recover-drop-media",
      reason: "media",
    });
  const all = drop(window);
  if (which === "all") return all;
  const older = drop(window.slice(0, Math.max(0, findLastRequest(window))));
  return older.length > 0 ? older : all.slice(0, Math.ceil(all.length / 2));
}

/** What a provider would be sent of a transcript, system messages too, with hidden parts still marked as such. */
function wireOf(transcript: Transcript): Transcript {
  const stages = [compactionBoundary({ from: "marker", system: "keep" })];
  const window = runStages(transcript, stages).transcript.filter(isVisibleToModel);
  return applyEdits(window, repairPairing(window), { at: 0 });
}

/** The size of the wire by estimate alone: a request that was refused has no usage to go by. */
function estimateWire(transcript: Transcript, options: ContextEstimateOptions = {}): ContextEstimate {
  return estimateContext(wireOf(transcript), {
    estimator: "calibrated",
    ...options,
    epochStartIndex: Number.POSITIVE_INFINITY,
  });
}
