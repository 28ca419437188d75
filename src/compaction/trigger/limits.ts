import { flag, numberFrom, oneOf, recordOf, rule, type Shape, wholeFrom } from "../../text/check.ts";
import { isObject } from "../../text/json.ts";
import type { ModelRef } from "../../transcript/message.ts";

/**
 * The number of tokens at which a conversation is compacted, and where that number comes from.
 * An unknown window (0) gives the fallback or no limit, never one that is always exceeded.
 */
export function effectiveTokenLimit(settings: LimitSettings, window: number | ModelWindow): TokenLimit {
  const { contextWindowTokens, model } =
    typeof window === "number" ? { contextWindowTokens: window } : window;
  const windowTokens = contextWindowTokens > 0 ? contextWindowTokens : 0;
  const roomTokens = windowTokens - reserveOf(settings);

  const threshold = thresholdTokens(thresholdOf(settings, model), windowTokens);
  if (threshold !== undefined) {
    return {
      limitTokens: windowTokens > 0 ? Math.min(threshold, windowTokens) : threshold,
      source: "threshold",
    };
  }
  if (roomTokens > 0) return { limitTokens: roomTokens, source: "context_window" };
  if (settings.maxTokens > 0) {
    const capTokens =
      windowTokens > 0 ? Math.max(1, Math.floor(windowTokens * FALLBACK_SHARE)) : settings.maxTokens;
    return { limitTokens: Math.min(settings.maxTokens, capTokens), source: "max_tokens" };
  }
  return { limitTokens: undefined, source: "none" };
}

/** The settings that decide the limit. */
type LimitSettings = Pick<CompactionSettings, "maxTokens" | "reserveTokens"> &
  Partial<Pick<CompactionSettings, "thresholds">>;

/** A model's window, with the model where it may have a threshold of its own. 0 means unknown. */
export interface ModelWindow {
  readonly contextWindowTokens: number;
  readonly model?: ModelRef;
}

export interface TokenLimit {
  /** Undefined when nothing limits the tokens. */
  readonly limitTokens: number | undefined;
  readonly source: "threshold" | "context_window" | "max_tokens" | "none";
}

/** How many of the newest tokens stay word for word: as set, but at most half of the limit. */
export function effectiveKeepRecentTokens(
  settings: Pick<CompactionSettings, "keepRecentTokens">,
  { limitTokens }: Pick<TokenLimit, "limitTokens">,
): number {
  const keepTokens = settings.keepRecentTokens > 0 ? settings.keepRecentTokens : 0;
  const halfTokens = Math.floor((limitTokens ?? 0) / 2);
  return halfTokens > 0 ? Math.min(keepTokens, halfTokens) : keepTokens;
}

/** A fallback limit above this share of a known window would leave no room for the answer. */
const FALLBACK_SHARE = 0.8;

function reserveOf({ reserveTokens }: Pick<LimitSettings, "reserveTokens">): number {
  return reserveTokens >= 0 ? reserveTokens : DEFAULT_COMPACTION_SETTINGS.reserveTokens;
}

function thresholdOf({ thresholds }: LimitSettings, model: ModelRef | undefined): Threshold | undefined {
  if (thresholds === undefined || model === undefined) return undefined;
  const key = thresholdKey(model);
  return Object.hasOwn(thresholds, key) ? thresholds[key] : undefined;
}

function thresholdTokens(threshold: Threshold | undefined, windowTokens: number): number | undefined {
  if (threshold === undefined) return undefined;
  if ("tokens" in threshold) return threshold.tokens > 0 ? threshold.tokens : undefined;
  const tokens = Math.floor((windowTokens * threshold.percent) / 100);
  return tokens > 0 ? tokens : undefined;
}

/** When and how far a session is compacted. Counts are messages or results where the name gives no unit. */
export interface CompactionSettings {
  /** Compact at this many messages when no token limit is known; 0 switches that off. */
  readonly maxMessages: number;
  /** The token limit where the window is unknown or smaller than its reserve; 0 switches that off. */
  readonly maxTokens: number;
  /** Messages kept word for word when `keepRecentTokens` is 0. */
  readonly keepRecent: number;
  readonly keepRecentTokens: number;
  /** Left free below the window. */
  readonly reserveTokens: number;
  /** Visible tool results above which the oldest are summed up; 0 switches that off. */
  readonly toolCallCutoff: number;
  readonly toolSummaryStrategy: ToolSummaryStrategy;
  readonly autoCompact: boolean;
  /** A limit of its own for a model, by `provider/model`. */
  readonly thresholds: Readonly<Record<string, Threshold>>;
}

export type ToolSummaryStrategy = "llm" | "heuristic" | "off";

/** A limit in tokens, or in percent of the model's window. */
export type Threshold = { readonly tokens: number } | { readonly percent: number };

/** The strategies by name. */
export const TOOL_SUMMARY_STRATEGIES: readonly ToolSummaryStrategy[] = ["llm", "heuristic", "off"];

/** The documented defaults. */
export const DEFAULT_COMPACTION_SETTINGS: CompactionSettings = {
  maxMessages: 50,
  maxTokens: 8_000,
  keepRecent: 5,
  keepRecentTokens: 20_000,
  reserveTokens: 16_384,
  toolCallCutoff: 10,
  toolSummaryStrategy: "llm",
  autoCompact: true,
  thresholds: {},
};

/** The name under which a model's threshold is kept. */
export function thresholdKey({ provider, id }: ModelRef): string {
  return `${provider}/${id}`;
}

/** How many tokens of the window a conversation may fill before it overflows; never below 0. */
export function usableTokens(limits: ModelLimits, settings: Partial<OverflowSettings> = {}): number {
  const { formula, outputCapTokens, reservedTokens } = { ...DEFAULT_OVERFLOW_SETTINGS, ...settings };
  const reserveTokens = outputReserve(limits, outputCapTokens);
  const inputTokens = positiveOrZero(limits.inputTokens);
  const windowTokens = positiveOrZero(limits.contextTokens) - reserveTokens;
  if (inputTokens === 0) return Math.max(0, windowTokens);
  if (formula === "documented") return inputTokens;
  return Math.max(0, inputTokens - (nonNegative(reservedTokens) ?? Math.min(RESERVED_TOKENS, reserveTokens)));
}

/** What a model accepts and writes. 0 or less means unknown. */
export interface ModelLimits {
  readonly contextTokens: number;
  readonly outputTokens: number;
  /** Set by models whose input has a limit of its own. */
  readonly inputTokens?: number;
}

function outputReserve({ outputTokens }: ModelLimits, outputCapTokens: number): number {
  const capTokens = positiveOrZero(outputCapTokens) || OUTPUT_TOKEN_MAX;
  return Math.min(positiveOrZero(outputTokens), capTokens) || capTokens;
}

function positiveOrZero(tokens: number | undefined): number {
  return tokens !== undefined && tokens > 0 ? tokens : 0;
}

function nonNegative(tokens: number | undefined): number | undefined {
  return tokens !== undefined && tokens >= 0 ? tokens : undefined;
}

/** How overflow is counted. Every field left out takes its default. */
export interface OverflowSettings {
  /** False: no usage ever counts as an overflow. */
  readonly auto: boolean;
  /** The most that is kept free for the answer, whatever the model could write. */
  readonly outputCapTokens: number;
  /** Kept free below an input limit; only the formula `opencode` reads it. */
  readonly reservedTokens?: number;
  readonly formula: OverflowFormula;
}

/**
 * `documented` counts input, cache reads and output; `opencode` (as of February 2026) also counts cache writes, keeps a
 * reserve and overflows when the window is exactly full.
 */
export type OverflowFormula = "documented" | "opencode";

/**
 * The default cap of the output reserve. The engine reads no environment: a host that honours
 * `CARRYOVER_OUTPUT_TOKEN_MAX` passes its text through `readOutputCap` as `outputCapTokens`.
 */
export const OUTPUT_TOKEN_MAX = 32_000;

/** The reserve under an input limit when none is configured. */
const RESERVED_TOKENS = 20_000;

/** What `isOverflow` and `usableTokens` assume where the caller says nothing. */
export const DEFAULT_OVERFLOW_SETTINGS: OverflowSettings = {
  auto: true,
  outputCapTokens: OUTPUT_TOKEN_MAX,
  formula: "documented",
};

/** The output cap that a text (an environment variable) asks for, or the default when it is not a positive number. */
export function readOutputCap(text: string | undefined): number {
  const capTokens = Number(text?.trim() || Number.NaN);
  return Number.isFinite(capTokens) && capTokens >= 1 ? Math.floor(capTokens) : OUTPUT_TOKEN_MAX;
}

/**
 * The window to believe after a provider named one: the smaller of both, unless the named one is too small
 * to be true (servers have reported windows of 3 tokens). An unknown configuration (0) takes what was seen.
 */
export function learnContextLimit(configuredTokens: number, seenTokens: number | undefined): number {
  if (seenTokens === undefined || !(seenTokens >= MIN_SEEN_TOKENS)) return configuredTokens;
  if (!(configuredTokens > 0)) return seenTokens;
  return seenTokens >= configuredTokens * MIN_SEEN_SHARE
    ? Math.min(configuredTokens, seenTokens)
    : configuredTokens;
}

const MIN_SEEN_TOKENS = 1_000;
const MIN_SEEN_SHARE = 0.25;

/** What the compaction settings may be; unset ones take `DEFAULT_COMPACTION_SETTINGS`. */
export const COMPACTION_SHAPE: Shape<CompactionSettings> = {
  maxMessages: wholeFrom(0),
  maxTokens: wholeFrom(0),
  keepRecent: wholeFrom(0),
  keepRecentTokens: wholeFrom(0),
  reserveTokens: wholeFrom(0),
  toolCallCutoff: wholeFrom(0),
  toolSummaryStrategy: oneOf(...TOOL_SUMMARY_STRATEGIES),
  autoCompact: flag,
  thresholds: recordOf(
    { expects: "provider/model", pattern: /^[^/\s]+\/\S+$/ },
    rule("{ tokens } above 0, or { percent } above 0 and up to 100", isThreshold),
  ),
};

function isThreshold(value: unknown): boolean {
  if (!isObject(value) || Object.keys(value).length !== 1) return false;
  const { tokens, percent } = value;
  if (tokens !== undefined) return Number.isSafeInteger(tokens) && (tokens as number) > 0;
  return typeof percent === "number" && percent > 0 && percent <= 100;
}

/** What the overflow settings may be; unset ones take `DEFAULT_OVERFLOW_SETTINGS`. */
export const OVERFLOW_SHAPE: Shape<OverflowSettings> = {
  auto: flag,
  outputCapTokens: numberFrom(1),
  reservedTokens: numberFrom(0),
  formula: oneOf("documented", "opencode"),
};

/** The settings after one change made at run time, or what is wrong with the change. */
export function changeSettings(settings: CompactionSettings, change: SettingsChange): ChangedSettings {
  const key = Object.hasOwn(CHANGED_SETTINGS, change.type) ? CHANGED_SETTINGS[change.type] : undefined;
  if (key === undefined) return { status: "rejected", problem: `there is no change ${change.type}` };
  const value = (change as Partial<CompactionSettings>)[key];
  const [problem] = COMPACTION_SHAPE[key].find(value, [key]);
  if (problem !== undefined) return { status: "rejected", problem: problem.text };
  return { status: "changed", settings: { ...settings, [key]: value } };
}

/** What may be changed while a session runs. */
export type SettingsChange =
  | { readonly type: "set-auto"; readonly autoCompact: boolean }
  | { readonly type: "set-cutoff"; readonly toolCallCutoff: number }
  | { readonly type: "set-strategy"; readonly toolSummaryStrategy: string };

export type ChangedSettings =
  | { readonly status: "changed"; readonly settings: CompactionSettings }
  /** A sentence that says what to give instead. */
  | { readonly status: "rejected"; readonly problem: string };

const CHANGED_SETTINGS = {
  "set-auto": "autoCompact",
  "set-cutoff": "toolCallCutoff",
  "set-strategy": "toolSummaryStrategy",
} as const;
