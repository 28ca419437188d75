import {
  aNumber,
  anything,
  flag,
  NO_OPTIONS,
  objectOf,
  oneOf,
  optionsCheck,
  type Rule,
  required,
  rule,
  type Shape,
} from "../../text/check.ts";
import { isObject } from "../../text/unknown-value.ts";
import { COMPACT_AT_RULE } from "./compact-at.ts";
import { COMPACTION_SHAPE } from "./compaction-settings.ts";
import {
  usableTokens as countUsable,
  isOverflow as decideOverflow,
  type ModelLimits,
  type OverflowAnswer,
  type OverflowQuestion,
  type OverflowSettings,
} from "./overflow.ts";
import { type CompactDecision, shouldCompact as decide, type Situation } from "./should-compact.ts";
import {
  type LimitSettings,
  effectiveTokenLimit as limitOf,
  type ModelWindow,
  type TokenLimit,
} from "./token-limit.ts";

// The triggers of documents 003 and 004 as `carryover/documented` has them. What is measured is checked by name and kind
// only: a number that is none counts as unknown, since hosts pass on what they have read somewhere.

/**
 * Whether a finished step filled the model's window by the usage that the provider reported: `isOverflow(step).overflow`.
 * The rest says why, and whether the other formula would have decided otherwise.
 */
export function isOverflow(question: OverflowQuestion): OverflowAnswer {
  checkQuestion(question);
  return decideOverflow(question);
}

/** How many tokens of the window a conversation may fill before it overflows; never below 0. */
export function usableTokens(limits: ModelLimits, settings: Partial<OverflowSettings> = NO_OPTIONS): number {
  checkLimits(limits);
  checkSettings(settings);
  return countUsable(limits, settings);
}

/** Whether a compaction is due by the estimate of the context, and why. */
export function shouldCompact(situation: Situation): CompactDecision {
  checkSituation(situation);
  checkLimitSettings(situation.settings);
  return decide(situation);
}

/** The number of tokens at which a conversation is compacted, and where that number comes from. */
export function effectiveTokenLimit(settings: LimitSettings, window: number | ModelWindow): TokenLimit {
  checkLimitSettings(settings);
  if (typeof window !== "number") checkWindow(window);
  return limitOf(settings, window);
}

const MEASURED_LIMITS: Shape<ModelLimits> = {
  contextTokens: aNumber,
  outputTokens: aNumber,
  inputTokens: aNumber,
};

const MEASURED_SETTINGS: Shape<OverflowSettings> = {
  auto: flag,
  outputCapTokens: aNumber,
  reservedTokens: aNumber,
  formula: oneOf("documented", "opencode"),
};

const checkLimits = optionsCheck(MEASURED_LIMITS, ["limits"]);

const checkSettings = optionsCheck(MEASURED_SETTINGS, ["settings"]);

const checkQuestion = optionsCheck({
  usage: anything,
  limits: required(objectOf(MEASURED_LIMITS)),
  settings: objectOf(MEASURED_SETTINGS),
} satisfies Shape<OverflowQuestion>);

const MEASURED_WINDOW = {
  contextWindowTokens: aNumber,
  model: rule("{ provider, id }", isObject),
  profile: oneOf("default", "documented"),
  overheadTokens: aNumber,
  compactAt: COMPACT_AT_RULE,
};

const SITUATION_SHAPE: Shape<Situation> = {
  ...MEASURED_WINDOW,
  settings: required(rule("settings such as DEFAULT_COMPACTION_SETTINGS", isObject)),
  contextTokens: required(aNumber),
  contextEpoch: aNumber,
  visibleMessages: required(aNumber),
  turn: aNumber,
  state: rule("what the trigger remembers", isObject),
  demand: oneOf("none", "manual", "recovery"),
};

const checkSituation = optionsCheck(SITUATION_SHAPE);

// A situation may be given as the window.
const checkWindow = optionsCheck({
  ...SITUATION_SHAPE,
  settings: anything,
  contextTokens: anything,
  visibleMessages: anything,
});

const checkLimitSettings = optionsCheck(
  Object.fromEntries(
    Object.entries(COMPACTION_SHAPE).map(([name, each]) => [name, /Tokens$/.test(name) ? aNumber : each]),
  ) as Readonly<Record<string, Rule>>,
  ["settings"],
);
