import { applyEdits } from "../transcript/apply-edits.ts";
import type { Edit } from "../transcript/edit.ts";
import type { ContextEstimateOptions } from "../transcript/estimate-context-tokens.ts";
import type { Transcript } from "../transcript/message.ts";
import { cutPartsTo } from "./recover-cut-parts.ts";
import { largestThat, MOST_CHARS_PER_TOKEN } from "./recover-last-request.ts";
import { estimateWire, wireOf } from "./recover-wire.ts";

/**
 * Edits that cut the longest parts of the window to one length, head and tail, the largest at which everything fits.
 * Empty when no length is small enough: then cutting would only spoil what is left.
 */
export function cutOversized(
  transcript: Transcript,
  { limitTokens, estimate }: CutOversizedOptions,
): readonly Edit[] {
  const wire = wireOf(transcript);
  const systems = wire.filter((message) => message.role === "system");
  const window = wire.filter((message) => message.role !== "system");
  const edits = (maxChars: number): readonly Edit[] =>
    cutPartsTo(window, { maxChars, stage: "recover-cut-oversized" });
  const fits = (extraChars: number): boolean => {
    const cut = applyEdits(window, edits(MIN_PART_CHARS + extraChars), { at: 0 });
    return estimateWire([...systems, ...cut], estimate).high <= limitTokens;
  };
  const extraChars = largestThat(fits, limitTokens * MOST_CHARS_PER_TOKEN);
  return extraChars === undefined ? [] : edits(MIN_PART_CHARS + extraChars);
}

export interface CutOversizedOptions {
  readonly limitTokens: number;
  readonly estimate?: ContextEstimateOptions;
}

/** Less of a part than this says nothing. */
const MIN_PART_CHARS = 200;
