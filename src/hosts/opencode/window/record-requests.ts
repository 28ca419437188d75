import { fields, numberField, stringField } from "../../../formats/fields.ts";
import type { Feature } from "../combine-hooks.ts";
import type { PluginContext } from "../plugin-context.ts";
import { createRecentMap } from "../recent-map.ts";

/** Journals what each request of the model cost: tokens, what came from the provider's cache, and money. */
export function createRecordRequests(context: PluginContext): Feature {
  const seen = createRecentMap<string, true>(MAX_SEEN);
  return {
    name: "request journal",
    hooks: {
      event: async ({ event }) => {
        if (event.type !== "message.updated") return;
        const info = fields(event.properties.info);
        const id = stringField(info.id);
        const sessionId = stringField(info.sessionID);
        const isDone = numberField(fields(info.time).completed) !== undefined;
        if (info.role !== "assistant" || !isDone || id === undefined || sessionId === undefined) return;
        if (seen.get(id)) return;
        seen.set(id, true);
        const tokens = fields(info.tokens);
        const cache = fields(tokens.cache);
        context.record(sessionId, {
          type: "request",
          messageId: id,
          model: `${stringField(info.providerID) ?? "?"}/${stringField(info.modelID) ?? "?"}`,
          inputTokens: numberField(tokens.input) ?? 0,
          outputTokens: numberField(tokens.output) ?? 0,
          reasoningTokens: numberField(tokens.reasoning) ?? 0,
          cacheReadTokens: numberField(cache.read) ?? 0,
          cacheWriteTokens: numberField(cache.write) ?? 0,
          costUSD: numberField(info.cost) ?? 0,
          ...(info.summary === true && { summary: true }),
          ...(info.error !== undefined && { error: stringField(fields(info.error).name) ?? "error" }),
        });
      },
    },
  };
}

/** A finished message is told about several times, and soon. */
const MAX_SEEN = 4_096;
