import { asNumber, asObject, asString } from "../text/json.ts";
import type { PluginContext } from "./context/context.ts";
import type { Feature } from "./host/features.ts";
import { createLruMap } from "./stores/lru-map.ts";

/** Journals what each request of the model cost: tokens, what came from the provider's cache, and money. */
export function createRecordRequests(context: PluginContext): Feature {
  const seen = createLruMap<string, true>(MAX_SEEN);
  return {
    name: "request journal",
    hooks: {
      event: async ({ event }) => {
        if (event.type !== "message.updated") return;
        const info = asObject(event.properties.info);
        const id = asString(info.id);
        const sessionId = asString(info.sessionID);
        const isDone = asNumber(asObject(info.time).completed) !== undefined;
        if (info.role !== "assistant" || !isDone || id === undefined || sessionId === undefined) return;
        if (seen.get(id)) return;
        seen.set(id, true);
        const tokens = asObject(info.tokens);
        const cache = asObject(tokens.cache);
        context.record(sessionId, {
          type: "request",
          messageId: id,
          model: `${asString(info.providerID) ?? "?"}/${asString(info.modelID) ?? "?"}`,
          inputTokens: asNumber(tokens.input) ?? 0,
          outputTokens: asNumber(tokens.output) ?? 0,
          reasoningTokens: asNumber(tokens.reasoning) ?? 0,
          cacheReadTokens: asNumber(cache.read) ?? 0,
          cacheWriteTokens: asNumber(cache.write) ?? 0,
          costUSD: asNumber(info.cost) ?? 0,
          ...(info.summary === true && { summary: true }),
          ...(info.error !== undefined && { error: asString(asObject(info.error).name) ?? "error" }),
        });
      },
    },
  };
}

/** A finished message is told about several times, and soon. */
const MAX_SEEN = 4_096;
