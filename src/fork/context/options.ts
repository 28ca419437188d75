import { modelFacts } from "../../models/model-facts.ts";
import {
  DOCUMENTED_TIER_LIMITS,
  FORK_NO_TRUNCATION_TOOLS,
  TIER_LIMITS_SHAPE,
  type TierLimits,
} from "../../stages/tiers.ts";
import {
  anyText,
  type Completed,
  callback,
  goneRule,
  limitFrom,
  listOf,
  objectOf,
  oneOf,
  optionsCheck,
  readOptions,
  required,
  rule,
  type Shape,
  text,
  withDefault,
} from "../../text/check.ts";
import { formatNumber } from "../../text/format-number.ts";
import { isObject } from "../../text/unknown-value.ts";
import { type Edit, type EditReason, hidePart, type Stage } from "../../transcript/edit.ts";
import { isVisibleToModel, MODEL_RULE, type ModelRef, type Transcript } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";

/** What may be set for a fork. */
export interface ForkOptions extends DocumentedForkOptions {
  /**
   * Most characters (UTF-16 units) of the wrapped text; at least 512.
   * @default 200,000
   * @when the child's window is small, or its task needs more
   */
  readonly budgetChars?: number;
  /**
   * `default` fills the budget with the lines most likely needed next; `documented` cuts results by age to fixed
   * limits.
   * @default default
   * @from default: measured, decision 0020
   * @when you want the fixed limits by age
   */
  readonly profile?: ForkProfile;
  /**
   * Names the wrapper, so that text from elsewhere cannot imitate it.
   * @default unset
   * @from this project
   * @when inherited text comes from people you do not trust
   */
  readonly sessionId?: string;
  /**
   * Tools that launch or watch children; their unfinished calls stay behind.
   * @default fork, fork_result, fork_cancel, recall
   * @from this project
   * @when your tools for children have other names
   */
  readonly ownTools?: readonly string[];
  /**
   * What the child is asked to do. In the default profile it decides what stays of a context that is too long: files
   * that it names come first, in their newest state, and lines with its words count more.
   * @default unset
   * @from this project
   * @when you know the child's task: always
   */
  readonly directive?: string;
  /**
   * The model that the child asks. Where it would refuse a thought of the parent, also those of the newest tool turn
   * are left out, which some providers want.
   * @default the newest in the messages
   * @from this project
   * @when the child asks another model
   */
  readonly model?: ModelRef;
  /**
   * Takes secrets out for a child at another provider: `redactTranscript()` of `carryover/stages`. Unset: they stay.
   * @default unset
   * @from this project
   * @when the child runs at another provider
   */
  readonly redact?: Stage;
}

/** What only forks of the documented profile take. */
interface DocumentedForkOptions {
  /**
   * How much the documented profile keeps of a result and of an input, by age.
   * @default the documented tiers
   * @when other limits fit better
   */
  readonly limits?: TierLimits;
  /**
   * Tools whose results are never cut.
   * @default ask_user_questions, question, skill
   * @when a tool's answers must stay whole, such as those of a person
   */
  readonly neverCutTools?: readonly string[];
  /**
   * Cleared outputs stay cleared, or come back from the store.
   * @default placeholder
   * @from this project
   * @when the child shall see what the parent's window no longer shows
   */
  readonly pruned?: "placeholder" | "restore";
}

/** By line within the budget, or by age to the documented limits. */
export type ForkProfile = "default" | "documented";

/** Most characters of an inherited context. */
export const FORK_CHAR_BUDGET = 200_000;
/** Below this many characters no message is removed. */
export const FORK_CHAR_NO_REMOVAL = 120_000;
/** Another name of `FORK_CHAR_NO_REMOVAL`. */
export const FORK_NO_TRIM_THRESHOLD: number = FORK_CHAR_NO_REMOVAL;

/** The options with every default filled in; throws with all problems at once. */
export function readForkOptions(options: ForkOptions, usual: ForkProfile = "default"): ResolvedForkOptions {
  const { profile = usual } = isObject(options) ? (options as ForkOptions) : {};
  return { ...readOptions(profile === "documented" ? FORK_SHAPE : DEFAULT_FORK_SHAPE, options), profile };
}

type Defaulted = "budgetChars" | "profile" | "ownTools" | keyof DocumentedForkOptions;

export type ResolvedForkOptions = Completed<ForkOptions, Defaulted>;

/** The tools that launch or watch children by default. */
export const FORK_OWN_TOOLS: readonly string[] = ["fork", "fork_result", "fork_cancel", "recall"];

/** What the options of a fork may be. */
export const FORK_SHAPE: Shape<ForkOptions, Defaulted> = {
  // Less could not hold the wrapper and a notice.
  budgetChars: withDefault(limitFrom(512), FORK_CHAR_BUDGET),
  profile: withDefault(oneOf("default", "documented"), "default"),
  limits: withDefault(objectOf(TIER_LIMITS_SHAPE), DOCUMENTED_TIER_LIMITS),
  sessionId: anyText,
  neverCutTools: withDefault(listOf(text), FORK_NO_TRUNCATION_TOOLS),
  ownTools: withDefault(listOf(text), FORK_OWN_TOOLS),
  pruned: withDefault(oneOf("placeholder", "restore"), "placeholder"),
  directive: anyText,
  model: MODEL_RULE,
  redact: callback,
};

const BY_AGE = 'give profile "documented", which cuts by age';

const DEFAULT_FORK_SHAPE: Shape<ForkOptions, Defaulted> = {
  ...FORK_SHAPE,
  limits: { ...FORK_SHAPE.limits, ...goneRule(BY_AGE) },
  neverCutTools: { ...FORK_SHAPE.neverCutTools, ...goneRule(BY_AGE) },
  pruned: { ...FORK_SHAPE.pruned, ...goneRule(BY_AGE) },
};

/** Hides what is the parent's own business: its reasoning, hints of ours, text the model never saw, launches still in flight. */
export function omitForChild(options: OmitForChildOptions = {}): Stage {
  const { ownTools, model } = readOptions(OMIT_SHAPE, options);
  return (transcript) => {
    const edits: Edit[] = [];
    const reader = model ?? transcript.findLast((message) => message.model !== undefined)?.model ?? {};
    const isRefused = modelFacts(reader).afterEdit === "refused";
    for (const message of transcript) {
      if (!isVisibleToModel(message)) continue;
      for (const [partIndex, part] of message.parts.entries()) {
        const reason = part.agentVisible === false ? undefined : reasonToOmit(part, ownTools);
        if (reason === undefined) continue;
        const what = part.type === "reasoning" && isRefused ? "thought" : "part";
        edits.push(hidePart({ message, partIndex, part }, { what, stage: "omit-for-child", reason }));
      }
    }
    return edits;
  };
}

/** Options of `omitForChild`. */
export interface OmitForChildOptions {
  /**
   * Tools that launch or watch children; their unfinished calls are not shown to a child.
   * @default fork, fork_result, fork_cancel, recall
   */
  readonly ownTools?: readonly string[];
  /** The model that the child asks, which may refuse thoughts of the parent. @default the newest in the messages */
  readonly model?: ModelRef;
}

const OMIT_SHAPE: Shape<OmitForChildOptions, "ownTools"> = {
  ownTools: withDefault(listOf(text), FORK_OWN_TOOLS),
  model: MODEL_RULE,
};

function reasonToOmit(part: Part, ownTools: readonly string[]): EditReason | undefined {
  if (part.type === "reasoning") return "reasoning";
  if (part.type === "text" && part.own) return "own-hint";
  if (part.type === "text" && part.ignored) return "ignored";
  if (part.type === "tool" && part.outcome.status === "pending" && ownTools.includes(part.tool))
    return "in-flight";
  return undefined;
}

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
