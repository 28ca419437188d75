import type { Transcript } from "../transcript/message.ts";
import { type Pin, pinText, resolvePins } from "./pins.ts";
import { createTextCleaner, type Redaction, type TextCleaner } from "./summary-clean-text.ts";
import { collectFacts, type FactsBudget, renderFacts } from "./summary-facts.ts";
import { piecesOf } from "./summary-pieces.ts";
import { element } from "./summary-prompt.ts";

/**
 * What somebody else's summary of these messages must not lose, as text: pins, the user's words, files touched, and exact
 * things seen on the way, errors among them.
 */
export function factsOf(transcript: Transcript, { pins, budget, redaction }: FactsOfOptions): string {
  const cleaner = createTextCleaner(redaction);
  const facts = collectFacts({
    carried: undefined,
    pins: resolvePins({ transcript, pins, carried: [], cleaner }).pins,
    folded: transcript,
    pieces: piecesOf(transcript, cleaner),
    firstHandle: transcript[0]?.id,
    mustHandle: undefined,
    budget,
    cleaner,
  });
  return renderFacts(facts, { budget, share: 1, pinsInPlace: [], mustHandle: undefined });
}

export interface FactsOfOptions {
  readonly pins: readonly Pin[];
  readonly budget: FactsBudget;
  readonly redaction?: Redaction;
}

/** Pins as they stand in somebody else's request for a summary; empty when there are none. */
export function pinsOf(transcript: Transcript, { pins, redaction }: Omit<FactsOfOptions, "budget">): string {
  const cleaner: TextCleaner = createTextCleaner(redaction);
  const texts = resolvePins({ transcript, pins, carried: [], cleaner }).pins.map(pinText);
  return texts.length === 0 ? "" : element("pinned", texts.join("\n\n"));
}
