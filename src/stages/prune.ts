import { ConfigurationError } from "../text/configuration-error.ts";
import { type EstimateTokensOptions, estimateTokens } from "../text/estimate-tokens.ts";
import type { Edit, Handle, Stage } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { type CallId, CLEARED_PLACEHOLDER } from "../transcript/part.ts";
import { handleOf, type ToolResult, toolResults } from "../transcript/tool-results.ts";
import { filterCompacted } from "./filter-compacted.ts";
import {
  createToolGuard,
  limitProblems,
  PRUNE_PROTECT_TURNS,
  PRUNE_PROTECTED_TOOLS,
  pruneGuard,
} from "./prune-guard.ts";

/**
 * What clearing old tool outputs would do, as a plan that changes nothing by itself.
 * Clearing is not deletion: the model reads a placeholder, the output stays stored and `restore` brings it back.
 */
export function prune(messages: Transcript, options: PruneOptions = {}): PrunePlan {
  return planPrune(messages, settingsOf(options));
}

/** The same decision as a stage; its edits are empty when clearing would save too little. */
export function pruneStage(options: PruneOptions = {}): Stage {
  const settings = settingsOf(options);
  return (transcript) => planPrune(transcript, settings).edits;
}

export interface PruneOptions {
  /** The newest outputs that stay, in tokens; zero clears everything outside the protected turns. */
  readonly protectTokens?: number;
  /** Clearing must save more than this, or nothing is cleared: each time costs the provider's cache. */
  readonly minimumTokens?: number;
  /** How many of the newest turns stay whole. */
  readonly protectTurns?: number;
  /** Tools whose results are never cleared; upper and lower case are the same. */
  readonly protectedTools?: readonly string[];
  /** How outputs are counted; the thresholds are meant for the default, a quarter of the characters. */
  readonly estimate?: EstimateTokensOptions;
}

export interface PrunePlan {
  /** Empty unless `applied`. */
  readonly edits: readonly Edit[];
  /** The outputs that may be cleared, newest first, whether or not they are many enough. */
  readonly candidates: readonly PruneCandidate[];
  readonly prunedTokens: number;
  /** All outputs that were looked at. */
  readonly totalTokens: number;
  readonly stoppedBy: PruneStop;
  /** True when the candidates are more than the minimum, so that the edits clear them. */
  readonly applied: boolean;
}

/** What ended the walk: that all turns are protected, a summary, an output cleared before, or the oldest message. */
export type PruneStop = "guard" | "summary" | "cleared" | "start";

export interface PruneCandidate {
  readonly messageId: MessageId;
  readonly partIndex: number;
  readonly handle: Handle;
  readonly callId: CallId;
  readonly tool: string;
  readonly tokens: number;
  readonly chars: number;
}

export const PRUNE_MINIMUM = 20_000;
export const PRUNE_PROTECT = 40_000;

type PruneSettings = Required<PruneOptions>;

function settingsOf({
  protectTokens = PRUNE_PROTECT,
  minimumTokens = PRUNE_MINIMUM,
  protectTurns = PRUNE_PROTECT_TURNS,
  protectedTools = PRUNE_PROTECTED_TOOLS,
  estimate = {},
}: PruneOptions): PruneSettings {
  const problems = limitProblems({ protectTokens, minimumTokens, protectTurns });
  if (problems.length > 0) throw new ConfigurationError(problems);
  return { protectTokens, minimumTokens, protectTurns, protectedTools, estimate };
}

function planPrune(messages: Transcript, settings: PruneSettings): PrunePlan {
  const walk = walkBack(messages, settings);
  const applied = walk.prunedTokens > settings.minimumTokens;
  return { ...walk, applied, edits: applied ? walk.candidates.map(clear) : [] };
}

function walkBack(messages: Transcript, settings: PruneSettings): Omit<PrunePlan, "edits" | "applied"> {
  const { protectTokens, protectTurns, estimate } = settings;
  const isProtected = createToolGuard(settings.protectedTools);
  // What is not sent any more must not count against what is: the walk sees the window that a host renders.
  const window = filterCompacted(messages);
  const end = pruneGuard(window, protectTurns);
  const start = window.slice(0, end).findLastIndex(isSummary) + 1;

  const candidates: PruneCandidate[] = [];
  let totalTokens = 0;
  let prunedTokens = 0;
  let stoppedBy: PruneStop = start > 0 ? "summary" : end > 0 ? "start" : "guard";
  for (const result of toolResults(window.slice(start, end)).toReversed()) {
    if (result.status !== "done" || isProtected(result.part.tool)) continue;
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

function isSummary(message: Message): boolean {
  return message.role === "assistant" && message.summary === true;
}

function candidate({ message, partIndex, part, text }: ToolResult, tokens: number): PruneCandidate {
  return {
    messageId: message.id,
    partIndex,
    handle: handleOf(message, partIndex),
    callId: part.callId,
    tool: part.tool,
    tokens,
    chars: text.length,
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
