import type { Message } from "../../transcript/message.ts";
import { callsOf } from "../probe/history-text.ts";
import type { Probe } from "../probe/next-use.ts";
import { type EvalSession, splitAtCompactions } from "../probe/places.ts";
import { createScorer, shareOf } from "../probe/score-text.ts";
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

/** Prices each request by the prefix that it shares with the one before. Short sessions give nothing. */
async function replay(
  { transcript }: Pick<EvalSession, "transcript">,
  { probes, policies }: { readonly probes: readonly Probe[]; readonly policies: readonly LoopPolicy[] },
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
