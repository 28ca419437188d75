import { limitFrom, listOf, oneOf, optionsCheck, required, rule, type Shape } from "../../text/check.ts";
import { formatNumber } from "../../text/format-number.ts";
import type { Transcript } from "../../transcript/message.ts";

/** Chooses how a child gets its parent's conversation, and says why. */
export function chooseForkWay(facts: ForkWayFacts): ForkWayChoice {
  checkFacts(facts);
  const { setting, hook, receiver } = facts;
  if (setting === "text") return { way: "text", reason: "the configuration asks for text" };
  if (hook === "missing") {
    return { way: "text", reason: "this host did not show its messages to the plugin before sending them" };
  }
  if (setting === "graduated") return { way: "graduated", reason: "the configuration asks for it" };
  if (receiver === "other-provider") {
    return { way: "graduated", reason: "the child runs at another provider, so secrets are redacted" };
  }
  const tooLong = whyTooLong(facts);
  if (tooLong !== undefined) return { way: "graduated", reason: tooLong };
  if (setting === "exact") return { way: "exact", reason: "the configuration asks for it" };
  return chooseByCost(facts);
}

/** The unchanged messages, the messages after the pipeline, or one text. */
export type ForkWay = "exact" | "graduated" | "text";

/** The choice and its reason in a sentence. */
export interface ForkWayChoice {
  readonly way: ForkWay;
  readonly reason: string;
}

/** What the choice depends on. */
export interface ForkWayFacts {
  /** What the configuration asks for. */
  readonly setting: ForkWay | "auto";
  /** Whether the host lets the plugin change what it sends; only then can real messages reach a child. */
  readonly hook: "seen" | "missing";
  /** How the child differs from its parent; any difference but none loses the provider's cached prefix. */
  readonly receiver: "same" | "other-agent" | "other-model" | "other-provider";
  /** How long ago the parent's view was sent. */
  readonly viewAgeMs: number;
  /** The parent's messages as they were sent. */
  readonly fullTokens: number;
  /** The same messages after the pipeline. */
  readonly graduatedTokens: number;
  /** System prompt and tool definitions. */
  readonly fixedTokens: number;
  /** The child's whole window; unset when the host does not tell. */
  readonly windowTokens?: number;
  /** The price of a token that is read from the provider's cache, in any unit; 0 where nothing is paid or no price is known. */
  readonly cacheReadPrice: number;
  /** The price of a token that is written to the cache, in the same unit. */
  readonly cacheWritePrice: number;
  /** How many steps children took until now. */
  readonly finishedSteps: readonly number[];
}

const checkFacts = optionsCheck({
  setting: required(oneOf("auto", "exact", "graduated", "text")),
  hook: required(oneOf("seen", "missing")),
  receiver: required(oneOf("same", "other-agent", "other-model", "other-provider")),
  viewAgeMs: required(rule("milliseconds", isNumber)),
  fullTokens: required(limitFrom(0)),
  graduatedTokens: required(limitFrom(0)),
  fixedTokens: required(limitFrom(0)),
  windowTokens: rule("a number of tokens", isNumber),
  cacheReadPrice: required(limitFrom(0)),
  cacheWritePrice: required(limitFrom(0)),
  finishedSteps: required(listOf(limitFrom(0))),
} satisfies Shape<ForkWayFacts>);

function isNumber(value: unknown): boolean {
  return typeof value === "number" && !Number.isNaN(value);
}

/** A provider's cache lives for five minutes; half a minute is left for the child to start. */
export const EXACT_VIEW_MAX_AGE_MS: number = 4.5 * 60_000;

/** Steps of a child before any has finished. */
export const EXPECTED_FORK_STEPS = 12;

/** The number of steps up to which the unchanged prefix, read at every step, is cheaper than writing a shorter one first. */
export function breakEvenSteps(
  facts: Pick<ForkWayFacts, "fullTokens" | "graduatedTokens" | "cacheReadPrice" | "cacheWritePrice">,
): number {
  const { fullTokens, graduatedTokens, cacheReadPrice, cacheWritePrice } = facts;
  // System and tools are part of both prefixes and cached already, so they cancel out.
  const savedTokens = fullTokens - graduatedTokens;
  if (savedTokens <= 0) return Number.POSITIVE_INFINITY;
  // Where reading is free, or no price is known, nothing is gained by leaving something out.
  if (cacheReadPrice <= 0) return Number.POSITIVE_INFINITY;
  return ((cacheWritePrice - cacheReadPrice) / cacheReadPrice) * (graduatedTokens / savedTokens);
}

function whyTooLong(facts: ForkWayFacts): string | undefined {
  const { fullTokens, fixedTokens, windowTokens } = facts;
  const wholeTokens = fullTokens + fixedTokens;
  if (windowTokens === undefined || wholeTokens <= windowTokens / 2) return undefined;
  return `the conversation (${count(wholeTokens)} tokens) would fill more than half of the child's window (${count(windowTokens)})`;
}

function chooseByCost(facts: ForkWayFacts): ForkWayChoice {
  const { receiver, viewAgeMs, finishedSteps } = facts;
  if (receiver === "other-agent") {
    return { way: "graduated", reason: "the child's system prompt is its own, so no prefix is shared" };
  }
  if (receiver === "other-model") {
    return { way: "graduated", reason: "another model cannot read the parent's cached prefix" };
  }
  if (viewAgeMs > EXACT_VIEW_MAX_AGE_MS) {
    return {
      way: "graduated",
      reason: `the parent's view is ${Math.round(viewAgeMs / 1000)} s old, so its cached prefix may be gone`,
    };
  }
  const expected = expectedSteps(finishedSteps);
  const limit = breakEvenSteps(facts);
  if (expected > limit) {
    const since =
      limit < 1 ? "from the first step on" : `beyond ${stepsText(limit)}, and ${expectedText(expected)}`;
    return { way: "graduated", reason: `a shorter prefix is cheaper ${since}` };
  }
  if (Number.isFinite(limit)) {
    const until =
      limit < MANY_STEPS
        ? `up to ${stepsText(limit)}, and ${expectedText(expected)}`
        : "for as many steps as a fork makes";
    return { way: "exact", reason: `the parent's cached prefix is the cheapest ${until}` };
  }
  const reason =
    facts.graduatedTokens < facts.fullTokens
      ? "no price is known that a shorter prefix would save"
      : "the parent's cached prefix is the cheapest, since nothing can be left out of it";
  return { way: "exact", reason };
}

/** More than any fork makes: where the break-even lies does not matter then. */
const MANY_STEPS = 500;

function stepsText(steps: number): string {
  const text = oneDecimal(steps);
  return `${text} ${text === "1" ? "step" : "steps"}`;
}

function expectedText(steps: number): string {
  const text = oneDecimal(steps);
  return `${text} ${text === "1" ? "is" : "are"} expected`;
}

function oneDecimal(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 1 });
}

/** The median of what children took until now. */
function expectedSteps(finishedSteps: readonly number[]): number {
  const sorted = [...finishedSteps].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? EXPECTED_FORK_STEPS;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

function count(value: number): string {
  return formatNumber(Math.round(value));
}

/** System prompt and tool definitions: what the provider counted beyond the messages that it was sent. */
export function overheadTokens(sent: Transcript, tokensOf: (messages: Transcript) => number): number {
  // A summary is asked for by a request of its own, which holds other messages.
  const index = sent.findLastIndex(({ usage, summary }) => !summary && (usage?.inputTokens ?? 0) > 0);
  const usage = sent[index]?.usage;
  if (usage === undefined) return 0;
  const counted = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return Math.max(0, counted - tokensOf(sent.slice(0, index)));
}
