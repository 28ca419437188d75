import type { ProviderErrorReport } from "../compaction/provider-errors/classify-provider-error.ts";
import type { CompactionSettings } from "../compaction/trigger/compaction-settings.ts";
import {
  inputWindowTokens,
  isOverflow,
  type ModelLimits,
  mostReserveTokens,
  OUTPUT_TOKEN_MAX,
  type OverflowSettings,
  usableTokens,
} from "../compaction/trigger/overflow.ts";
import { effectiveTokenLimit, type ModelWindow, type TokenLimit } from "../compaction/trigger/token-limit.ts";
import { type ModelFacts, modelFacts, windowThatTook } from "../models/model-facts.ts";
import { deepEqual } from "../text/deep-equal.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import type { ModelRef, Usage } from "../transcript/message.ts";
import { type LearnedWindow, MAX_FACTOR, MIN_WINDOW_TOKENS } from "./learned-window.ts";
import type { ResolvedSessionOptions } from "./options.ts";

/** What a session knows of the window of the model that is asked next. */
export interface KnownWindow {
  readonly model: ModelRef | undefined;
  /** The limits that were given. */
  readonly limits: Partial<ModelLimits>;
  readonly settings: CompactionSettings;
  /** What was learned, of this model and others. */
  readonly windows: readonly LearnedWindow[];
}

type WindowOptions = Pick<ResolvedSessionOptions, "profile" | "models" | "overflow" | "compactAt">;

/** What is known of a model by the table and the rows that the options give. */
export function factsOf(
  { model }: Pick<KnownWindow, "model">,
  { models }: Pick<WindowOptions, "models">,
): ModelFacts {
  const table = models ?? BUILT_IN;
  const known = factsByModel.get(table) ?? new Map<string, ModelFacts>();
  factsByModel.set(table, known);
  const key = keyOf(model);
  const facts = known.get(key) ?? modelFacts(model ?? {}, { rows: models });
  known.set(key, facts);
  return facts;
}

const BUILT_IN = {};
const factsByModel = new WeakMap<object, Map<string, ModelFacts>>();

/** The limits as they are known, in the provider's tokens; 0 means unknown. */
export function limitsOf(known: KnownWindow, options: WindowOptions): ModelLimits {
  const { contextTokens, outputTokens, inputTokens = 0 } = namedLimits(known, options);
  const seen = learnedOf(known);
  // What this model has shown counts before what is known of it, but raises nothing that was given.
  const withSeen = (tokens: number): number =>
    seen === undefined
      ? tokens
      : isWindowGiven(known)
        ? Math.min(tokens > 0 ? tokens : Number.POSITIVE_INFINITY, seen.windowTokens)
        : seen.windowTokens;
  return {
    contextTokens: withSeen(contextTokens),
    outputTokens,
    ...(inputTokens > 0 && { inputTokens: withSeen(inputTokens) }),
  };
}

/** What was given, completed by what is known of the model; 0 where neither says anything. */
function namedLimits(known: KnownWindow, options: WindowOptions): ModelLimits {
  const { limits: given, model } = known;
  if (model === undefined) return { contextTokens: 0, outputTokens: 0, ...given };
  const { contextTokens, outputTokens, inputTokens } = factsOf(known, options);
  // A limit of the input belongs to its window.
  return isWindowGiven(known)
    ? { contextTokens: 0, outputTokens, ...given }
    : { ...omitUndefined({ inputTokens }), outputTokens, ...given, contextTokens };
}

function isWindowGiven({ limits }: KnownWindow): boolean {
  return (limits.contextTokens ?? 0) > 0;
}

function keyOf(model: ModelRef | undefined): string {
  return model === undefined ? "" : `${model.provider}/${model.id}`;
}

function learnedOf({ windows, model }: KnownWindow): LearnedWindow | undefined {
  const key = keyOf(model);
  return windows.find((window) => window.model === key);
}

/**
 * Everything that follows from the window: the limit at which it is compacted, the usable part that reported usage is
 * compared with, and the room for new content.
 */
export interface KnownLimits {
  readonly facts: ModelFacts;
  /** In the provider's tokens. 0 means unknown. */
  readonly limits: ModelLimits;
  /** The same in tokens of our own estimate, of which a provider may count more. */
  readonly estimateLimits: ModelLimits;
  /** The arguments of `effectiveTokenLimit` and `shouldCompact`. */
  readonly modelWindow: ModelWindow;
  /** The number of tokens at which the window is compacted. */
  readonly tokenLimit: TokenLimit;
  /** What a refused request has to come down to: the limit of the default profile, also where 004's is another. */
  readonly fittingTokens: number;
  /** What the limit leaves for the conversation beside system prompt and tools; Infinity when unknown. */
  readonly roomTokens: number;
  /** The limit by which the gain of a compaction is judged: in the default profile without what none can take away. */
  readonly conversationLimit: Pick<TokenLimit, "limitTokens">;
  /** How usage is compared with the window. */
  readonly overflowSettings: Partial<OverflowSettings>;
  /** Whether reported usage fills the window. */
  overflowOf(usage: Usage | undefined): ReturnType<typeof isOverflow>;
  /** What is due is compared with this: the limit, or the usable part that reported usage is compared with. */
  readonly dueTokens: number;
  /** Where an owner that compacts by itself does so; 0 where that is not known. */
  readonly ownerTokens: number;
  /** True when a known window is all taken by the reserve for the answer. */
  readonly isAllReserved: boolean;
}

/** The window of a session; `overheadTokens` is the estimate of system prompt and tools. */
export function readKnownLimits(
  known: KnownWindow,
  options: WindowOptions,
  overheadTokens: number,
): KnownLimits {
  const { profile, overflow = {}, compactAt } = options;
  const { settings, model } = known;
  const limits = limitsOf(known, options);
  const estimateLimits = inEstimatedTokens(limits, learnedOf(known)?.countingFactor ?? 1);
  // 004's formula knows neither a limit of the input nor another way of counting.
  const modelWindow: ModelWindow = {
    contextWindowTokens: profile === "documented" ? limits.contextTokens : inputWindowTokens(estimateLimits),
    profile,
    overheadTokens,
    ...omitUndefined({ model, compactAt }),
  };
  const tokenLimit = effectiveTokenLimit(settings, modelWindow);
  const overflowSettings = overflowSettingsOf({ overflow, limits, profile, overheadTokens, settings });
  const overflowOf: KnownLimits["overflowOf"] = (usage) =>
    isOverflow({ usage, limits, settings: overflowSettings });
  const { limitTokens = Number.POSITIVE_INFINITY } = tokenLimit;
  const usable = overflowOf(undefined).usableTokens;
  const { contextWindowTokens } = modelWindow;
  const { compactAt: _, ...whenFull } = modelWindow;
  const fitting = effectiveTokenLimit(settings, {
    ...whenFull,
    contextWindowTokens: inputWindowTokens(limits),
    profile: "default",
  });
  return {
    facts: factsOf(known, options),
    limits,
    estimateLimits,
    modelWindow,
    tokenLimit,
    fittingTokens: fitting.limitTokens ?? Number.POSITIVE_INFINITY,
    roomTokens:
      contextWindowTokens === 0
        ? Number.POSITIVE_INFINITY
        : Math.max(0, (tokenLimit.limitTokens ?? contextWindowTokens) - overheadTokens),
    conversationLimit:
      tokenLimit.limitTokens === undefined || profile === "documented"
        ? { limitTokens: tokenLimit.limitTokens }
        : { limitTokens: Math.max(1, tokenLimit.limitTokens - overheadTokens) },
    overflowSettings,
    overflowOf,
    dueTokens: usable > 0 ? Math.min(limitTokens, usable) : limitTokens,
    // Whoever owns the window caps no reserve.
    ownerTokens: usableTokens(limits, options.overflow),
    isAllReserved: limits.contextTokens > 0 && usableTokens(limits, overflowSettings) <= 0,
  };
}

function inEstimatedTokens(limits: ModelLimits, countingFactor: number): ModelLimits {
  const { contextTokens, inputTokens, outputTokens } = limits;
  const scaled = (tokens: number): number => Math.floor(tokens / countingFactor);
  return {
    contextTokens: scaled(contextTokens),
    outputTokens,
    ...(inputTokens !== undefined && { inputTokens: scaled(inputTokens) }),
  };
}

/** The default profile caps every reserve, so that usage in a small window does not overflow at once, or never. */
function overflowSettingsOf({
  overflow,
  limits,
  profile,
  overheadTokens,
  settings,
}: OverflowInput): Partial<OverflowSettings> {
  const auto = settings.autoCompact && overflow.auto !== false;
  const windowTokens = inputWindowTokens(limits);
  if (profile === "documented" || windowTokens === 0) return { ...overflow, auto };
  const mostTokens = Math.max(1, mostReserveTokens(windowTokens, overheadTokens));
  const { outputCapTokens = OUTPUT_TOKEN_MAX, reservedTokens = mostTokens } = overflow;
  return {
    ...overflow,
    auto,
    outputCapTokens: Math.min(outputCapTokens, mostTokens),
    ...(overflow.reservedTokens !== undefined && { reservedTokens: Math.min(reservedTokens, mostTokens) }),
  };
}

interface OverflowInput {
  readonly overflow: Partial<OverflowSettings>;
  readonly limits: ModelLimits;
  readonly profile: ResolvedSessionOptions["profile"];
  readonly overheadTokens: number;
  readonly settings: CompactionSettings;
}

/** What a refusal of a request that was estimated at `sentTokens` shows. */
export function windowsAfterRefusal(
  known: KnownWindow,
  options: WindowOptions,
  { report, sentTokens, overheadTokens }: RefusedRequest,
): readonly LearnedWindow[] {
  if (!report.isOverflow) return known.windows;
  const before = learnedOf(known);
  const believedTokens = inputWindowTokens(limitsOf(known, options)) || Number.POSITIVE_INFINITY;
  const { limitTokens = 0, observedTokens } = report;
  if (limitTokens >= MIN_WINDOW_TOKENS) {
    const factor = (observedTokens ?? limitTokens) / Math.max(1, sentTokens);
    const countingFactor = Math.min(MAX_FACTOR, Math.max(before?.countingFactor ?? 1, factor));
    const windowTokens = Math.min(believedTokens, limitTokens);
    return withLearned(known, { windowTokens, figure: "named", countingFactor });
  }
  // What was refused here is not what we see: no model's window is that small.
  if (sentTokens < MIN_WINDOW_TOKENS) return known.windows;
  /** A window below this size, of which the overhead cannot be taken away. */
  const below = (tokens: number, share: number): number =>
    tokens > overheadTokens ? overheadTokens + (tokens - overheadTokens) * share : tokens * share;
  const halfTokens =
    before?.figure === "assumed" ? below(before.windowTokens, 0.5) : Number.POSITIVE_INFINITY;
  return withLearned(known, {
    windowTokens: Math.min(believedTokens, halfTokens, below(sentTokens, REFUSED_SHARE)),
    figure: "assumed",
    countingFactor: before?.countingFactor ?? 1,
  });
}

interface RefusedRequest {
  readonly report: ProviderErrorReport;
  readonly sentTokens: number;
  readonly overheadTokens: number;
}

/** What an answer shows of a window that was learned before: it is at least as large as what was counted, or sent. */
export function windowsAfterAnswer(
  known: KnownWindow,
  { usage, sentTokens }: { readonly usage: Usage | undefined; readonly sentTokens: number },
): readonly LearnedWindow[] {
  // The first answer may be what names the model.
  const before = learnedOf(known) ?? known.windows.find(({ model }) => model === "");
  if (before === undefined) return known.windows;
  const countedTokens = countedOf(usage);
  const acceptedTokens = countedTokens || (before.figure === "assumed" ? sentTokens : 0);
  const windows = known.windows.filter(({ model }) => model !== "");
  return withLearned(
    { ...known, windows },
    {
      ...before,
      windowTokens: Math.max(before.windowTokens, acceptedTokens),
      // With usage the estimate is the provider's own count.
      countingFactor: countedTokens > 0 ? 1 : before.countingFactor,
    },
  );
}

/** True where an answer may change what is known of the window, if its usage is believed. */
export function mayShowWindow(known: KnownWindow, options: WindowOptions, usage: Usage | undefined): boolean {
  const learned = learnedOf(known) ?? known.windows.find(({ model }) => model === "");
  return learned !== undefined || showsLargerWindow(known, options, usage);
}

/** True where a model took more than its window was known to be, and nobody has given that window. */
export function showsLargerWindow(
  known: KnownWindow,
  options: WindowOptions,
  usage: Usage | undefined,
): boolean {
  if (isWindowGiven(known) || known.model === undefined) return false;
  return countedOf(usage) > inputWindowTokens(limitsOf(known, options));
}

/** The windows with this model's raised to one that takes what was accepted. */
export function withRaisedWindow(
  known: KnownWindow,
  options: WindowOptions,
  usage: Usage | undefined,
): readonly LearnedWindow[] {
  const windowTokens = windowThatTook(known.model ?? {}, countedOf(usage), { rows: options.models });
  return withLearned(known, { windowTokens, figure: "accepted", countingFactor: 1 });
}

function countedOf(usage: Usage | undefined): number {
  if (usage === undefined) return 0;
  const tokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return Number.isFinite(tokens) ? tokens : 0;
}

function withLearned(
  { windows, model }: KnownWindow,
  learned: Omit<LearnedWindow, "model">,
): readonly LearnedWindow[] {
  const windowTokens = Math.max(MIN_WINDOW_TOKENS, Math.floor(learned.windowTokens));
  const entry = { ...learned, windowTokens, model: keyOf(model) };
  const index = windows.findIndex((window) => window.model === entry.model);
  if (deepEqual(windows[index], entry)) return windows;
  return index === -1 ? [...windows, entry] : windows.with(index, entry);
}

/** How far below a refused request the assumed window lies. */
const REFUSED_SHARE = 0.9;
