import { safeJson } from "../../text/json.ts";
import { tokenFamilyOf } from "../../text/tokens/estimate-tokens.ts";
import { outcomeText } from "../../transcript/content.ts";
import { charsOf, estimateMessageTokens, messageSizes } from "../../transcript/estimate-message.ts";
import type { Message, Usage } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import { callsOf } from "../probe/history-text.ts";
import { createScorer, type Probe, shareOf } from "../probe/next-use.ts";
import { type EvalSession, splitAtCompactions } from "../probe/places.ts";
import {
  LOOP_POLICIES,
  LOOP_PRICES,
  LOOP_SYSTEM_CHARS,
  type LoopMessage,
  type LoopPolicy,
  loopMessages,
} from "./loop-policies.ts";

/** What a session would have cost with one loop policy, and what its window kept. */
export interface LoopCost {
  readonly policy: string;
  readonly steps: number;
  /** Characters weighted by price; an uncached input character counts 1. */
  readonly costChars: number;
  readonly sentChars: number;
  /** How much of it the provider had in its cache. */
  readonly cachedChars: number;
  readonly peakChars: number;
  /** Usable recall of the window at each probe of the session. */
  readonly usable: readonly number[];
}

/** Replays every step of a session with every policy. */
export async function measureCost(
  session: Pick<EvalSession, "transcript">,
  probes: readonly Probe[],
): Promise<readonly LoopCost[]> {
  return replay(session, { probes, policies: LOOP_POLICIES });
}

/** Replays every step of a session with the policies of these names, in this order. */
export function replayCost(
  session: Pick<EvalSession, "transcript">,
  names: readonly string[],
): Promise<readonly LoopCost[]> {
  const policies = names.flatMap((name) => LOOP_POLICIES.find((policy) => policy.name === name) ?? []);
  return replay(session, { probes: [], policies });
}

interface ReplayOptions {
  readonly probes: readonly Probe[];
  readonly policies: readonly LoopPolicy[];
}

/** Prices each request by the prefix that it shares with the one before. Short sessions give nothing. */
async function replay(
  { transcript }: Pick<EvalSession, "transcript">,
  { probes, policies }: ReplayOptions,
): Promise<readonly LoopCost[]> {
  const messages = splitAtCompactions(transcript).flat();
  if (callsOf(messages).filter(({ outcome }) => outcome.status !== "pending").length < MIN_RESULTS) return [];
  const steps: Replay = {
    messages,
    renderings: loopMessages(messages),
    scorers: new Map(
      probes.flatMap((probe) =>
        probe.next === undefined ? [] : [[probe.next, usableScorer(probe)] as const],
      ),
    ),
  };
  const costs: LoopCost[] = [];
  for (const policy of policies) costs.push(await replayPolicy(policy, steps));
  return costs;
}

const MIN_RESULTS = 50;

interface Replay {
  readonly messages: readonly Message[];
  readonly renderings: readonly LoopMessage[];
  /** By the message that came next at the probe. */
  readonly scorers: ReadonlyMap<Message, (text: string) => number>;
}

async function replayPolicy({ name, start }: LoopPolicy, replay: Replay): Promise<LoopCost> {
  const { messages, renderings, scorers } = replay;
  const window = start();
  const usable: number[] = [];
  let [steps, costChars, sentChars, cachedChars, peakChars] = [0, 0, 0, 0, 0];
  let previous: readonly string[] | undefined;
  let previousAt: number | undefined;
  for (const [index, message] of messages.entries()) {
    if (!renderings[index]?.isStep) continue;
    const idle = idleMs(previousAt, message.createdAt);
    const current = await window(renderings.slice(0, index), idle);
    const requestChars = current.reduce((sum, { length }) => sum + length, LOOP_SYSTEM_CHARS);
    const isCold = previous === undefined || idle > LOOP_PRICES.ttlMs;
    const sharedChars = isCold ? 0 : LOOP_SYSTEM_CHARS + sharedPrefix(current, previous ?? []);
    costChars +=
      LOOP_PRICES.readMultiplier * sharedChars + LOOP_PRICES.writeMultiplier * (requestChars - sharedChars);
    sentChars += requestChars;
    cachedChars += sharedChars;
    peakChars = Math.max(peakChars, requestChars);
    steps++;
    previous = current;
    previousAt = message.createdAt ?? previousAt;
    const score = scorers.get(message);
    if (score !== undefined) usable.push(score(current.join("")));
  }
  return { policy: name, steps, costChars, sentChars, cachedChars, peakChars, usable };
}

function usableScorer(probe: Probe): (text: string) => number {
  const score = createScorer(probe);
  return (text) => shareOf(score(text).usable) ?? 0;
}

function idleMs(before: number | undefined, now: number | undefined): number {
  return before === undefined || now === undefined ? 0 : Math.max(0, now - before);
}

/** How many characters two requests have in common from the start. */
function sharedPrefix(one: readonly string[], other: readonly string[]): number {
  let chars = 0;
  for (const [index, text] of one.entries()) {
    const otherText = other[index];
    if (otherText === undefined) return chars;
    if (text !== otherText) return chars + sharedStart(text, otherText);
    chars += text.length;
  }
  return chars;
}

function sharedStart(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let index = 0;
  while (index < end && one.charCodeAt(index) === other.charCodeAt(index)) index++;
  return index;
}

/** A step whose size the provider counted: by how many tokens its answer and results made the next prompt longer. */
export interface TokenStep {
  readonly model: string;
  readonly usageTokens: number;
  readonly chars: number;
  readonly calls: number;
  /** The calibrated estimate before the family's scale and the price of calls. */
  readonly unscaledTokens: number;
  readonly calibratedTokens: number;
  readonly documentedTokens: number;
}

/** The steps of a session at which our estimates can be compared with the provider's count. */
export function measureTokens({ transcript }: EvalSession): readonly TokenStep[] {
  return splitAtCompactions(transcript).flatMap((stretch) =>
    stretch.flatMap((message, index) => tokenStep(message, stretch[index + 1]) ?? []),
  );
}

const MIN_CHARS = 400;
/** Outside of these tokens per character something else was counted too, such as text that the host added. */
const MIN_DENSITY = 0.12;
const MAX_DENSITY = 0.9;

function tokenStep(message: Message, next: Message | undefined): TokenStep | undefined {
  if (message.usage === undefined || next?.usage === undefined || !isClear(message)) return undefined;
  if (next.role !== "assistant" || next.model?.id !== message.model?.id) return undefined;
  const usageTokens = promptTokens(next.usage) - promptTokens(message.usage);
  const chars = charsOf(message);
  const density = usageTokens / chars;
  if (chars < MIN_CHARS || !(density > MIN_DENSITY && density < MAX_DENSITY)) return undefined;
  const model = message.model?.id ?? "";
  const { writtenTokens, resultTokens, calls } = messageSizes(message, "calibrated");
  return {
    model,
    usageTokens,
    chars,
    calls,
    unscaledTokens: writtenTokens + resultTokens,
    calibratedTokens: estimateMessageTokens(message, {
      estimator: "calibrated",
      family: tokenFamilyOf(model),
    }),
    documentedTokens: estimateMessageTokens(message),
  };
}

/** True when all that the next prompt adds is recorded text: no reasoning, no media, nothing redacted. */
function isClear({ role, parts }: Message): boolean {
  const calls = parts.filter((part) => part.type === "tool");
  if (role !== "assistant" || calls.length === 0) return false;
  if (parts.some((part) => part.type === "file" || (part.type === "reasoning" && part.text !== "")))
    return false;
  return calls.every(isClearCall) && !parts.some((part) => part.type === "text" && isRedacted(part.text));
}

function isClearCall({ outcome, input }: ToolPart): boolean {
  if (outcome.status === "pending") return false;
  if (outcome.status === "done" && outcome.attachments.length > 0) return false;
  const text = outcomeText(outcome);
  return !text.includes("[image]") && !isRedacted(text) && !isRedacted(safeJson(input));
}

/** Published sessions are redacted, but the provider counted the original text. */
function isRedacted(text: string): boolean {
  return text.includes("REDACTED");
}

function promptTokens({ inputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens;
}
