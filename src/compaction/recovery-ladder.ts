import { filterCompacted } from "../stages/filter-compacted.ts";
import { PRUNE_PROTECT, prune } from "../stages/prune.ts";
import type { Edit } from "../transcript/edit.ts";
import type { ContextEstimate, ContextEstimateOptions } from "../transcript/estimate-context-tokens.ts";
import type { Transcript } from "../transcript/message.ts";
import { cutOversized } from "./recover-cut-oversized.ts";
import { type FoldRequest, foldOld } from "./recover-fold.ts";
import { lastRequestOnly } from "./recover-last-request.ts";
import { shrinkTurn } from "./recover-shrink-turn.ts";
import { estimateEdited, estimateWire } from "./recover-wire.ts";

/**
 * The next step towards a window that fits, given the steps that were taken before: the first rung not yet climbed
 * that changes anything. The last rung is computed against the limit, so whatever is above it, that one fits.
 */
export function planRecovery(transcript: Transcript, request: RecoveryRequest): RecoveryPlan {
  const { limitTokens, tried, estimate = {} } = request;
  const before = estimateWire(transcript, estimate);
  if (before.high <= limitTokens) return { status: "fits", estimate: before };
  const lastTried = Math.max(-1, ...tried.map((rung) => RECOVERY_LADDER.indexOf(rung)));
  for (const rung of RECOVERY_LADDER.slice(lastTried + 1)) {
    if (rung === "compact") {
      if (request.model === "not-available") continue;
      return { status: "compact" };
    }
    const edits = EDITS_OF[rung](transcript, request);
    if (edits.length === 0) continue;
    const after = estimateEdited(transcript, edits, estimate);
    // A step that changes the window for the worse is no step.
    if (after.tokens >= before.tokens) continue;
    return { status: "step", rung, edits, estimate: after, fits: after.high <= limitTokens };
  }
  return { status: "exhausted", estimate: before };
}

/** The rungs from the gentlest to the one that always fits; each is climbed at most once for a request. */
export const RECOVERY_LADDER: readonly RecoveryRung[] = [
  "prune",
  "shrink-turn",
  "compact",
  "fold",
  "cut-oversized",
  "last-request",
];

export type RecoveryRung = MechanicalRung | "compact";

/** A rung for which no model is needed. */
export type MechanicalRung = "prune" | "shrink-turn" | "fold" | "cut-oversized" | "last-request";

export interface RecoveryRequest extends FoldRequest {
  /** What the upper bound of the estimate has to come down to. */
  readonly limitTokens: number;
  /** The rungs that were climbed for this request; those below the highest are not tried again. */
  readonly tried: readonly RecoveryRung[];
  /** `not-available` leaves the model's rung out. */
  readonly model?: "available" | "not-available";
  readonly estimate?: ContextEstimateOptions;
  /** Characters that one tool output may have otherwise. */
  readonly outputMaxChars?: number;
}

export type RecoveryPlan =
  | { readonly status: "fits"; readonly estimate: ContextEstimate }
  | {
      readonly status: "step";
      readonly rung: MechanicalRung;
      readonly edits: readonly Edit[];
      /** After the edits. */
      readonly estimate: ContextEstimate;
      readonly fits: boolean;
    }
  /** Now the one model call; plan again when it is done. */
  | { readonly status: "compact" }
  /** Not even the last rung fits: what is sent beside the messages takes all the room. */
  | { readonly status: "exhausted"; readonly estimate: ContextEstimate };

/** The documented limit of a tool output in bytes, taken as characters. */
export const RECOVERY_OUTPUT_MAX_CHARS = 51_200;

type EditsOf = (transcript: Transcript, request: RecoveryRequest) => readonly Edit[];

const EDITS_OF: Readonly<Record<MechanicalRung, EditsOf>> = {
  prune: (transcript, { limitTokens }) =>
    prune(transcript, {
      protectTokens: Math.min(PRUNE_PROTECT, Math.floor(limitTokens * PROTECTED_SHARE)),
      minimumTokens: 0,
    }).edits,
  "shrink-turn": (transcript, { outputMaxChars = RECOVERY_OUTPUT_MAX_CHARS }) =>
    shrinkTurn(filterCompacted(transcript), outputMaxChars),
  fold: foldOld,
  "cut-oversized": cutOversized,
  "last-request": (transcript, request) => lastRequestOnly(transcript, request) ?? [],
};

/** The documented protection is meant for large windows; in a small one it would protect everything. */
const PROTECTED_SHARE = 0.2;
