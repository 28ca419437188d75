import { limitFrom, listOf, oneOf, optionsCheck, required, rule, type Shape } from "../../text/check.ts";
import { formatNumber } from "../../text/format-number.ts";
import type { Transcript } from "../../transcript/message.ts";

/** Chooses how a child gets its parent's conversation, and says why. */
export function chooseInheritMode(facts: InheritFacts): InheritChoice {
  checkFacts(facts);
  const { setting, hook, receiver } = facts;
  if (setting === "text") return { mode: "text", reason: "the configuration asks for text" };
  if (hook === "missing") {
    return { mode: "text", reason: "this host did not show its messages to the plugin before sending them" };
  }
  if (setting === "trimmed") return { mode: "trimmed", reason: "the configuration asks for it" };
  if (receiver === "other-provider") {
    return { mode: "trimmed", reason: "the child runs at another provider, so secrets are redacted" };
  }
  const tooLong = whyTooLong(facts);
  if (tooLong !== undefined) return { mode: "trimmed", reason: tooLong };
  if (setting === "full") return { mode: "full", reason: "the configuration asks for it" };
  return chooseByCost(facts);
}

/** The unchanged messages, the messages after the pipeline, or one text. */
export type InheritMode = "full" | "trimmed" | "text";

/** The choice and its reason in a sentence. */
export interface InheritChoice {
  readonly mode: InheritMode;
  readonly reason: string;
}

/** What the choice depends on. */
export interface InheritFacts {
  /** What the configuration asks for. */
  readonly setting: InheritMode | "auto";
  /** Whether the host lets the plugin change what it sends; only then can real messages reach a child. */
  readonly hook: "seen" | "missing";
  /** How the child differs from its parent; any difference but none loses the provider's cached prefix. */
  readonly receiver: "same" | "other-agent" | "other-model" | "other-provider";
  /** How long ago the parent's last request was sent. */
  readonly lastRequestAgeMs: number;
  /** The parent's messages as they were sent. */
  readonly fullTokens: number;
  /** The same messages after the pipeline. */
  readonly trimmedTokens: number;
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
  setting: required(oneOf("auto", "full", "trimmed", "text")),
  hook: required(oneOf("seen", "missing")),
  receiver: required(oneOf("same", "other-agent", "other-model", "other-provider")),
  lastRequestAgeMs: required(rule("milliseconds", isNumber)),
  fullTokens: required(limitFrom(0)),
  trimmedTokens: required(limitFrom(0)),
  fixedTokens: required(limitFrom(0)),
  windowTokens: rule("a number of tokens", isNumber),
  cacheReadPrice: required(limitFrom(0)),
  cacheWritePrice: required(limitFrom(0)),
  finishedSteps: required(listOf(limitFrom(0))),
} satisfies Shape<InheritFacts>);

function isNumber(value: unknown): boolean {
  return typeof value === "number" && !Number.isNaN(value);
}

/** A provider's cache lives for five minutes; half a minute is left for the child to start. */
export const FULL_COPY_MAX_AGE_MS: number = 4.5 * 60_000;

/** Steps of a child before any has finished. */
export const EXPECTED_FORK_STEPS = 12;

/** The number of steps up to which the unchanged prefix, read at every step, is cheaper than writing a shorter one first. */
export function breakEvenSteps(
  facts: Pick<InheritFacts, "fullTokens" | "trimmedTokens" | "cacheReadPrice" | "cacheWritePrice">,
): number {
  const { fullTokens, trimmedTokens, cacheReadPrice, cacheWritePrice } = facts;
  // System and tools are part of both prefixes and cached already, so they cancel out.
  const savedTokens = fullTokens - trimmedTokens;
  if (savedTokens <= 0) return Number.POSITIVE_INFINITY;
  // Where reading is free, or no price is known, nothing is gained by leaving something out.
  if (cacheReadPrice <= 0) return Number.POSITIVE_INFINITY;
  return ((cacheWritePrice - cacheReadPrice) / cacheReadPrice) * (trimmedTokens / savedTokens);
}

function whyTooLong(facts: InheritFacts): string | undefined {
  const { fullTokens, fixedTokens, windowTokens } = facts;
  const wholeTokens = fullTokens + fixedTokens;
  if (windowTokens === undefined || wholeTokens <= windowTokens / 2) return undefined;
  return `the conversation (${count(wholeTokens)} tokens) would fill more than half of the child's window (${count(windowTokens)})`;
}

function chooseByCost(facts: InheritFacts): InheritChoice {
  const { receiver, lastRequestAgeMs, finishedSteps } = facts;
  if (receiver === "other-agent") {
    return { mode: "trimmed", reason: "the child's system prompt is its own, so no prefix is shared" };
  }
  if (receiver === "other-model") {
    return { mode: "trimmed", reason: "another model cannot read the parent's cached prefix" };
  }
  if (lastRequestAgeMs > FULL_COPY_MAX_AGE_MS) {
    return {
      mode: "trimmed",
      reason: `the parent's last request is ${Math.round(lastRequestAgeMs / 1000)} s old, so its cached prefix may be gone`,
    };
  }
  const expected = expectedSteps(finishedSteps);
  const limit = breakEvenSteps(facts);
  if (expected > limit) {
    const since =
      limit < 1 ? "from the first step on" : `beyond ${stepsText(limit)}, and ${expectedText(expected)}`;
    return { mode: "trimmed", reason: `a shorter prefix is cheaper ${since}` };
  }
  if (Number.isFinite(limit)) {
    const until =
      limit < MANY_STEPS
        ? `up to ${stepsText(limit)}, and ${expectedText(expected)}`
        : "for as many steps as a fork makes";
    return { mode: "full", reason: `the parent's cached prefix is the cheapest ${until}` };
  }
  const reason =
    facts.trimmedTokens < facts.fullTokens
      ? "no price is known that a shorter prefix would save"
      : "the parent's cached prefix is the cheapest, since nothing can be left out of it";
  return { mode: "full", reason };
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
