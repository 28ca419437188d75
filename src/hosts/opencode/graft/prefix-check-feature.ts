import { fields, numberField, stringField } from "../../../formats/fields.ts";
import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import type { Feature } from "../combine-hooks.ts";
import type { Forks } from "../forks/create-forks.ts";
import type { PluginContext } from "../plugin-context.ts";
import { createRecentMap } from "../recent-map.ts";

/** Looks after the first step of an exact child whether the provider really read the parent's prefix from its cache. */
export function createPrefixCheckFeature({ context, forks }: PrefixCheckSetup): Feature {
  const checked = createRecentMap<string, true>(MAX_CHECKED);
  return {
    name: "prefix check",
    hooks: {
      event: async ({ event }) => {
        if (event.type !== "message.updated") return;
        const info = fields(event.properties.info);
        const sessionId = stringField(info.sessionID);
        if (sessionId === undefined || checked.get(sessionId)) return;
        if (info.role !== "assistant" || info.finish === undefined || info.error !== undefined) return;
        const bond = await forks.bonds.bondOf(sessionId);
        if (bond?.way !== "exact" || bond.blob === undefined || checked.get(sessionId)) return;
        checked.set(sessionId, true);
        const view = await forks.views.get(bond.blob);
        const parentTokens = view.status === "found" ? lastInputTokens(view.messages) : 0;
        const readTokens = numberField(fields(fields(info.tokens).cache).read) ?? 0;
        if (parentTokens === 0 || readTokens >= ENOUGH * parentTokens) return;
        context.record(sessionId, { type: "prefix-miss", fork: bond.id, readTokens, parentTokens });
        context.notify.toastOnce(
          "A fork did not read the conversation from the provider's cache, so it costs more than expected.",
          "warning",
        );
      },
    },
  };
}

export interface PrefixCheckSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}

const MAX_CHECKED = 1_024;

/** Providers reuse whole blocks of a prefix, and the newest step may not be cached yet. */
const ENOUGH = 0.8;

/** What the provider counted as the input of the newest finished step. */
function lastInputTokens(messages: readonly SessionMessage[]): number {
  const finished = messages.findLast(({ info }) => info.role === "assistant" && info.finish !== undefined);
  const { input, cache } = fields(finished?.info.tokens);
  const { read, write } = fields(cache);
  return [input, read, write].reduce<number>((sum, value) => sum + (numberField(value) ?? 0), 0);
}
