import type { Feature } from "../combine-hooks.ts";
import type { ModelThresholds, PluginOptions } from "../plugin-options.ts";

/** What the options say about a model, in tokens. */
export interface ModelWindows {
  thresholds(model: string | undefined): WindowThresholds;
  /** The window that the host names for a model, once it has been asked. */
  contextTokens(model: string | undefined): number | undefined;
  readonly feature: Feature;
}

export interface WindowThresholds {
  /** Below it nothing is pruned; 0 when the options say nothing. */
  readonly pruneAtTokens: number;
  /** Newest tool output that pruning leaves alone; unset means the default. */
  readonly keepRecentTokens: number | undefined;
  /** How much a child may inherit unchanged; unset means half of its window. */
  readonly inheritAtMostTokens: number | undefined;
}

/** Knows the windows of the models that were used. */
export function createModelWindows({ models }: Pick<PluginOptions, "models">): ModelWindows {
  const windowTokens = new Map<string, number>();
  const contextTokens = (model: string | undefined): number | undefined =>
    model === undefined ? undefined : windowTokens.get(model);
  return {
    contextTokens,
    thresholds(model) {
      const { pruneAt, keepRecent, inheritAtMost }: ModelThresholds = models[model ?? ""] ?? {};
      const tokens = (threshold: number | string | undefined): number | undefined =>
        toTokens(threshold, contextTokens(model));
      return {
        pruneAtTokens: tokens(pruneAt) ?? 0,
        keepRecentTokens: tokens(keepRecent),
        inheritAtMostTokens: tokens(inheritAtMost),
      };
    },
    feature: {
      name: "model windows",
      hooks: {
        "chat.params": async ({ model }) => {
          const context = model.limit?.context;
          if (context !== undefined && context > 0)
            windowTokens.set(`${model.providerID}/${model.id}`, context);
        },
      },
    },
  };
}

/** A share of a window that is not known yet says nothing. */
function toTokens(
  threshold: number | string | undefined,
  windowTokens: number | undefined,
): number | undefined {
  if (threshold === undefined || typeof threshold === "number") return threshold;
  return windowTokens === undefined
    ? undefined
    : Math.floor((windowTokens * Number.parseFloat(threshold)) / 100);
}
