import type { ModelRef, Transcript } from "../transcript/message.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "./compaction-settings.ts";
import type { ReadMessages } from "./plan-compaction-read.ts";
import type { Split } from "./plan-compaction-split.ts";
import type { CompactionInput } from "./plan-compaction-types.ts";
import type { TextCleaner } from "./summary-clean-text.ts";
import { MAX_SUMMARY_SHARE, MAX_SUMMARY_TOKENS } from "./summary-gate.ts";
import { piecesOf } from "./summary-pieces.ts";
import type { PreviousSummary } from "./summary-previous.ts";
import type { SummaryMaterial } from "./summary-request.ts";
import { serializePieces } from "./summary-serialize.ts";

/** What the summarizer is asked about, and within which limits. */
export function summaryMaterial({
  input,
  split,
  read,
  previous,
  cleaner,
  replacedTokens,
}: MaterialInput): SummaryMaterial {
  const { summarizer = {}, limits, settings = DEFAULT_COMPACTION_SETTINGS } = input;
  const turn = new Set(split.turnPrefix);
  // The request of a split turn stays, and is quoted all the same: the rest of the turn is the answer to it.
  const kept = new Set(split.kept);
  const request = split.turnPrefix.filter((message) => kept.has(message));
  const first = read.pieces.find((piece) => piece.type === "typed");
  const model = summarizer.model ?? modelOf(input.transcript);
  const windowTokens =
    positive(summarizer.windowTokens) ?? positive(limits?.contextTokens) ?? DEFAULT_WINDOW_TOKENS;
  const caps = [summarizer.outputTokens ?? 0, Math.floor(settings.reserveTokens * RESERVE_SHARE)];
  return {
    blocks: serializePieces(read.newestPieces.filter((piece) => !turn.has(piece.message))),
    turnBlocks: serializePieces([
      ...piecesOf(request, cleaner),
      ...read.newestPieces.filter((piece) => turn.has(piece.message)),
    ]),
    ...(first && { firstRequest: serializePieces([first])[0] }),
    skippedMessages: read.skippedMessages,
    skippedChars: read.skippedChars,
    ...(previous && { previousSummary: previous.prose }),
    windowTokens,
    maxOutputTokens: Math.min(
      MAX_SUMMARY_TOKENS,
      Math.floor(windowTokens * OUTPUT_SHARE),
      ...caps.filter((tokens) => tokens > 0),
    ),
    maxSummaryTokens: Math.min(MAX_SUMMARY_TOKENS, Math.floor(replacedTokens * MAX_SUMMARY_SHARE)),
    ...(model && { model }),
  };
}

export interface MaterialInput {
  readonly input: CompactionInput;
  readonly split: Split;
  readonly read: ReadMessages;
  readonly previous: PreviousSummary | undefined;
  readonly cleaner: TextCleaner;
  readonly replacedTokens: number;
}

/** Assumed where nobody knows the summarizer's window. */
const DEFAULT_WINDOW_TOKENS = 32_000;
const RESERVE_SHARE = 0.8;
/** In a small window the answer must leave room for the question. */
const OUTPUT_SHARE = 0.25;

/** The model the user was talking to, which sums up unless another one is named. */
function modelOf(transcript: Transcript): ModelRef | undefined {
  return transcript.findLast((message) => message.role === "user" && message.model !== undefined)?.model;
}

function positive(tokens: number | undefined): number | undefined {
  return tokens !== undefined && tokens > 0 ? tokens : undefined;
}
