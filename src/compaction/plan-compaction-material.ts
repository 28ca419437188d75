import type { ModelRef, Transcript } from "../transcript/message.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "./compaction-settings.ts";
import type { Split } from "./plan-compaction-split.ts";
import type { CompactionInput } from "./plan-compaction-types.ts";
import type { TextCleaner } from "./summary-clean-text.ts";
import { MAX_SUMMARY_SHARE, MAX_SUMMARY_TOKENS } from "./summary-gate.ts";
import { type Piece, piecesOf } from "./summary-pieces.ts";
import type { PreviousSummary } from "./summary-previous.ts";
import type { SummaryMaterial } from "./summary-request.ts";
import { serializePieces } from "./summary-serialize.ts";

/** What the summarizer is asked about, and within which limits. */
export function summaryMaterial({
  input,
  split,
  pieces,
  previous,
  cleaner,
  replacedTokens,
}: MaterialInput): SummaryMaterial {
  const { summarizer = {}, limits, settings = DEFAULT_COMPACTION_SETTINGS } = input;
  const turnIds = new Set(split.turnPrefix.map((message) => message.id));
  const before = pieces.filter((piece) => !turnIds.has(piece.message.id));
  const blocks = serializePieces(before);
  const first = pieces.find((piece) => piece.type === "typed");
  const model = summarizer.model ?? modelOf(input.transcript);
  const caps = [summarizer.outputTokens ?? 0, Math.floor(settings.reserveTokens * RESERVE_SHARE)];
  return {
    blocks,
    turnBlocks: serializePieces(piecesOf(split.turnPrefix, cleaner)),
    ...(previous && { previousSummary: previous.prose }),
    ...(first && { firstRequest: serializePieces([first])[0] }),
    windowTokens:
      positive(summarizer.windowTokens) ?? positive(limits?.contextTokens) ?? DEFAULT_WINDOW_TOKENS,
    maxOutputTokens: Math.min(MAX_SUMMARY_TOKENS, ...caps.filter((tokens) => tokens > 0)),
    maxSummaryTokens: Math.min(MAX_SUMMARY_TOKENS, Math.floor(replacedTokens * MAX_SUMMARY_SHARE)),
    ...(model && { model }),
  };
}

export interface MaterialInput {
  readonly input: CompactionInput;
  readonly split: Split;
  readonly pieces: readonly Piece[];
  readonly previous: PreviousSummary | undefined;
  readonly cleaner: TextCleaner;
  readonly replacedTokens: number;
}

/** Assumed where nobody knows the summarizer's window. */
const DEFAULT_WINDOW_TOKENS = 32_000;
const RESERVE_SHARE = 0.8;

/** The model the user was talking to, which sums up unless another one is named. */
function modelOf(transcript: Transcript): ModelRef | undefined {
  return transcript.findLast((message) => message.role === "user" && message.model !== undefined)?.model;
}

function positive(tokens: number | undefined): number | undefined {
  return tokens !== undefined && tokens > 0 ? tokens : undefined;
}
