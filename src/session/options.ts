import type { SessionHook } from "../compaction/ask.ts";
import type { SummarizerModel } from "../compaction/plan/plan-compaction.ts";
import type { Clock } from "../compaction/ports/clock.ts";
import type { Summarizer } from "../compaction/ports/summarizer.ts";
import type { Pin } from "../compaction/summary/facts.ts";
import type { Representation } from "../compaction/summary/message.ts";
import type { SecretRedaction } from "../compaction/summary/text.ts";
import {
  COMPACTION_SHAPE,
  type CompactionSettings,
  DEFAULT_COMPACTION_SETTINGS,
  type ModelLimits,
  OVERFLOW_SHAPE,
  type OverflowSettings,
} from "../compaction/trigger/limits.ts";
import type { CacheProfile } from "../stages/cache-profiles.ts";
import { ConfigurationError, check, readOptions } from "../text/check.ts";
import { isObject } from "../text/json.ts";
import type { TokenEstimator } from "../text/tokens/estimate-tokens.ts";
import {
  DEFAULT_TOOL_OUTPUT_LIMITS,
  type RawToolOutputLimits,
  resolveToolOutputLimits,
  type ToolOutputLimits,
} from "../tool-output/limits.ts";
import type { SpillStore } from "../tool-output/spill.ts";
import type { ModelRef } from "../transcript/message.ts";
import type { Journal } from "./journal.ts";
import type { SessionEvent } from "./log.ts";
import { type ResolvedPrune, readSessionPrune, type SessionPruneOptions } from "./prune.ts";
import { RECALL_MAX_CHARS } from "./recall.ts";

/** How a session behaves; everything has a default. */
export interface SessionOptions {
  /** Names the session to hooks. */
  readonly sessionId?: string;
  /** The model that is asked next, and what it takes; without limits only the settings limit the window. */
  readonly model?: ModelRef;
  readonly limits?: ModelLimits;
  readonly compaction?: Partial<CompactionSettings>;
  readonly overflow?: Partial<OverflowSettings>;
  /** How summaries stand in the window. */
  readonly representation?: Representation;
  /** The model that writes summaries; the driver's own choice when unset. */
  readonly summarizer?: SummarizerModel;
  /** What has to stay before the model whatever is compacted. */
  readonly pins?: readonly Pin[];
  readonly autoContinue?: "as-needed" | "never";
  /** How old work leaves the window without a model; `off`: only after a refusal. */
  readonly prune?: SessionPruneOptions | "off";
  /** What caching costs; by the model's name when unset. */
  readonly cache?: CacheProfile;
  /** Requests that are expected to follow, for weighing what an edit saves. */
  readonly expectedTurns?: number;
  /** Limits of a tool output as it comes in. */
  readonly toolOutput?: RawToolOutputLimits | "off";
  readonly estimator?: TokenEstimator;
  /** Characters of the system prompt and of the tool definitions, which are sent beside the messages. */
  readonly systemChars?: number;
  readonly toolsChars?: number;
  /** How secrets are found in what is summed up and recalled. */
  readonly redaction?: SecretRedaction;
  /** `on`: secrets are taken out of tool outputs that are bounded as they come in. */
  readonly redactOutputs?: "on" | "off";
  readonly recallMaxChars?: number;
  /** Called for every event, in order. What it throws is ignored. */
  readonly onEvent?: (event: SessionEvent) => void;
}

/** The options with every default filled in. */
export interface ResolvedSessionOptions extends SessionOptions {
  readonly settings: CompactionSettings;
  readonly limits: ModelLimits;
  readonly representation: Representation;
  readonly expectedTurns: number;
  readonly outputLimits: ToolOutputLimits | undefined;
  /** Unset when nothing is pruned. */
  readonly pruning: ResolvedPrune | undefined;
  readonly estimator: TokenEstimator;
  readonly redaction: SecretRedaction;
  readonly recallMaxChars: number;
}

/** What a session needs from the world. Without a summarizer everything is done mechanically. */
export interface SessionPorts {
  readonly clock: Clock;
  readonly summarizer?: Summarizer;
  /** Where every edit is written down; without one nothing outlives the session object. */
  readonly journal?: Journal;
  /** Where outputs go that are too long. */
  readonly spills?: SpillStore;
  readonly hooks?: readonly SessionHook[];
}

/** Completed options; what cannot be used is thrown, every problem at once. */
export function readSessionOptions(options: SessionOptions): ResolvedSessionOptions {
  const problems: string[] = [...sessionOptionsProblems(options)];
  const { compaction = {}, overflow = {} } = options;
  for (const { text } of [
    ...check(COMPACTION_SHAPE, compaction, ["compaction"]),
    ...check(OVERFLOW_SHAPE, overflow, ["overflow"]),
  ])
    problems.push(text);
  const outputLimits = attempt(problems, () => readOutputLimits(options.toolOutput));
  const pruning = attempt(problems, () =>
    options.prune === "off" ? undefined : readSessionPrune(options.prune),
  );
  if (problems.length > 0) throw new ConfigurationError(problems);
  return {
    ...options,
    settings: readOptions(COMPACTION_SHAPE, DEFAULT_COMPACTION_SETTINGS, compaction),
    limits: options.limits ?? { contextTokens: 0, outputTokens: 0 },
    representation: options.representation ?? "pivot",
    expectedTurns: options.expectedTurns ?? EXPECTED_TURNS,
    outputLimits,
    pruning,
    estimator: options.estimator ?? "calibrated",
    redaction: options.redaction ?? {},
    recallMaxChars: options.recallMaxChars ?? RECALL_MAX_CHARS,
  };
}

const EXPECTED_TURNS = 12;

function readOutputLimits(limits: SessionOptions["toolOutput"]): ToolOutputLimits | undefined {
  if (limits === "off") return undefined;
  return limits === undefined ? DEFAULT_TOOL_OUTPUT_LIMITS : resolveToolOutputLimits(limits);
}

function attempt<T>(problems: string[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

/** What is wrong with options as they were given, one sentence a problem; what has a reader of its own is left to that. */
function sessionOptionsProblems(options: SessionOptions): readonly string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    const must = Object.hasOwn(RULES, name) ? RULES[name as keyof SessionOptions] : undefined;
    if (must === undefined)
      return [`${name} is not an option of a session; known are ${Object.keys(RULES).join(", ")}`];
    return value === undefined || must.allows(value) ? [] : [`${name} is ${show(value)}; give ${must.be}`];
  });
}

interface Rule {
  readonly be: string;
  readonly allows: (value: unknown) => boolean;
}

const oneOf = (...words: readonly string[]): Rule => ({
  be: words.map((word) => `"${word}"`).join(" or "),
  allows: (value) => words.some((word) => word === value),
});
const numberFrom = (least: number): Rule => ({
  be: `a finite number of ${least} or more`,
  allows: (value) => isNumberFrom(value, least),
});
const ANYTHING: Rule = { be: "anything", allows: () => true };
const TEXT: Rule = { be: "a text", allows: (value) => typeof value === "string" };

/** Less could not hold the notice that says how much is missing. */
const MIN_RECALL_CHARS = 512;

const RULES: Readonly<Record<keyof SessionOptions, Rule>> = {
  sessionId: TEXT,
  model: {
    be: "{ provider, id }",
    allows: (value) => isObject(value) && typeof value.provider === "string" && typeof value.id === "string",
  },
  limits: {
    be: "{ contextTokens, outputTokens } in numbers, 0 for what nobody knows",
    allows: (value) => isObject(value) && isNumber(value.contextTokens),
  },
  compaction: ANYTHING,
  overflow: ANYTHING,
  representation: oneOf("pivot", "user-summary"),
  summarizer: {
    be: "{ model, windowTokens, outputTokens } with numbers of 0 or more",
    allows: (value) =>
      hasOnly(value, {
        model: isObject,
        windowTokens: (tokens) => isNumberFrom(tokens, 0),
        outputTokens: (tokens) => isNumberFrom(tokens, 0),
      }),
  },
  pins: {
    be: "a list of { text } and { handle }",
    allows: (value) => Array.isArray(value) && value.every(isPin),
  },
  autoContinue: oneOf("as-needed", "never"),
  prune: ANYTHING,
  cache: {
    be: "a profile with readMultiplier, writeMultiplier, ttlMs, minimumTokens of 0 or more and stepTokens of 1 or more",
    allows: (value) =>
      isObject(value) &&
      [value.readMultiplier, value.writeMultiplier, value.minimumTokens].every((number) =>
        isNumberFrom(number, 0),
      ) &&
      // Infinity is a cache that never ends.
      isNumber(value.ttlMs) &&
      value.ttlMs >= 0 &&
      isNumberFrom(value.stepTokens, 1),
  },
  expectedTurns: numberFrom(1),
  toolOutput: ANYTHING,
  estimator: {
    be: '"documented", "calibrated" or a function from a text to a number',
    allows: (value) => value === "documented" || value === "calibrated" || typeof value === "function",
  },
  systemChars: numberFrom(0),
  toolsChars: numberFrom(0),
  redaction: { be: '"off" or { key, extraRules }', allows: (value) => value === "off" || isObject(value) },
  redactOutputs: oneOf("on", "off"),
  recallMaxChars: {
    be: `a number of ${MIN_RECALL_CHARS} or more`,
    allows: (value) => isNumber(value) && value >= MIN_RECALL_CHARS,
  },
  onEvent: { be: "a function", allows: (value) => typeof value === "function" },
};

function isPin(value: unknown): boolean {
  return isObject(value) && (typeof value.text === "string" || typeof value.handle === "string");
}

function hasOnly(value: unknown, checks: Readonly<Record<string, (value: unknown) => boolean>>): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).every(
    ([key, field]) => Object.hasOwn(checks, key) && (field === undefined || checks[key]?.(field) === true),
  );
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(value);
}

function isNumberFrom(value: unknown, least: number): boolean {
  return isNumber(value) && Number.isFinite(value) && value >= least;
}

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
  if (typeof value !== "object" || value === null) return String(value);
  return Array.isArray(value) ? "a list that does not fit" : "an object that does not fit";
}
