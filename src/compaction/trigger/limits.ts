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

/** The defaults of the founding document. */
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
  const { profile, outputCapTokens, reservedTokens } = { ...DEFAULT_OVERFLOW_SETTINGS, ...settings };
  const reserveTokens = outputReserve(limits, outputCapTokens);
  const inputTokens = positiveOrZero(limits.inputTokens);
  const windowTokens = positiveOrZero(limits.contextTokens) - reserveTokens;
  if (inputTokens === 0) return Math.max(0, windowTokens);
  if (profile === "seed") return inputTokens;
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
  /** Kept free below an input limit; only `opencode-2026-02` reads it. */
  readonly reservedTokens?: number;
  readonly profile: OverflowProfile;
}

/**
 * `seed` is the founding document's arithmetic; `opencode-2026-02` also counts cache writes, keeps a
 * reserve and overflows when the window is exactly full.
 */
export type OverflowProfile = "seed" | "opencode-2026-02";

/**
 * The default cap of the output reserve. The engine reads no environment: a host that honours
 * `CARRYOVER_OUTPUT_TOKEN_MAX` passes its text through `readOutputCap` as `outputCapTokens`.
 */
export const OUTPUT_TOKEN_MAX = 32_000;

/** The reserve under an input limit when none is configured. */
const RESERVED_TOKENS = 20_000;

/** What `isOverflowTrigger` and `usableTokens` assume where the caller says nothing. */
export const DEFAULT_OVERFLOW_SETTINGS: OverflowSettings = {
  auto: true,
  outputCapTokens: OUTPUT_TOKEN_MAX,
  profile: "seed",
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

/** Settings completed with the defaults, or every problem at once; an unknown key is a problem. */
export function validateCompactionSettings(raw: unknown): ValidatedSettings {
  if (raw === undefined) return { status: "valid", settings: DEFAULT_COMPACTION_SETTINGS };
  if (!isObject(raw))
    return { status: "invalid", problems: [settingProblem("", "settings must be an object")] };

  const problems: SettingsProblem[] = [];
  for (const [key, value] of Object.entries(raw)) {
    if (value === undefined) continue;
    const check = Object.hasOwn(CHECKS, key) ? CHECKS[key as keyof CompactionSettings] : undefined;
    if (check === undefined)
      problems.push(settingProblem(key, `unknown setting; known are ${KEYS.join(", ")}`));
    else problems.push(...check(key, value));
  }
  if (problems.length > 0) return { status: "invalid", problems };
  const given = Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== undefined));
  return { status: "valid", settings: { ...DEFAULT_COMPACTION_SETTINGS, ...given } };
}

export type ValidatedSettings =
  | { readonly status: "valid"; readonly settings: CompactionSettings }
  | { readonly status: "invalid"; readonly problems: readonly SettingsProblem[] };

/** What is wrong with one setting; `path` is empty when the whole value is wrong. */
export interface SettingsProblem {
  readonly path: string;
  readonly problem: string;
}

type Check = (path: string, value: unknown) => readonly SettingsProblem[];

const CHECKS: Readonly<Record<keyof CompactionSettings, Check>> = {
  maxMessages: wholeNumber,
  maxTokens: wholeNumber,
  keepRecent: wholeNumber,
  keepRecentTokens: wholeNumber,
  reserveTokens: wholeNumber,
  toolCallCutoff: wholeNumber,
  toolSummaryStrategy: strategy,
  autoCompact: (path, value) =>
    typeof value === "boolean" ? [] : [settingProblem(path, "must be true or false")],
  thresholds: thresholds,
};

const KEYS: readonly string[] = Object.keys(CHECKS);

function wholeNumber(path: string, value: unknown): readonly SettingsProblem[] {
  return Number.isSafeInteger(value) && (value as number) >= 0
    ? []
    : [settingProblem(path, `must be a whole number of 0 or more, not ${show(value)}`)];
}

function strategy(path: string, value: unknown): readonly SettingsProblem[] {
  return TOOL_SUMMARY_STRATEGIES.some((known) => known === value)
    ? []
    : [settingProblem(path, `must be one of ${TOOL_SUMMARY_STRATEGIES.join(", ")}, not ${show(value)}`)];
}

function thresholds(path: string, value: unknown): readonly SettingsProblem[] {
  if (!isObject(value)) return [settingProblem(path, "must be an object of thresholds by provider/model")];
  return Object.entries(value).flatMap(([key, each]) => thresholdProblems(`${path}.${key}`, key, each));
}

function thresholdProblems(path: string, key: string, value: unknown): readonly SettingsProblem[] {
  const named = /^[^/\s]+\/\S+$/.test(key) ? [] : [settingProblem(path, "must be named provider/model")];
  if (!isThreshold(value)) {
    return [
      ...named,
      settingProblem(path, "must be { tokens } above 0 or { percent } above 0 and up to 100"),
    ];
  }
  return named;
}

function isThreshold(value: unknown): value is Threshold {
  if (!isObject(value) || Object.keys(value).length !== 1) return false;
  const { tokens, percent } = value;
  if (tokens !== undefined) return Number.isSafeInteger(tokens) && (tokens as number) > 0;
  return typeof percent === "number" && percent > 0 && percent <= 100;
}

function settingProblem(path: string, text: string): SettingsProblem {
  return { path, problem: text };
}

function show(value: unknown): string {
  if (typeof value === "string") return `"${value.slice(0, 40)}"`;
  return typeof value === "object" ? "an object" : String(value);
}

/** The settings after one change made at run time, or what is wrong with the change. The input stays as it was. */
export function changeSettings(settings: CompactionSettings, change: SettingsChange): ChangedSettings {
  switch (change.type) {
    case "set-auto":
      if (typeof change.autoCompact !== "boolean") return reject("autoCompact", "must be true or false");
      return accept({ ...settings, autoCompact: change.autoCompact });
    case "set-cutoff":
      if (!(Number.isSafeInteger(change.toolCallCutoff) && change.toolCallCutoff >= 0)) {
        return reject("toolCallCutoff", "must be a whole number of 0 or more");
      }
      return accept({ ...settings, toolCallCutoff: change.toolCallCutoff });
    case "set-strategy": {
      const strategy = TOOL_SUMMARY_STRATEGIES.find((known) => known === change.toolSummaryStrategy);
      if (strategy === undefined) {
        return reject("toolSummaryStrategy", `must be one of ${TOOL_SUMMARY_STRATEGIES.join(", ")}`);
      }
      return accept({ ...settings, toolSummaryStrategy: strategy });
    }
    default:
      change satisfies never;
      return reject("type", "unknown change");
  }
}

/** What may be changed while a session runs. */
export type SettingsChange =
  | { readonly type: "set-auto"; readonly autoCompact: boolean }
  | { readonly type: "set-cutoff"; readonly toolCallCutoff: number }
  | { readonly type: "set-strategy"; readonly toolSummaryStrategy: string };

export type ChangedSettings =
  | { readonly status: "changed"; readonly settings: CompactionSettings }
  | { readonly status: "rejected"; readonly problem: SettingsProblem };

function accept(settings: CompactionSettings): ChangedSettings {
  return { status: "changed", settings };
}

function reject(path: string, problem: string): ChangedSettings {
  return { status: "rejected", problem: { path, problem } };
}
