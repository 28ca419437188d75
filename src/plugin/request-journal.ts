import { createLruMap } from "../text/lru-map.ts";
import type { Feature, PluginContext } from "./context/context.ts";

/** Journals what each request of the model cost: tokens, what came from the provider's cache, and money. */
export function createRequestJournal(context: PluginContext): Feature {
  const seen = createLruMap<string, true>(MAX_SEEN);
  return {
    name: "request journal",
    async onSignal(signal) {
      if (signal.type !== "answer" || seen.get(signal.request.messageId)) return;
      seen.set(signal.request.messageId, true);
      context.record(signal.sessionId, { ...signal.request });
    },
  };
}

/** An answer is told about several times, and soon. */
const MAX_SEEN = 4_096;
