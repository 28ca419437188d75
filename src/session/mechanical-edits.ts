import { filterCompacted } from "../stages/filter-compacted.ts";
import { keepLines } from "../stages/keep-lines.ts";
import { type CacheArithmetic, planEdits } from "../stages/plan-edits.ts";
import type { CacheProfile } from "../stages/provider-cache-profiles.ts";
import { prune } from "../stages/prune.ts";
import { supersede } from "../stages/supersede.ts";
import { applyEdits } from "../transcript/apply-edits.ts";
import type { Edit } from "../transcript/edit.ts";
import { estimateMessageTokens, type MessageEstimateOptions } from "../transcript/estimate-message-tokens.ts";
import type { Transcript } from "../transcript/message.ts";
import { charsOf } from "../transcript/size.ts";
import type { KnownPrune, LeaveLines } from "./session-prune.ts";

/**
 * The edits without a model that make a compaction needless or that pay for themselves, or undefined when there are
 * none worth breaking the provider's cached prefix for. What something newer replaces goes before what is only old.
 */
export function planMechanicalEdits(
  transcript: Transcript,
  request: MechanicalRequest,
): MechanicalPlan | undefined {
  const { neededTokens, estimate } = request;
  const spare = request.spare ?? ((edits) => edits);
  const superseded = spare(supersede(protection(request.prune))(transcript));
  const choose = (edits: readonly Edit[]): Chosen => {
    const { apply, arithmetic } = planEdits({
      transcript,
      edits,
      profile: request.profile,
      expectedTurns: request.expectedTurns,
      tokensOf: (message) => estimateMessageTokens(message, estimate),
      ...(request.leadingTokens !== undefined && { leadingTokens: request.leadingTokens }),
      ...(request.idleMs !== undefined && { idleMs: request.idleMs }),
      ...(neededTokens !== undefined && { neededTokens }),
    });
    return { edits: apply, savedTokens: arithmetic.chosen.savedTokensPerTurn, arithmetic };
  };
  const isEnough = ({ edits, savedTokens }: Chosen): boolean =>
    edits.length > 0 && savedTokens >= (neededTokens ?? minimumTokens(request.prune));

  if (neededTokens !== undefined) {
    const gentle = choose(superseded);
    if (isEnough(gentle)) return { type: "supersede", ...gentle };
  }
  const left = applyEdits(transcript, superseded, { at: 0 });
  for (const old of oldWork(left, request)) {
    const both = choose([...superseded, ...spare(old())]);
    if (isEnough(both)) return { type: both.edits.every(isSuperseded) ? "supersede" : "prune", ...both };
  }
  return undefined;
}

export interface MechanicalRequest {
  readonly prune: KnownPrune;
  readonly profile: CacheProfile;
  readonly expectedTurns: number;
  readonly estimate: MessageEstimateOptions;
  /** System prompt and tool definitions. */
  readonly leadingTokens?: number;
  readonly idleMs?: number;
  /** What has to go so that no compaction is needed; unset: only what pays for itself. */
  readonly neededTokens?: number;
  /** Leaves out what must not be edited, so that it is not counted as saved either. */
  readonly spare?: (edits: readonly Edit[]) => readonly Edit[];
}

export interface MechanicalPlan extends Chosen {
  readonly type: "prune" | "supersede";
}

interface Chosen {
  readonly edits: readonly Edit[];
  readonly savedTokens: number;
  readonly arithmetic: CacheArithmetic;
}

/** Less than this is not worth a change of the window, even where that costs nothing: it waits for more. */
function minimumTokens(known: KnownPrune): number {
  return known.how === "lines" ? (known.highTokens - known.lowTokens) / 2 : MIN_BATCH_TOKENS;
}

const MIN_BATCH_TOKENS = 4_000;

function protection(known: KnownPrune): Parameters<typeof supersede>[0] {
  const { protectTurns, protectedTools } = known.how === "lines" ? known : known.options;
  return {
    ...(protectTurns !== undefined && { protectTurns }),
    ...(protectedTools !== undefined && { protectedTools }),
  };
}

/** The ways in which what is only old can go, the one that leaves most first. */
function oldWork(left: Transcript, request: MechanicalRequest): readonly (() => readonly Edit[])[] {
  const known = request.prune;
  const clear = (): readonly Edit[] => prune(left, known.options).edits;
  if (known.how === "clear") return [clear];
  const lines = (): readonly Edit[] => leaveLines(left, known, request);
  return request.neededTokens === undefined ? [lines] : [lines, clear];
}

function leaveLines(left: Transcript, known: LeaveLines, request: MechanicalRequest): readonly Edit[] {
  const window = filterCompacted(left);
  const windowTokens = window.reduce(
    (sum, message) => sum + estimateMessageTokens(message, request.estimate),
    0,
  );
  if (request.neededTokens === undefined && windowTokens < known.highTokens) return [];
  const windowChars = window.reduce((sum, message) => sum + charsOf(message), 0);
  const keepChars = Math.round((known.lowTokens * windowChars) / Math.max(1, windowTokens));
  const { protectResults, protectTurns, protectedTools } = known;
  return keepLines({ keepChars, protectResults, protectTurns, protectedTools })(left);
}

function isSuperseded({ stage }: Edit): boolean {
  return stage === "supersede";
}
