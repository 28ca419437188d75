import type { ModelFacts } from "../../models/model-facts.ts";

/**
 * True where the provider's own compaction costs less than a summary of ours and the thoughts of the kept messages, which
 * the model would have to think again behind that. The provider reads the messages as they stand in its cache; once they
 * are gone from there it never pays. Where prices are not known nobody can say.
 */
export function paysByProvider({ model, writer, cache, tokens }: CompactionCosts): boolean {
  const prices = model.prices;
  if (cache === "cold" || prices === undefined) return false;
  const { longPrompts } = model;
  const isLong = longPrompts !== undefined && tokens.read >= longPrompts.fromTokens;
  const byProvider =
    tokens.read * prices.cacheRead * (isLong ? longPrompts.inputFactor : 1) +
    tokens.summary * prices.output * (isLong ? longPrompts.outputFactor : 1);
  const { input, output } = writer?.prices ?? prices;
  const byUs = tokens.ownRequest * input + tokens.summary * output;
  return byProvider < byUs + tokens.lostThoughts * prices.output;
}

/** What a compaction costs either way, in tokens and their prices. */
export interface CompactionCosts {
  /** The model of the conversation, which would compact it itself. */
  readonly model: Pick<ModelFacts, "prices" | "longPrompts">;
  /** The model that writes our summaries, where it is another one. */
  readonly writer?: Pick<ModelFacts, "prices">;
  /** Whether the provider still has the messages in its cache. */
  readonly cache: "warm" | "cold";
  readonly tokens: {
    /** Everything before the kept messages, system prompt and tools included. */
    readonly read: number;
    readonly summary: number;
    /** What our own summarizer would be given. */
    readonly ownRequest: number;
    /** Thoughts in the kept messages that hold now. */
    readonly lostThoughts: number;
  };
}
