import { listOf, numberFrom, objectOf, readOptions, type Shape, text, withDefault } from "../text/check.ts";
import {
  ESTIMATE_TOKENS_SHAPE,
  type EstimateTokensOptions,
  estimateTokens,
} from "../text/tokens/estimate-tokens.ts";
import {
  createToolMatcher,
  handleOf,
  hasOnlyStub,
  type ToolResult,
  toolResults,
} from "../transcript/content.ts";
import type { Edit, Handle, Stage } from "../transcript/edit.ts";
import type { MessageId, Transcript } from "../transcript/message.ts";
import { type CallId, CLEARED_PLACEHOLDER } from "../transcript/part.ts";
import { filterCompacted, startOfNewestTurns } from "./boundary.ts";

/**
 * Plans which old tool outputs to clear. A cleared output is not deleted: the model reads a placeholder, the output
 * stays stored, and `restore` brings it back.
 */
export function prune(messages: Transcript, options: PruneOptions = {}): PrunePlan {
  return planPrune(messages, readOptions(PRUNE_SHAPE, options));
}

/** The same plan as a stage; without edits when clearing would save too little. */
export function pruneStage(options: PruneOptions = {}): Stage {
  const settings = readOptions(PRUNE_SHAPE, options);
  return (transcript) => planPrune(transcript, settings).edits;
}

/** Options of `prune`. */
export interface PruneOptions {
  /**
   * The newest outputs that stay, in tokens; zero clears everything outside the protected turns.
   * @default 40,000
   * @when more of the newest outputs must stay
   */
  readonly protectTokens?: number;
  /**
   * Nothing is cleared unless it saves more than this, since each change invalidates the provider's cached prefix.
   * @default 20,000
   * @when a change of the prefix is cheaper or dearer for you
   */
  readonly minimumTokens?: number;
  /**
   * How many of the newest turns stay whole.
   * @default 2
   * @unit turns of the user
   * @when one turn of yours is a long loop: 0 lets old outputs of it go
   */
  readonly protectTurns?: number;
  /**
   * Tools whose results are never cleared; upper and lower case are the same.
   * @default skill
   * @when a tool prints instructions that must stay
   */
  readonly protectedTools?: readonly string[];
  /**
   * How outputs are counted; the thresholds are meant for the default, a quarter of the characters.
   * @default characters / 4
   * @when the thresholds shall count real tokens
   */
  readonly estimate?: EstimateTokensOptions;
}

/** What pruning would clear, and why it stopped where it did. */
export interface PrunePlan {
  /** Empty unless `applied`. */
  readonly edits: readonly Edit[];
  /** The outputs that may be cleared, newest first, also when they are too few to be cleared. */
  readonly candidates: readonly PruneCandidate[];
  /** Of all candidates together. */
  readonly prunedTokens: number;
  /** Of all outputs that were considered. */
  readonly totalTokens: number;
  readonly stoppedBy: PruneStop;
  /** True when the candidates are more than the minimum, so that the edits clear them. */
  readonly applied: boolean;
}

/** What ended the search: all turns are protected, a summary, an output cleared before, or the oldest message. */
type PruneStop = "guard" | "summary" | "cleared" | "start";

/** An output that may be cleared. */
interface PruneCandidate {
  readonly messageId: MessageId;
  readonly partIndex: number;
  readonly handle: Handle;
  readonly callId: CallId;
  readonly tool: string;
  readonly tokens: number;
  readonly chars: number;
}

/** Tokens that pruning must save, or nothing is pruned. */
export const PRUNE_MINIMUM = 20_000;

/** Tokens of the newest tool outputs that are never pruned. */
export const PRUNE_PROTECT = 40_000;

/** How many of the newest turns pruning and superseding leave alone. */
export const PRUNE_PROTECT_TURNS = 2;

/** Tools whose results are never cleared; upper and lower case are the same. */
export const PRUNE_PROTECTED_TOOLS: readonly string[] = ["skill"];

/** What each option of `prune` may be. */
export const PRUNE_SHAPE: Shape<PruneOptions, keyof PruneOptions> = {
  protectTokens: withDefault(numberFrom(0), PRUNE_PROTECT),
  minimumTokens: withDefault(numberFrom(0), PRUNE_MINIMUM),
  protectTurns: withDefault(numberFrom(0), PRUNE_PROTECT_TURNS),
  protectedTools: withDefault(listOf(text), PRUNE_PROTECTED_TOOLS),
  estimate: withDefault(objectOf(ESTIMATE_TOKENS_SHAPE), {}),
};

function planPrune(messages: Transcript, settings: Required<PruneOptions>): PrunePlan {
  const walk = walkBack(messages, settings);
  const applied = walk.prunedTokens > settings.minimumTokens;
  return { ...walk, applied, edits: applied ? walk.candidates.map(clear) : [] };
}

function walkBack(messages: Transcript, settings: Required<PruneOptions>) {
  const { protectTokens, protectTurns, estimate } = settings;
  const isProtected = createToolMatcher(settings.protectedTools);
  // Only messages after the newest compaction are sent.
  const window = filterCompacted(messages);
  const end = startOfNewestTurns(window, protectTurns);
  const start =
    window.slice(0, end).findLastIndex(({ role, summary }) => role === "assistant" && summary) + 1;

  const candidates: PruneCandidate[] = [];
  let totalTokens = 0;
  let prunedTokens = 0;
  let stoppedBy: PruneStop = start > 0 ? "summary" : end > 0 ? "start" : "guard";
  for (const result of toolResults(window.slice(start, end)).toReversed()) {
    // An archived result is only the line that names its summary, which must stay.
    if (result.status !== "done" || isProtected(result.part.tool) || hasOnlyStub(result.part)) continue;
    if (result.cleared) {
      stoppedBy = "cleared";
      break;
    }
    const tokens = estimateTokens(result.text, estimate);
    totalTokens += tokens;
    if (totalTokens <= protectTokens || result.text.length <= CLEARED_PLACEHOLDER.length) continue;
    prunedTokens += tokens;
    candidates.push(candidate(result, tokens));
  }
  return { candidates, prunedTokens, totalTokens, stoppedBy };
}

function candidate(result: ToolResult, tokens: number): PruneCandidate {
  const { message, partIndex, part } = result;
  return {
    messageId: message.id,
    partIndex,
    handle: handleOf(message, partIndex),
    callId: part.callId,
    tool: part.tool,
    tokens,
    chars: result.text.length,
  };
}

function clear({ messageId, partIndex, handle, chars }: PruneCandidate): Edit {
  return {
    type: "hide-part",
    messageId,
    partIndex,
    what: "output",
    stage: "prune",
    reason: "pruned",
    omitted: { chars, handle },
  };
}
