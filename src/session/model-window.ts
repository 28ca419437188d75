import type { ProviderErrorReport } from "../compaction/provider-errors/classify-provider-error.ts";
import {
  inputWindowTokens,
  isOverflow,
  type ModelLimits,
  mostReserveTokens,
  OUTPUT_TOKEN_MAX,
  type OverflowSettings,
  usableTokens,
} from "../compaction/trigger/overflow.ts";
import {
  type CompactionSettings,
  effectiveTokenLimit,
  type ModelWindow,
  type TokenLimit,
} from "../compaction/trigger/should-compact.ts";
import { type ModelFacts, modelFacts, windowThatTook } from "../models/model-facts.ts";
import { asObject, omitUndefined } from "../text/json.ts";
import type { ModelRef, Usage } from "../transcript/message.ts";
import type { ResolvedSessionOptions } from "./options.ts";
import type { LearnedWindow } from "./state.ts";

/**
 * What is believed about the window of the model that is asked next: the limits that were given, else what is known of
 * the model, and what refusals and answers of this very model have shown. Everything that a session derives from a window is computed here: the limit at
 * which it is compacted, the usable part that reported usage is compared with, and the room for new content.
 */
export interface BelievedWindow {
  /** What is known of the model. */
  facts(): ModelFacts;
  /** The limits as they are believed now, in the provider's tokens. 0 means unknown. */
  limits(): ModelLimits;
  /** The same in tokens of our own estimate, of which a provider may count more. */
  estimateLimits(): ModelLimits;
  /** The arguments of `effectiveTokenLimit` and `shouldCompact`. */
  modelWindow(): ModelWindow;
  /** The number of tokens at which the window is compacted. */
  tokenLimit(): TokenLimit;
  /** What a refused request has to come down to: the limit of the default profile, also where 004's is another. */
  fittingTokens(): number;
  /** What the limit leaves for the conversation beside system prompt and tools; Infinity when unknown. */
  roomTokens(): number;
  /** The limit by which the gain of a compaction is judged: in the default profile without what none can take away. */
  conversationLimit(): Pick<TokenLimit, "limitTokens">;
  /** How usage is compared with the window. */
  overflowSettings(): Partial<OverflowSettings>;
  /** Whether reported usage fills the window. */
  overflowOf(usage: Usage | undefined): ReturnType<typeof isOverflow>;
  /** What is due is compared with this: the limit, or the usable part that reported usage is compared with. */
  dueTokens(): number;
  /** Where an owner that compacts by itself does so; 0 where that is not known. */
  ownerTokens(): number;
  /** True when a known window is all taken by the reserve for the answer. */
  isAllReserved(): boolean;
  /** Learns from a refusal of a request that was estimated at `sentTokens`. */
  refused(report: ProviderErrorReport, sentTokens: number): void;
  /** Learns from an answer to a request that was estimated at `sentTokens`. */
  accepted(usage: Usage | undefined, sentTokens: number): void;
  /**
   * Raises a window that nobody named to one that takes what was accepted; the new window, or undefined where the window
   * was given or is that large.
   */
  raise(usage: Usage | undefined): number | undefined;
  /** Takes the limits of another model; what was learned of either is kept. */
  setLimits(limits: Partial<ModelLimits>): void;
  /** What was learned, as plain data. */
  learned(): readonly LearnedWindow[];
  /** Takes what `learned` gave, in this process or an earlier one; what cannot be read is left out. */
  restore(learned: unknown): void;
}

/** The window of a session; `overheadTokens` is the estimate of system prompt and tools. */
export function createBelievedWindow(
  options: ResolvedSessionOptions,
  live: LiveSession,
  overheadTokens: () => number,
): BelievedWindow {
  const { profile } = options;
  const learned = new Map<string, LearnedWindow>();
  let given = options.limits;
  const key = (): string => {
    const { model } = live;
    return model === undefined ? "" : `${model.provider}/${model.id}`;
  };
  const learn = (known: Omit<LearnedWindow, "model">): void => {
    const windowTokens = Math.max(MIN_WINDOW_TOKENS, Math.floor(known.windowTokens));
    learned.set(key(), { ...known, windowTokens, model: key() });
  };

  let looked: { readonly key: string; readonly facts: ModelFacts } | undefined;
  function facts(): ModelFacts {
    if (looked?.key !== key())
      looked = { key: key(), facts: modelFacts(live.model ?? {}, { rows: options.models }) };
    return looked.facts;
  }

  const isWindowGiven = (): boolean => (given.contextTokens ?? 0) > 0;

  /** What was given, completed by what is known of the model; 0 where neither says anything. */
  function known(): ModelLimits {
    if (live.model === undefined) return { contextTokens: 0, outputTokens: 0, ...given };
    const { contextTokens, outputTokens, inputTokens } = facts();
    // A limit of the input belongs to its window.
    return isWindowGiven()
      ? { contextTokens: 0, outputTokens, ...given }
      : { ...omitUndefined({ inputTokens }), outputTokens, ...given, contextTokens };
  }

  function limits(): ModelLimits {
    const { contextTokens, outputTokens, inputTokens = 0 } = known();
    const seen = learned.get(key());
    // What this model has shown counts before what is known of it, but raises nothing that was given.
    const withSeen = (tokens: number): number =>
      seen === undefined
        ? tokens
        : isWindowGiven()
          ? Math.min(tokens > 0 ? tokens : Number.POSITIVE_INFINITY, seen.windowTokens)
          : seen.windowTokens;
    return {
      contextTokens: withSeen(contextTokens),
      outputTokens,
      ...(inputTokens > 0 && { inputTokens: withSeen(inputTokens) }),
    };
  }

  function estimateLimits(): ModelLimits {
    const { countingFactor = 1 } = learned.get(key()) ?? {};
    const { contextTokens, inputTokens, outputTokens } = limits();
    const scaled = (tokens: number): number => Math.floor(tokens / countingFactor);
    return {
      contextTokens: scaled(contextTokens),
      outputTokens,
      ...(inputTokens !== undefined && { inputTokens: scaled(inputTokens) }),
    };
  }

  /** 004's formula knows neither a limit of the input nor another way of counting. */
  function modelWindow(): ModelWindow {
    const contextWindowTokens =
      profile === "documented" ? limits().contextTokens : inputWindowTokens(estimateLimits());
    return {
      contextWindowTokens,
      profile,
      overheadTokens: overheadTokens(),
      ...omitUndefined({ model: live.model, compactAt: options.compactAt }),
    };
  }

  const tokenLimit = (): TokenLimit => effectiveTokenLimit(live.settings, modelWindow());

  /** The default profile caps every reserve, so that usage in a small window does not overflow at once, or never. */
  function overflowSettings(): Partial<OverflowSettings> {
    const { overflow = {} } = options;
    const auto = live.settings.autoCompact && overflow.auto !== false;
    const windowTokens = inputWindowTokens(limits());
    if (profile === "documented" || windowTokens === 0) return { ...overflow, auto };
    const mostTokens = Math.max(1, mostReserveTokens(windowTokens, overheadTokens()));
    const { outputCapTokens = OUTPUT_TOKEN_MAX, reservedTokens = mostTokens } = overflow;
    return {
      ...overflow,
      auto,
      outputCapTokens: Math.min(outputCapTokens, mostTokens),
      ...(overflow.reservedTokens !== undefined && { reservedTokens: Math.min(reservedTokens, mostTokens) }),
    };
  }

  const overflowOf: BelievedWindow["overflowOf"] = (usage) =>
    isOverflow({ usage, limits: limits(), settings: overflowSettings() });

  /** A window below this size, of which the overhead cannot be taken away. */
  function below(tokens: number, share: number): number {
    const fixedTokens = overheadTokens();
    return tokens > fixedTokens ? fixedTokens + (tokens - fixedTokens) * share : tokens * share;
  }

  return {
    facts,
    limits,
    modelWindow,
    tokenLimit,
    estimateLimits,

    fittingTokens() {
      const contextWindowTokens = inputWindowTokens(limits());
      const { compactAt: _, ...window } = {
        ...modelWindow(),
        contextWindowTokens,
        profile: "default" as const,
      };
      return effectiveTokenLimit(live.settings, window).limitTokens ?? Number.POSITIVE_INFINITY;
    },

    roomTokens() {
      const { contextWindowTokens } = modelWindow();
      if (contextWindowTokens === 0) return Number.POSITIVE_INFINITY;
      const { limitTokens = contextWindowTokens } = tokenLimit();
      return Math.max(0, limitTokens - overheadTokens());
    },

    conversationLimit() {
      const { limitTokens } = tokenLimit();
      if (limitTokens === undefined || profile === "documented") return { limitTokens };
      return { limitTokens: Math.max(1, limitTokens - overheadTokens()) };
    },

    overflowSettings,
    overflowOf,

    dueTokens() {
      const { limitTokens = Number.POSITIVE_INFINITY } = tokenLimit();
      const { usableTokens } = overflowOf(undefined);
      return usableTokens > 0 ? Math.min(limitTokens, usableTokens) : limitTokens;
    },

    // Whoever owns the window caps no reserve.
    ownerTokens: () => usableTokens(limits(), options.overflow),
    isAllReserved: () => limits().contextTokens > 0 && usableTokens(limits(), overflowSettings()) <= 0,

    refused(report, sentTokens) {
      if (!report.isOverflow) return;
      const before = learned.get(key());
      const believedTokens = inputWindowTokens(limits()) || Number.POSITIVE_INFINITY;
      const { limitTokens = 0, observedTokens } = report;
      if (limitTokens >= MIN_WINDOW_TOKENS) {
        const factor = (observedTokens ?? limitTokens) / Math.max(1, sentTokens);
        const countingFactor = Math.min(MAX_FACTOR, Math.max(before?.countingFactor ?? 1, factor));
        learn({ windowTokens: Math.min(believedTokens, limitTokens), figure: "named", countingFactor });
        return;
      }
      // What was refused here is not what we see: no model's window is that small.
      if (sentTokens < MIN_WINDOW_TOKENS) return;
      const halfTokens =
        before?.figure === "assumed" ? below(before.windowTokens, 0.5) : Number.POSITIVE_INFINITY;
      learn({
        windowTokens: Math.min(believedTokens, halfTokens, below(sentTokens, REFUSED_SHARE)),
        figure: "assumed",
        countingFactor: before?.countingFactor ?? 1,
      });
    },

    accepted(usage, sentTokens) {
      // The first answer may be what names the model.
      const before = learned.get(key()) ?? learned.get("");
      if (before === undefined) return;
      learned.delete("");
      const countedTokens =
        usage === undefined ? 0 : usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
      const acceptedTokens = countedTokens || (before.figure === "assumed" ? sentTokens : 0);
      learn({
        ...before,
        windowTokens: Math.max(before.windowTokens, acceptedTokens),
        // With usage the estimate is the provider's own count.
        countingFactor: countedTokens > 0 ? 1 : before.countingFactor,
      });
    },

    raise(usage) {
      const countedTokens =
        usage === undefined ? 0 : usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
      const { model } = live;
      if (isWindowGiven() || model === undefined) return undefined;
      if (!Number.isFinite(countedTokens) || countedTokens <= inputWindowTokens(limits())) return undefined;
      const windowTokens = windowThatTook(model, countedTokens, { rows: options.models });
      learn({ windowTokens, figure: "accepted", countingFactor: 1 });
      return windowTokens;
    },

    setLimits(next) {
      given = next;
      learned.delete("");
    },

    learned: () => [...learned.values()],

    restore(states) {
      for (const state of Array.isArray(states) ? states : []) {
        const { model, windowTokens, figure, countingFactor } = asObject(state);
        const isUsable =
          typeof model === "string" &&
          typeof windowTokens === "number" &&
          windowTokens >= MIN_WINDOW_TOKENS &&
          (figure === "named" || figure === "assumed" || figure === "accepted") &&
          typeof countingFactor === "number" &&
          countingFactor >= 1;
        if (isUsable && !learned.has(model))
          learned.set(model, {
            model,
            windowTokens,
            figure,
            countingFactor: Math.min(MAX_FACTOR, countingFactor),
          });
      }
    },
  };
}

/** What may change while a session runs. */
interface LiveSession {
  readonly settings: CompactionSettings;
  readonly model: ModelRef | undefined;
}

/** No model takes less. Servers have named windows of 3 tokens; such a figure counts as none. */
const MIN_WINDOW_TOKENS = 1_000;
/** A larger difference is no difference in counting. */
const MAX_FACTOR = 4;
/** How far below a refused request the assumed window lies. */
const REFUSED_SHARE = 0.9;
