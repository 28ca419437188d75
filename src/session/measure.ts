import { detectSilentOverflow } from "../compaction/trigger/detect-silent-overflow.ts";
import { stepToCheck } from "../compaction/trigger/overflow.ts";
import { tokenFamilyOf } from "../models/token-family.ts";
import type { TokenEstimator } from "../text/tokens/estimate-tokens.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import { hasOnlyStub, outcomeText } from "../transcript/content.ts";
import {
  type ContextEstimate,
  type ContextEstimateOptions,
  type ContextSums,
  carriesUsage,
  clearedAtOf,
  estimateBehind,
  fixedTokens,
  isOtherModel,
  observeUsage,
  sumContext,
} from "../transcript/estimate-context.ts";
import { calibrate, startCalibration, type TokenCalibration } from "../transcript/estimate-message.ts";
import {
  isVisibleToModel,
  type Message,
  type MessageId,
  type ModelRef,
  type Transcript,
} from "../transcript/message.ts";
import {
  AGREEING_USAGES,
  type CountedPrompt,
  countedTokens,
  isPartOfPrompt,
  judgeUsage,
  smallnessOf,
  startOfModel,
  type UsageJudgement,
} from "./believe-usage.ts";
import { type ContextWindow, isFinishedAnswer } from "./window.ts";

/**
 * How full the window is: the one measure that every decision and every report reads. It is computed from the window, from
 * what was learned so far, and from what is known of the model; nothing else counts, and no clock.
 */
export function measureOf(window: MeasuredWindow, state: MeasureState, facts: MeasureFacts): WindowMeasure {
  const known = measures.get(window);
  if (known !== undefined && known.state === state && isSame(known.facts, facts)) return known.measure;
  const measure = computeMeasure(window, state, facts);
  measures.set(window, { state, facts, measure });
  return measure;
}

const measures = new WeakMap<MeasuredWindow, MeasuredBefore>();

interface MeasuredBefore {
  readonly state: MeasureState;
  readonly facts: MeasureFacts;
  readonly measure: WindowMeasure;
}

/** What is measured of a window. */
export type MeasuredWindow = Pick<ContextWindow, "marked" | "compactedCount">;

/** What a session has learned for measuring its window: plain data, stored with it. */
export interface MeasureState extends PromptOverhead {
  /** Counts the changes of the window. */
  readonly epoch: number;
  /** How many messages there were when the window last changed: their usage describes a window that is gone. */
  readonly epochStart: number;
  /** What the usage of earlier epochs has taught, one of each model. */
  readonly calibrations: readonly TokenCalibration[];
  /** The one that is applied. It changes with the epoch only, so that in one epoch estimates can be compared. */
  readonly scale?: TokenCalibration;
  /** The least that usage counted beyond the messages; `isConfirmed`: by prompts that have grown as their messages have. */
  readonly outside?: { readonly model: string; readonly tokens: number; readonly isConfirmed: boolean };
  /**
   * The model whose newest usage of the last epoch was too small: the next ones have to agree with each other first.
   * `partial`: it was of a part of the prompt only. `cut`: a server may have cut the prompt.
   */
  readonly doubted?: { readonly model: string; readonly as: "partial" | "cut" };
  /** Answers of this epoch to a request that was sent before it began. */
  readonly distrusted: readonly MessageId[];
}

/** Nothing was learned yet. */
export const FRESH_MEASURE: MeasureState = { epoch: 0, epochStart: 0, calibrations: [], distrusted: [] };

/** Characters of the system prompt and of the tool definitions, where they are no messages. */
export interface PromptOverhead {
  /** Characters of the system prompt. @default 0 */
  readonly systemChars?: number;
  /** Characters of the tool definitions. @default 0 */
  readonly toolsChars?: number;
}

/** What is known of the model that is asked next. */
export interface MeasureFacts {
  readonly estimator: TokenEstimator;
  readonly model: ModelRef | undefined;
  /** 0 when unknown. */
  readonly contextWindowTokens: number;
}

/** How full the window is, where that comes from, and how sure it is. */
export interface WindowMeasure extends ContextEstimate {
  /** The same without any usage: for comparing a window with what it would become. */
  readonly uncounted: ContextEstimate;
  /** The part of it that no compaction can take away: system prompt and tools. */
  readonly overheadTokens: number;
  /** Characters of the tool outputs in the window that were neither cleared nor archived. */
  readonly outputChars: number;
  /** Where the first message of the window stands that has such an output; behind the last one when none has. */
  readonly firstOutputIndex: number;
  /** The newest finished step, if its usage describes the window as it is now and is believed. */
  readonly newestStep: Message | undefined;
  /** Whether the newest answer shows that the window was exceeded, though it came without an error. */
  readonly silent: SilentOverflow;
  /** Why the newest usage is not believed, where that matters. */
  readonly doubts?: UsageDoubt;
}

interface SilentOverflow extends ReturnType<typeof detectSilentOverflow> {
  /** The answer. */
  readonly messageId: MessageId | undefined;
}

/** A usage that cannot be true, and what is estimated instead. */
export interface UsageDoubt {
  readonly messageId: MessageId;
  /**
   * `no-input`: it says nothing of the prompt. `too-little`, `too-much`: the prompt is not that small, or large.
   * `truncated`: a server cut it. `other-model`: it was counted by a model that was not asked.
   */
  readonly reason: "no-input" | "too-little" | "too-much" | "truncated" | "other-model";
  /** The prompt as the provider counted it; undefined when it reports nothing that is a number of tokens. */
  readonly countedTokens: number | undefined;
  /** The same by estimate. */
  readonly estimatedTokens: number;
}

function computeMeasure(window: MeasuredWindow, state: MeasureState, facts: MeasureFacts): WindowMeasure {
  const { marked } = window;
  const options = estimateOptionsOf(state, facts);
  const judgedAlone = judge(window, state, facts);
  const isSameEstimate = options.estimator === "calibrated" && options.calibration === undefined;
  const sums = isSameEstimate ? judgedAlone.familySums : sumContext(marked, options);
  const asJudged = { marked, sums, options, state, facts, judged: judgedAlone };
  const { silent, doubt } = readNewestAnswer(asJudged);
  const measuring = { ...asJudged, judged: without(asJudged.judged, doubt) };
  const step = stepToCheck(marked);
  const isBelieved = step !== undefined && measuring.judged.believed.includes(marked.lastIndexOf(step));
  return {
    ...believedEstimate(measuring),
    uncounted: estimateFrom(measuring, -1),
    overheadTokens: (sums[marked.length]?.systemTokens ?? 0) + fixedTokens(options),
    ...outputsOf(marked),
    newestStep: isBelieved ? step : undefined,
    silent,
    ...(doubt !== undefined && isWorthTelling(doubt, measuring) && { doubts: doubt }),
  };
}

interface Measuring {
  readonly marked: Transcript;
  readonly sums: readonly ContextSums[];
  readonly options: ContextEstimateOptions;
  readonly judged: Judged;
  readonly state: MeasureState;
  readonly facts: MeasureFacts;
}

interface Judged extends UsageJudgement {
  /** What the messages are estimated at by which usage is judged, by how many messages they are. */
  readonly familySums: readonly ContextSums[];
}

/** The newest judgement of each window: it is measured by it, and at its end learned from. */
const judgements = new WeakMap<
  MeasuredWindow,
  Omit<MeasuredBefore, "measure"> & { readonly judged: Judged }
>();

function judge(window: MeasuredWindow, state: MeasureState, facts: MeasureFacts): Judged {
  const known = judgements.get(window);
  if (known !== undefined && known.state === state && isSame(known.facts, facts)) return known.judged;
  const judged = judgeAnew(window, state, facts);
  judgements.set(window, { state, facts, judged });
  return judged;
}

function judgeAnew(
  { marked, compactedCount }: MeasuredWindow,
  state: MeasureState,
  facts: MeasureFacts,
): Judged {
  const { model, contextWindowTokens } = facts;
  const { outside, distrusted } = state;
  const family = tokenFamilyOf(model);
  const options = { estimator: "calibrated", family } as const;
  // Always the same scale: learning from usage must not change which usage is believed.
  const familySums = sumContext(marked, options);
  const judgement = judgeUsage(marked, {
    start: Math.max(state.epochStart, compactedCount, startOfModel(marked, model)),
    family,
    sums: familySums,
    fixedTokens: fixedTokens({ ...options, ...overheadOf(state) }),
    isAllFixed: state.systemChars !== undefined && state.toolsChars !== undefined,
    before: doubtedAs(state, model) === undefined ? "whole" : "partial",
    contextWindowTokens,
    distrusted: new Set(distrusted),
    ...(outside !== undefined && outside.model === model?.id && { outsideTokens: outside.tokens }),
  });
  return { ...judgement, familySums };
}

/** The same where the newest usage is doubted for more than its size. */
function without(judged: Judged, doubt: UsageDoubt | undefined): Judged {
  const { newest, believed } = judged;
  if (doubt === undefined || newest === undefined || believed.at(-1) !== newest.index) return judged;
  return { ...judged, believed: believed.slice(0, -1), newest: { ...newest, answer: "too-little" } };
}

/** By the newest usage; where that is not believed, by the last that was, or by estimate alone. */
function believedEstimate(measuring: Measuring): ContextEstimate {
  const { judged } = measuring;
  const newest = judged.believed.at(-1);
  const isNewestBelieved = judged.newest === undefined || judged.newest.index === newest;
  const ofNewest = estimateFrom(measuring, newest);
  if (isNewestBelieved || judged.newest?.answer === "gone") return ofNewest;
  const uncounted = estimateFrom(measuring, -1);
  // A first usage that no other one agrees with may be as wrong as the one that is doubted.
  const isAlone = judged.newest?.answer === "too-much" && !judged.isConfirmed;
  if (newest !== undefined && !isAlone) {
    // What came before a doubted usage may be too small already.
    const ofOrigin = estimateFrom(measuring, judged.origin?.index);
    return ofOrigin.tokens > ofNewest.tokens ? ofOrigin : ofNewest;
  }
  const { state, facts, options } = measuring;
  const { outside } = state;
  const isKnown = outside?.isConfirmed === true && outside.model === facts.model?.id;
  return plus(uncounted, isKnown ? Math.max(0, outside.tokens - fixedTokens(options)) : 0);
}

function plus(estimate: ContextEstimate, tokens: number): ContextEstimate {
  return {
    ...estimate,
    tokens: estimate.tokens + tokens,
    low: estimate.low + tokens,
    high: estimate.high + tokens,
    trailingTokens: estimate.trailingTokens + tokens,
  };
}

/** The estimate of the first messages of a window, by the usage of one of them. */
function estimateFrom({ marked, sums, options }: Measuring, usageIndex = -1): ContextEstimate {
  const usageTokens = countedTokens(marked[usageIndex]?.usage);
  return estimateBehind({ transcript: marked, sums, usageIndex, usageTokens }, options);
}

/** What the newest answer says of the window, if it answers a request of this epoch. */
function readNewestAnswer(measuring: Measuring): {
  readonly silent: SilentOverflow;
  readonly doubt: UsageDoubt | undefined;
} {
  const { marked, state, facts } = measuring;
  const index = marked.findLastIndex(isFinishedAnswer);
  const answer = marked[index];
  if (answer === undefined || index < state.epochStart || state.distrusted.includes(answer.id))
    return { silent: { isOverflow: false, reason: "fits", messageId: answer?.id }, doubt: undefined };
  const sent = sentEstimate(measuring, index);
  const prompt = promptAt(measuring, index);
  const found = detectSilentOverflow({
    ...(prompt?.countedTokens !== undefined && {
      usage: { inputTokens: prompt.countedTokens, outputTokens: answer.usage?.outputTokens },
    }),
    ...(answer.finish !== undefined && { stopReason: answer.finish }),
    contextWindowTokens: facts.contextWindowTokens,
    sentEstimateTokens: sent.low,
  });
  const reason = whyDoubted(measuring, index, found.reason);
  const isOverflow =
    found.isOverflow && (reason === undefined || reason === "truncated" || found.reason === "stop-reason");
  const others = reason === "too-much" ? "usage-anomaly" : "fits";
  return {
    silent: {
      isOverflow,
      reason: isOverflow || reason === undefined ? found.reason : others,
      messageId: answer.id,
    },
    doubt: reason && {
      messageId: answer.id,
      reason,
      countedTokens: prompt?.countedTokens,
      estimatedTokens: sent.tokens,
    },
  };
}

function whyDoubted(
  measuring: Measuring,
  index: number,
  found: SilentOverflow["reason"],
): UsageDoubt["reason"] | undefined {
  const { marked, judged, state, facts } = measuring;
  const answer = marked[index];
  if (answer?.usage !== undefined && isOtherModel(facts.model, answer.model)) return "other-model";
  if (judged.newest?.index !== index || judged.newest.answer === "gone") return undefined;
  const { prompt, answer: verdict } = judged.newest;
  if (found === "truncated-prompt") {
    if (doubtedAs(state, facts.model) === "partial") return "too-little";
    const lastIndex = marked.slice(0, index).findLastIndex(isFinishedAnswer);
    const [answered, sent] = [lastIndex, index].map((count) => judged.familySums[count]?.tokens ?? 0);
    const newTokens = lastIndex === -1 ? undefined : (sent ?? 0) - (answered ?? 0);
    return isPartOfPrompt(prompt, { ...judged, newTokens }) ? "too-little" : "truncated";
  }
  if (verdict === "unsure") return undefined;
  if (verdict !== "fits") return verdict;
  return found === "usage-anomaly" ? "too-much" : undefined;
}

/** The newest prompt, if it is that of this answer. */
function promptAt({ judged: { newest } }: Measuring, index: number): CountedPrompt | undefined {
  return newest?.index === index && newest.answer !== "gone" ? newest.prompt : undefined;
}

/** What the request was estimated at that an answer is to. */
function sentEstimate({ marked, sums, options, judged }: Measuring, index: number): ContextEstimate {
  const usageIndex = judged.believed.findLast((believed) => believed < index) ?? -1;
  const usageTokens = countedTokens(marked[usageIndex]?.usage);
  return estimateBehind({ transcript: marked.slice(0, index), sums, usageIndex, usageTokens }, options);
}

/** A few tokens more or less change nothing; a prompt that is smaller once may have been emptied by its host. */
function isWorthTelling(
  { countedTokens: counted = 0, estimatedTokens, reason }: UsageDoubt,
  { judged, state, facts: { contextWindowTokens, model } }: Measuring,
): boolean {
  const isSmall = reason === "too-little" || reason === "truncated";
  const isNew = (judged.newest?.doubtedCount ?? 0) < AGREEING_USAGES && doubtedAs(state, model) === undefined;
  if (isSmall && isNew) return false;
  const wrongTokens = reason === "other-model" ? estimatedTokens : Math.abs(counted - estimatedTokens);
  return wrongTokens >= Math.max(LEAST_WRONG_TOKENS, contextWindowTokens * LEAST_WRONG_SHARE);
}

const LEAST_WRONG_TOKENS = 1_000;
const LEAST_WRONG_SHARE = 0.05;

/** What a person is told about a usage that is not believed. */
export function doubtText({ countedTokens: counted, estimatedTokens, reason }: UsageDoubt): string {
  const request = `a request of about ${estimatedTokens} tokens`;
  const reported =
    counted === undefined
      ? `The provider reports no number of input tokens for ${request}`
      : `The provider reports ${counted} input tokens for ${request}`;
  return `${reported}: ${WHY[reason]}. The estimate is used instead.`;
}

const WHY: Readonly<Record<UsageDoubt["reason"], string>> = {
  "no-input": "nothing can be told from that",
  "too-little": "it may leave out what was cached or sent before",
  "too-much": "it may be the sum of several requests",
  truncated: "the server may have cut the prompt to a smaller window than is known",
  "other-model": "it was counted by another model than the one that is asked",
};

function outputsOf(marked: Transcript): Pick<WindowMeasure, "outputChars" | "firstOutputIndex"> {
  let outputChars = 0;
  let firstOutputIndex = marked.length;
  for (const [index, message] of marked.entries()) {
    const chars = outputCharsOf(message);
    if (chars > 0) firstOutputIndex = Math.min(firstOutputIndex, index);
    outputChars += chars;
  }
  return { outputChars, firstOutputIndex };
}

/** Messages never change, so each is read once. */
const outputSizes = new WeakMap<Message, number>();

function outputCharsOf(message: Message): number {
  const known = outputSizes.get(message);
  if (known !== undefined) return known;
  let chars = 0;
  for (const part of message.parts)
    if (part.type === "tool" && part.clearedAt === undefined && !hasOnlyStub(part))
      chars += outcomeText(part.outcome).length;
  outputSizes.set(message, chars);
  return chars;
}

function isSame(one: MeasureFacts, other: MeasureFacts): boolean {
  return (
    one.estimator === other.estimator &&
    one.contextWindowTokens === other.contextWindowTokens &&
    one.model?.id === other.model?.id &&
    one.model?.provider === other.model?.provider
  );
}

/** How an estimate is made by what was learned. */
export function estimateOptionsOf(
  state: MeasureState,
  { estimator, model }: MeasureFacts,
): ContextEstimateOptions {
  const { scale } = state;
  return {
    estimator,
    family: tokenFamilyOf(model),
    ...overheadOf(state),
    // It is the scale of the calibrated estimate: no other one becomes better by it.
    ...(estimator === "calibrated" &&
      scale !== undefined &&
      scale.model === model?.id && { calibration: scale }),
    ...omitUndefined({ model }),
  };
}

function overheadOf({ systemChars, toolsChars }: PromptOverhead): PromptOverhead {
  return omitUndefined({ systemChars, toolsChars });
}

/** The state when the window has changed: what the usage of the old one taught holds from now on. */
export function beginEpoch(
  state: MeasureState,
  { ended, begun }: ChangedWindow,
  facts: MeasureFacts,
): MeasureState {
  const learned = learnFrom(state, ended, facts);
  return scaledFor(
    { ...learned, epoch: state.epoch + 1, epochStart: begun.marked.length, distrusted: [] },
    facts.model,
  );
}

/**
 * Where the messages begin whose usage is of this window, by the times that their owner gave them: for messages that were
 * there before the session. Later, an epoch begins with each change.
 */
export function startByTimes(marked: Transcript): number {
  let changedAt = Number.NEGATIVE_INFINITY;
  let start = 0;
  for (const [index, message] of marked.entries()) {
    const { createdAt = Number.POSITIVE_INFINITY, summary } = message;
    if (carriesUsage(message) && createdAt < changedAt) start = index + 1;
    if (summary === true) changedAt = Math.max(changedAt, message.createdAt ?? changedAt);
    if (isVisibleToModel(message)) changedAt = Math.max(changedAt, clearedAtOf(message));
  }
  return start;
}

/** The window before a change, and behind it. */
export interface ChangedWindow {
  readonly ended: MeasuredWindow;
  readonly begun: Pick<MeasuredWindow, "marked">;
}

/** The state with what the usage of an epoch teaches. It is for the end of the epoch: learning twice counts twice. */
function learnFrom(state: MeasureState, window: MeasuredWindow, facts: MeasureFacts): MeasureState {
  const { believed, outsideTokens, isConfirmed, newest } = judge(window, state, facts);
  let { calibrations } = state;
  for (const [place, end] of believed.entries()) {
    const span = window.marked.slice(believed[place - 1] ?? end, end + 1);
    const seen = observeUsage(span, { epoch: state.epoch, ...(facts.model && { asked: facts.model }) });
    if (seen === undefined) continue;
    const others = calibrations.filter(({ model }) => model !== seen.model);
    const before =
      calibrationOf(calibrations, seen) ?? startCalibration(seen.model, tokenFamilyOf({ id: seen.model }));
    const after = calibrate(before, seen);
    if (after !== before) calibrations = [...others, after];
  }
  const model = facts.model?.id;
  const { doubted: before, ...others } = state;
  const wasConfirmed = state.outside?.model === model && state.outside?.isConfirmed === true;
  const as = newest === undefined || newest.answer === "gone" ? before?.as : smallnessOf(newest, before?.as);
  return {
    ...others,
    calibrations,
    ...(model !== undefined && as !== undefined && { doubted: { model, as } }),
    ...(model !== undefined &&
      outsideTokens !== undefined && {
        outside: { model, tokens: outsideTokens, isConfirmed: isConfirmed || wasConfirmed },
      }),
  };
}

function doubtedAs({ doubted }: MeasureState, model: ModelRef | undefined): "partial" | "cut" | undefined {
  return doubted !== undefined && doubted.model === model?.id ? doubted.as : undefined;
}

function calibrationOf(
  calibrations: readonly TokenCalibration[],
  { model: asked }: Pick<TokenCalibration, "model">,
): TokenCalibration | undefined {
  return calibrations.find(({ model }) => model === asked);
}

/** The state for a model: what was learned of it is applied from now on. */
export function scaledFor(state: MeasureState, model: ModelRef | undefined): MeasureState {
  const { scale: before, ...others } = state;
  const scale = model && calibrationOf(state.calibrations, { model: model.id });
  return scale === before ? state : { ...others, ...omitUndefined({ scale }) };
}

/** The state with the overhead as it is now; the same one where that changes nothing. */
export function withOverhead(state: MeasureState, given: PromptOverhead): MeasureState {
  const known = (chars = -1) => (Number.isFinite(chars) && chars >= 0 ? chars : undefined);
  const { systemChars: _, toolsChars: __, ...others } = state;
  const overhead = omitUndefined({
    systemChars: known(given.systemChars),
    toolsChars: known(given.toolsChars),
  });
  const isSameOverhead =
    overhead.systemChars === state.systemChars && overhead.toolsChars === state.toolsChars;
  return isSameOverhead ? state : { ...others, ...overhead };
}

/** The state that ignores the usage of an answer, since it is of a window that is gone. */
export function withoutUsageOf(state: MeasureState, id: MessageId): MeasureState {
  return { ...state, distrusted: [...state.distrusted, id] };
}
