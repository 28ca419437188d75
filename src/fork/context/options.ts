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
  gone,
  goneRule,
  limitFrom,
  listOf,
  objectOf,
  oneOf,
  readOptions,
  type Shape,
  text,
  withDefault,
} from "../../text/check.ts";
import { isObject } from "../../text/unknown-value.ts";
import type { Stage } from "../../transcript/edit.ts";
import { MODEL_RULE, type ModelRef } from "../../transcript/message.ts";

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
  readonly task?: string;
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
  ...gone({ directive: "give task" }),
  // Less could not hold the wrapper and a notice.
  budgetChars: withDefault(limitFrom(512), FORK_CHAR_BUDGET),
  profile: withDefault(oneOf("default", "documented"), "default"),
  limits: withDefault(objectOf(TIER_LIMITS_SHAPE), DOCUMENTED_TIER_LIMITS),
  sessionId: anyText,
  neverCutTools: withDefault(listOf(text), FORK_NO_TRUNCATION_TOOLS),
  ownTools: withDefault(listOf(text), FORK_OWN_TOOLS),
  pruned: withDefault(oneOf("placeholder", "restore"), "placeholder"),
  task: anyText,
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
