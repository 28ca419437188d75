import { modelFacts, windowThatTook } from "../models/model-facts.ts";
import type { ModelRow } from "../models/model-row.ts";
import type { ModelRef, Transcript } from "./message.ts";

/**
 * The context window of the model that this conversation would be sent to next: as recorded by the host, else by the
 * newest known model, or a larger one when that model accepted more.
 */
export function modelWindowOf(
  transcript: Transcript,
  { recordedTokens, provider, rows }: TranscriptWindowOptions = {},
): TranscriptWindow {
  if (recordedTokens !== undefined) return { tokens: recordedTokens, isKnown: true };
  const model = newestModel(transcript, rows) ?? { ...(provider !== undefined && { provider }) };
  const facts = modelFacts(model, { rows });
  const { contextTokens, inputTokens = contextTokens } = facts;
  const tokens = Math.min(contextTokens, inputTokens);
  const acceptedTokens = transcript.reduce((most, { usage, model: asked = model }) => {
    const sent = usage ? usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens : 0;
    return asked.id === model.id && Number.isFinite(sent) ? Math.max(most, sent) : most;
  }, 0);
  if (acceptedTokens > tokens)
    return { tokens: windowThatTook(model, acceptedTokens, { rows }), isKnown: false };
  return { tokens, isKnown: facts.known === "name" && !facts.assumed.includes("contextTokens") };
}

/** The newest model with a known name. Agents write names of their own where no model was asked. */
function newestModel(
  transcript: Transcript,
  rows: readonly ModelRow[] | undefined,
): Partial<ModelRef> | undefined {
  const seen = new Map<string, ModelRef>();
  for (const { model } of transcript.toReversed()) {
    if (model === undefined || seen.has(model.id)) continue;
    if (modelFacts({ id: model.id }, { rows }).known !== "none") return model;
    seen.set(model.id, model);
  }
  return [...seen.values()][0];
}

interface TranscriptWindowOptions {
  /** The window that the host recorded. */
  readonly recordedTokens?: number | undefined;
  /** The provider to assume when no message names a model. */
  readonly provider?: string | undefined;
  /** Model facts of the user. */
  readonly rows?: readonly ModelRow[] | undefined;
}

interface TranscriptWindow {
  readonly tokens: number;
  /** False when the number is that of a similar model, a usual value, or a guess. */
  readonly isKnown: boolean;
}
