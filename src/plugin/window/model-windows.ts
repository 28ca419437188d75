import { type ModelLimits, type OverflowSettings, usableTokens } from "../../compaction/trigger/overflow.ts";
import { type CacheProfile, cacheProfileOf } from "../../models/cache-profile.ts";
import { modelFacts } from "../../models/model-facts.ts";
import type { ModelCells } from "../../models/model-row.ts";
import { ABOUT_TO_SHARE } from "../../session/decide.ts";
import { omitUndefined } from "../../text/unknown-value.ts";
import type { ModelRef } from "../../transcript/message.ts";
import type { Feature } from "../context/context.ts";
import type { ModelOptions, PluginOptions } from "../context/options.ts";
import type { ModelFacts } from "../host/host-parts.ts";

/** What the agent and the options say about the models that were used; a model is named "provider/model". */
export interface ModelWindows {
  thresholds(model: string): WindowThresholds;
  /** Unset until the agent has asked the model once, and where nobody knows it. */
  windowOf(model: string): ModelWindow | undefined;
  /** What a cached prompt costs, in multiples of the price of input. */
  cacheOf(model: ModelFacts | undefined): CacheProfile;
  /** A model has taken so much that a window which nobody named must be this large. */
  raise(model: string, contextTokens: number): void;
  readonly feature: Feature;
}

interface ModelWindow {
  readonly limits: ModelLimits;
  /** Whether the options or the agent say so; otherwise it is what is known of the model. */
  readonly isNamed: boolean;
  readonly cache: CacheProfile;
}

/** What the options say about a model, in tokens. */
interface WindowThresholds {
  /** Below it nothing is pruned. */
  readonly pruneAtTokens: number;
  /** Newest tool output that pruning leaves alone; unset means the default. */
  readonly keepTokens: number | undefined;
}

/** Learns the windows of the models that are used. */
export function createModelWindows(
  { models, prune }: Pick<PluginOptions, "models" | "prune">,
  overflow: Partial<OverflowSettings> = {},
): ModelWindows {
  const known = new Map<string, ModelWindow>();
  const factsOf = (model: ModelRef) => models[nameOf(model)]?.facts;
  return {
    windowOf: (model) => known.get(model),
    cacheOf: (model) => cacheOf(model, model && factsOf(model)),
    raise(model, contextTokens) {
      const window = known.get(model);
      if (window === undefined || window.isNamed || contextTokens <= window.limits.contextTokens) return;
      const { outputTokens } = window.limits;
      known.set(model, { ...window, limits: { contextTokens, outputTokens } });
    },
    thresholds(model) {
      const { pruneAt, keepTokens }: ModelOptions = models[model] ?? {};
      const limits = known.get(model)?.limits;
      const windowTokens = limits?.contextTokens;
      const fullTokens = limits === undefined ? 0 : usableTokens(limits, overflow) * ABOUT_TO_SHARE;
      // A share of a window that is not known yet is never reached.
      const defaultTokens = prune === "auto" ? 0 : fullTokens > 0 ? fullTokens : Infinity;
      return {
        pruneAtTokens: toTokens(pruneAt, windowTokens) ?? (pruneAt === undefined ? defaultTokens : Infinity),
        keepTokens: toTokens(keepTokens, windowTokens),
      };
    },
    feature: {
      name: "model windows",
      async onSignal(signal) {
        if (signal.type !== "request") return;
        const window = windowOf(signal.model, factsOf(signal.model));
        const before = known.get(nameOf(signal.model));
        // What was raised stays so until somebody names it.
        const isRaised =
          before?.isNamed === false &&
          window?.isNamed === false &&
          before.limits.contextTokens > window.limits.contextTokens;
        if (window !== undefined && !isRaised) known.set(nameOf(signal.model), window);
      },
    },
  };
}

/** What the options say, else the agent, else what is known of the model. */
function windowOf(model: ModelFacts, given: ModelCells | undefined): ModelWindow | undefined {
  const said = omitUndefined({
    contextTokens: positive(model.contextTokens),
    inputTokens: positive(model.inputTokens),
    outputTokens: Math.max(0, model.outputTokens ?? 0),
  });
  const cache = cacheOf(model, given);
  const isNamed = given?.contextTokens !== undefined || said.contextTokens !== undefined;
  const { known, contextTokens, inputTokens, outputTokens } = factsWith(model, given);
  if (given?.contextTokens === undefined && said.contextTokens !== undefined)
    return { limits: { ...said, contextTokens: said.contextTokens }, isNamed, cache };
  if (known === "none") return undefined;
  return { limits: { contextTokens, outputTokens, ...omitUndefined({ inputTokens }) }, isNamed, cache };
}

function positive(tokens: number | undefined): number | undefined {
  return tokens !== undefined && tokens > 0 ? tokens : undefined;
}

/** The agent's own prices before those that go with the name; how long a prompt is kept only the name tells. */
function cacheOf(model: ModelFacts | undefined, given: ModelCells | undefined): CacheProfile {
  const { prices } = model ?? {};
  const profile = cacheProfileOf(model === undefined ? modelFacts({}) : factsWith(model, given));
  if (prices === undefined || !(prices.cacheRead > 0) || given?.prices !== undefined) return profile;
  return {
    ...profile,
    readMultiplier: prices.cacheRead / prices.input,
    writeMultiplier: prices.cacheWrite > 0 ? prices.cacheWrite / prices.input : 1,
  };
}

/** What is known of a model, with what the options say of it. */
export function factsWith(
  { provider, id }: ModelRef,
  given: ModelCells | undefined,
): ReturnType<typeof modelFacts> {
  return modelFacts({ provider, id }, { rows: given && [{ names: [id], ...given }] });
}

/** A share of a window that is not known yet is undefined. */
function toTokens(
  threshold: number | string | undefined,
  windowTokens: number | undefined,
): number | undefined {
  if (threshold === undefined || typeof threshold === "number") return threshold;
  return windowTokens === undefined
    ? undefined
    : Math.floor((windowTokens * Number.parseFloat(threshold)) / 100);
}

export function nameOf({ provider, id }: ModelRef): string {
  return `${provider}/${id}`;
}
