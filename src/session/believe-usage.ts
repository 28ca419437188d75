import type { TokenFamily } from "../text/tokens/estimate-tokens.ts";
import { type ContextSums, carriesUsage, isOtherModel } from "../transcript/estimate-context.ts";
import { messageSizes, messageTokens } from "../transcript/estimate-message.ts";
import {
  isVisibleToModel,
  type Message,
  type ModelRef,
  type Transcript,
  type Usage,
} from "../transcript/message.ts";

/**
 * Which usage of a window is believed. A prompt is what stands outside the messages, which is the same at each request, and
 * the messages. So a usage can be true where it is not far from the estimate of the messages, and has grown since the usage
 * before it by what came in. What providers get wrong does neither: they report nothing, only what was not cached, only
 * what is new, the sum of several requests, or what a server left of a prompt that it cut.
 */
export function judgeUsage(marked: Transcript, facts: JudgedWindow): UsageJudgement {
  const believed: number[] = [];
  let origin: CountedPrompt | undefined;
  /** The newest one that has grown as its messages have. */
  let steady: CountedPrompt | undefined;
  let isConfirmed = false;
  let largestTokens = 0;
  /** Usages in a row that are doubted and agree with each other. */
  let others: readonly CountedPrompt[] = [];
  let verdict: Verdict | undefined;
  let doubtedCount = 0;
  let hiddenTokens = 0;
  let mediaCount = 0;
  let { outsideTokens, before } = facts;
  for (const [index, message] of marked.entries()) {
    const { usage, media } = readMessage(message);
    if (usage !== undefined && index >= facts.start) {
      const estimatedTokens = sumAt(facts.sums, index);
      const prompt = { index, countedTokens: usage.promptTokens, estimatedTokens, hiddenTokens, mediaCount };
      const answer = facts.distrusted.has(message.id) ? "gone" : judge(prompt);
      doubtedCount = answer === "fits" ? 0 : doubtedCount + 1;
      verdict = { index, prompt, answer, doubtedCount };
      // A sum of several requests tells the most that it may be.
      if (verdict.answer === "too-much") noteOutside(prompt);
      if (verdict.answer === "fits") {
        others = [];
        believe(prompt);
      } else if (verdict.answer !== "gone") {
        const last = others.at(-1);
        const mayBeTrue = verdict.answer !== "no-input" && isPossible(prompt, facts) === "fits";
        const agrees = last !== undefined && isSteady(last, prompt);
        others = !mayBeTrue ? [] : agrees ? [...others, prompt] : [prompt];
        // What now agrees three times is true: what stands outside the messages may have changed.
        if (others.length >= AGREEING_USAGES) {
          origin = undefined;
          steady = undefined;
          outsideTokens = undefined;
          before = "whole";
          others = [];
          doubtedCount = 0;
          verdict = { ...verdict, answer: "fits", doubtedCount };
          believe(prompt);
        }
      }
    }
    if (usage !== undefined)
      hiddenTokens += Math.max(
        0,
        usage.outputTokens - messageTokens(message, { estimator: "calibrated", family: facts.family }),
      );
    mediaCount += media;
  }

  function believe(prompt: CountedPrompt): void {
    origin ??= prompt;
    const isGrown = steady !== undefined && isSteady(steady, prompt);
    if (isGrown) isConfirmed = true;
    // Where it has not, the next one is still compared with what came before: a little each time would add up.
    if (isGrown || steady === undefined) steady = prompt;
    largestTokens = Math.max(largestTokens, prompt.countedTokens ?? 0);
    believed.push(prompt.index);
    noteOutside(prompt);
  }

  function noteOutside({ countedTokens = 0, estimatedTokens, mediaCount: media }: CountedPrompt): void {
    if (media > 0) return;
    const tokens = Math.max(0, countedTokens - estimatedTokens);
    outsideTokens = Math.min(outsideTokens ?? tokens, tokens);
  }

  function judge(prompt: CountedPrompt): Answer {
    if (prompt.countedTokens === undefined) return "no-input";
    if (origin === undefined || steady === undefined) {
      const possible = isPossible(prompt, facts, "as-before");
      return possible === "fits" && before === "partial" ? "unsure" : possible;
    }
    const possible = isPossible(prompt, facts);
    if (possible !== "fits") return possible;
    if (prompt.countedTokens < leastTokens(origin, prompt)) return "too-little";
    const droppedTokens = steady.hiddenTokens - origin.hiddenTokens;
    if (prompt.countedTokens < leastTokens(steady, prompt) - droppedTokens) return "too-little";
    return prompt.countedTokens > mostTokens(steady, prompt) ? "too-much" : "fits";
  }

  return {
    believed,
    isConfirmed,
    origin,
    largestTokens,
    newest: verdict,
    ...(outsideTokens !== undefined && { outsideTokens }),
  };
}

/** What the usage of a window is judged by. */
export interface JudgedWindow {
  /** Where the messages begin whose usage is of this window. */
  readonly start: number;
  readonly family: TokenFamily;
  /** Sums of the calibrated estimate with the scale of the family, by how many messages they are of. */
  readonly sums: readonly ContextSums[];
  /** The estimate of the system prompt and the tools that are known of. */
  readonly fixedTokens: number;
  /** True when nothing else is sent beside the messages. */
  readonly isAllFixed: boolean;
  /** What earlier usage counted outside the messages, where that is known. */
  readonly outsideTokens?: number;
  /** Whether the usage of the window before was only of a part of its prompt. */
  readonly before: "whole" | "partial";
  /** 0 when unknown. */
  readonly contextWindowTokens: number;
  /** Messages whose usage is not of this window. */
  readonly distrusted: ReadonlySet<string>;
}

export interface UsageJudgement {
  /** Where the messages stand whose usage is believed, oldest first. */
  readonly believed: readonly number[];
  /** True when prompts have grown as their messages have. */
  readonly isConfirmed: boolean;
  /** The usage that later ones are compared with. */
  readonly origin: CountedPrompt | undefined;
  /** The largest prompt that was believed. */
  readonly largestTokens: number;
  /** The least that was counted beyond the messages: what stands outside of them cannot be more. */
  readonly outsideTokens?: number;
  /** What is thought of the newest usage; undefined when there is none. */
  readonly newest: Verdict | undefined;
}

interface Verdict {
  readonly index: number;
  readonly prompt: CountedPrompt;
  readonly answer: Answer;
  /** How many usages in a row were doubted, this one too. */
  readonly doubtedCount: number;
}

/** `gone`: of a window that was edited before the answer came. `unsure`: it may be true, but those before it were not. */
type Answer = "fits" | "gone" | "unsure" | "no-input" | "too-little" | "too-much";

/** The prompt of one request, as the provider counted it and as it is estimated. */
export interface CountedPrompt {
  /** Where the answer stands. */
  readonly index: number;
  /** Undefined where the usage says nothing of it. */
  readonly countedTokens: number | undefined;
  /** Of its messages. */
  readonly estimatedTokens: number;
  /** What was answered until then beyond what can be seen of it: thoughts that may be sent again. */
  readonly hiddenTokens: number;
  /** Images and files, which may take far more or less than they are estimated at. */
  readonly mediaCount: number;
}

/** Whether a prompt can be so large by what is estimated of it; `as-before` takes what is outside the messages for known. */
function isPossible(
  { countedTokens = 0, estimatedTokens, hiddenTokens, mediaCount }: CountedPrompt,
  { fixedTokens, isAllFixed, outsideTokens, contextWindowTokens }: JudgedWindow,
  outside: "as-before" | "any" = "any",
): "fits" | "too-little" | "too-much" {
  const knownTokens = isAllFixed ? fixedTokens : outside === "as-before" ? outsideTokens : undefined;
  const textTokens = Math.max(0, estimatedTokens - mediaCount * MEDIA_TOKENS);
  const least = (textTokens + fixedTokens) * LOW + Math.max(0, (knownTokens ?? 0) - fixedTokens) * LOW;
  if (countedTokens < least - slackOf(countedTokens)) return "too-little";
  if (mediaCount > 0) return "fits";
  // Unless it is known, what is outside may be as much as the window takes.
  const windowTokens = contextWindowTokens || Number.POSITIVE_INFINITY;
  const outsideMost = knownTokens === undefined ? windowTokens : Math.max(knownTokens, fixedTokens) * HIGH;
  const most = estimatedTokens * HIGH + hiddenTokens + outsideMost;
  return countedTokens > most + slackOf(countedTokens) ? "too-much" : "fits";
}

/** The least that a prompt can have become since an earlier one. */
function leastTokens(before: CountedPrompt, now: CountedPrompt): number {
  const media = Math.max(0, now.mediaCount - before.mediaCount) * MEDIA_TOKENS;
  const grown = now.estimatedTokens - before.estimatedTokens - media;
  const least = (before.countedTokens ?? 0) + grown * (grown > 0 ? LOW : HIGH);
  return least - slackOf(before.countedTokens ?? 0);
}

/** The most that it can have become. */
function mostTokens(before: CountedPrompt, now: CountedPrompt): number {
  if (now.mediaCount > before.mediaCount) return Number.POSITIVE_INFINITY;
  const grown = Math.max(0, now.estimatedTokens - before.estimatedTokens);
  const hidden = now.hiddenTokens - before.hiddenTokens;
  return (before.countedTokens ?? 0) + grown * HIGH + hidden + slackOf(before.countedTokens ?? 0);
}

/** True when a prompt has grown since an earlier one as its messages have. */
function isSteady(before: CountedPrompt, now: CountedPrompt): boolean {
  const grown = now.estimatedTokens - before.estimatedTokens;
  const counted = (now.countedTokens ?? 0) - (before.countedTokens ?? 0);
  return (
    grown >= STEADY_TOKENS &&
    counted >= grown * LOW &&
    counted <= grown * HIGH + now.hiddenTokens - before.hiddenTokens
  );
}

/**
 * True when a count that is too small to be of the whole prompt is not of a prompt that was cut either: it is of what came
 * in since the last answer, or of less than the server took before.
 */
export function isPartOfPrompt({ countedTokens = 0 }: CountedPrompt, known: EarlierPrompts): boolean {
  if (countedTokens < known.largestTokens * LOW) return true;
  return known.newTokens !== undefined && countedTokens <= known.newTokens * HIGH + CACHE_STEP_TOKENS;
}

/** How the newest usage is too small; undefined where it is not. */
export function smallnessOf(
  { answer, prompt }: Verdict,
  before: "partial" | "cut" | undefined,
): "partial" | "cut" | undefined {
  if (answer === "unsure") return before;
  if (answer === "no-input") return "partial";
  if (answer !== "too-little") return undefined;
  return (prompt.countedTokens ?? 0) < prompt.estimatedTokens * LOW ? "partial" : "cut";
}

interface EarlierPrompts {
  /** The largest that was believed. */
  readonly largestTokens: number;
  /** The estimate of what has come since the last answer was asked for; undefined for the first one. */
  readonly newTokens: number | undefined;
}

/**
 * How many tokens of a model there may be for one of the estimate: of recorded sessions .73 to 1.78. Below it there is room
 * for servers that count characters, which is .29 of the estimate where text is all digits.
 */
const LOW = 0.28;
const HIGH = 1.8;
/** Hosts add a reminder here and leave one out there. */
const SLACK_TOKENS = 500;
const SLACK_SHARE = 0.03;
export const AGREEING_USAGES = 3;
const STEADY_TOKENS = 100;
/** The larger steps in which caches keep a prompt. */
const CACHE_STEP_TOKENS = 2_048;
const MEDIA_TOKENS = 1_200;

function slackOf(tokens: number): number {
  return Math.max(SLACK_TOKENS, tokens * SLACK_SHARE);
}

function sumAt(sums: readonly ContextSums[], count: number): number {
  const { tokens = 0, leftOutTokens = 0 } = sums[count] ?? {};
  return tokens - leftOutTokens;
}

/** The tokens of a prompt by its usage; undefined where that says nothing which can be true. */
function countedPromptTokens(usage: Usage | undefined): number | undefined {
  if (usage === undefined) return undefined;
  const prompt = known(usage.inputTokens) + known(usage.cacheReadTokens) + known(usage.cacheWriteTokens);
  const fromTotal = known(usage.totalTokens) - known(usage.outputTokens);
  return prompt > 0 ? prompt : fromTotal > 0 ? fromTotal : undefined;
}

/** The size of the window behind an answer by its usage: prompt and answer, or the provider's total where it adds up to that. */
export function countedTokens(usage: Usage | undefined): number {
  const prompt = countedPromptTokens(usage) ?? 0;
  if (usage === undefined || prompt === 0) return 0;
  const output = known(usage.outputTokens);
  const total = known(usage.totalTokens);
  return total >= prompt && total <= prompt + output + known(usage.reasoningTokens) ? total : prompt + output;
}

/** The type says number; what a provider reports may not be. */
function known(tokens: number | undefined): number {
  return typeof tokens === "number" && Number.isFinite(tokens) && tokens > 0 ? tokens : 0;
}

interface ReadMessage {
  /** Set for a finished answer whose provider reported anything. */
  readonly usage: { readonly promptTokens: number | undefined; readonly outputTokens: number } | undefined;
  readonly media: number;
}

/** Messages never change, so each is read once. */
const readMessages = new WeakMap<Message, ReadMessage>();

function readMessage(message: Message): ReadMessage {
  const before = readMessages.get(message);
  if (before !== undefined) return before;
  const { writtenMedia, resultMedia } = messageSizes(message, "calibrated");
  const read: ReadMessage = {
    usage: carriesUsage(message)
      ? { promptTokens: countedPromptTokens(message.usage), outputTokens: known(message.usage?.outputTokens) }
      : undefined,
    media: writtenMedia + resultMedia,
  };
  readMessages.set(message, read);
  return read;
}

/** Where the messages begin that one model has answered: usage of another one does not count. */
export function startOfModel(marked: Transcript, model: ModelRef | undefined): number {
  const asked =
    model ?? marked.findLast((message) => message.model !== undefined && isVisibleToModel(message))?.model;
  if (asked === undefined) return 0;
  return (
    1 + marked.findLastIndex((message) => isOtherModel(asked, message.model) && isVisibleToModel(message))
  );
}
