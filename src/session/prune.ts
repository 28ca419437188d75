import type { CacheProfile } from "../models/cache-profile.ts";
import { type CacheArithmetic, type LostThoughts, planEdits } from "../stages/cache-plan.ts";
import {
  KEEP_LINES_PROTECT_RESULTS,
  KEEP_LINES_PROTECTED_TOOLS,
  keepLines,
} from "../stages/lines/keep-lines.ts";
import { type PruneOptions, prune } from "../stages/prune.ts";
import { supersede } from "../stages/supersede.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import { applyEdits, type Edit } from "../transcript/edit.ts";
import {
  charsOf,
  estimateMessageTokens,
  type MessageEstimateOptions,
} from "../transcript/estimate-message.ts";
import type { Transcript } from "../transcript/message.ts";

/**
 * Edits without a model that make a compaction needless or that pay for themselves; none when none are worth breaking the
 * provider's cached prefix for. Superseded content goes before content that is only old.
 */
export function planLocalEdits(transcript: Transcript, request: LocalEditsRequest): FoundPlan {
  const { neededTokens, window, spare } = request;
  const choose = (edits: readonly Edit[], tokens = neededTokens): Chosen =>
    chooseEdits(edits, { ...request, neededTokens: tokens });
  if (request.prune.how === "clear" && request.prune.when === "always") {
    const old = spare(prune(window, request.prune.options).edits);
    if (old.length === 0) return NOTHING_FOUND;
    return { plan: { type: "prune", ...choose(old, EVERYTHING) }, waitTokens: 0 };
  }
  const superseded = spare(supersede(protection(request.prune))(window));
  const leastTokens = minimumTokens(request.prune);
  const isEnough = ({ edits, savedTokens }: Chosen): boolean =>
    edits.length > 0 && savedTokens >= (neededTokens ?? leastTokens);

  if (neededTokens !== undefined) {
    const gentle = choose(superseded);
    if (isEnough(gentle)) return { plan: { type: "supersede", ...gentle }, waitTokens: 0 };
  }
  const windowTokens = tokensOf(window, request.estimate);
  const leftWindow = applyEdits(window, superseded, { at: 0 });
  const left: Left = {
    transcript: applyEdits(transcript, superseded, { at: 0 }),
    window: leftWindow,
    windowTokens: leftWindow === window ? windowTokens : tokensOf(leftWindow, request.estimate),
  };
  let waitTokens = 0;
  for (const old of waysToPrune(left, request)) {
    const oldEdits = old();
    const both = choose([...superseded, ...spare(oldEdits)]);
    const isDone = isEnough(both);
    const markTokens = tokensToMark(request.prune, windowTokens - (isDone ? both.savedTokens : 0));
    // Where edits just pay, little is lost by waiting for as much as a batch has to save; and the larger the window, the more a look costs.
    const share = isDone ? BATCH_SHARE : LOOK_SHARE;
    waitTokens =
      !isDone && markTokens > 0
        ? markTokens
        : Math.max(leastTokens, share * windowTokens, markTokens, both.lackingTokens);
    if (isDone)
      return { plan: { type: both.edits.every(isSuperseded) ? "supersede" : "prune", ...both }, waitTokens };
  }
  return { plan: undefined, waitTokens };
}

/** A plan, and how many tokens have to come in before looking again can be worth it: for the first one, or for one after it. */
export interface FoundPlan {
  readonly plan: LocalEditsPlan | undefined;
  readonly waitTokens: number;
}

export const NOTHING_FOUND: FoundPlan = { plan: undefined, waitTokens: 0 };

/** More than any edits save, so that all of them are applied. */
const EVERYTHING = Number.MAX_SAFE_INTEGER;

/** What is left of the transcript, and of what is sent of it, once superseded content has gone. */
interface Left {
  readonly transcript: Transcript;
  readonly window: Transcript;
  readonly windowTokens: number;
}

/** By this share a window has to grow before it is looked at again. */
const LOOK_SHARE = 0.1;
/** By this share of what it was before a batch it has to grow until the next. */
const BATCH_SHARE = 0.4;

/** How many tokens are missing until a window is as large as the upper mark. */
function tokensToMark(known: ResolvedPrune, windowTokens: number): number {
  return known.how === "clear" ? 0 : known.highTokens - windowTokens;
}

function tokensOf(window: Transcript, estimate: MessageEstimateOptions): number {
  return window.reduce((sum, message) => sum + estimateMessageTokens(message, estimate), 0);
}

function chooseEdits(edits: readonly Edit[], request: LocalEditsRequest): Chosen {
  const { window, neededTokens, estimate, profile, expectedTurns, leadingTokens, idleMs } = request;
  const { apply, arithmetic, lackingTokens } = planEdits({
    transcript: window,
    edits,
    profile,
    expectedTurns,
    leadingTokens,
    idleMs,
    leastTokens: minimumTokens(request.prune),
    tokensOf: (message) => estimateMessageTokens(message, estimate),
    ...omitUndefined({ thoughts: request.thoughts }),
    ...(neededTokens !== undefined && { neededTokens }),
  });
  return { edits: apply, savedTokens: arithmetic.chosen.savedTokensPerTurn, arithmetic, lackingTokens };
}

interface LocalEditsRequest {
  /** What is sent of the transcript. */
  readonly window: Transcript;
  readonly prune: ResolvedPrune;
  readonly profile: CacheProfile;
  readonly expectedTurns: number;
  readonly estimate: MessageEstimateOptions;
  /** System prompt and tool definitions. */
  readonly leadingTokens: number;
  /** Time since the last request. */
  readonly idleMs: number;
  /** What is lost of the model's thoughts behind an edit. */
  readonly thoughts: LostThoughts | undefined;
  /** What has to go so that no compaction is needed; unset: only what pays for itself. */
  readonly neededTokens: number | undefined;
  /** So much of the newest results stays whole where lines of the older ones are not enough. */
  readonly mostProtectTokens: number;
  /** Leaves out what must not be edited, so that it is not counted as saved either. */
  readonly spare: (edits: readonly Edit[]) => readonly Edit[];
}

/** Edits that were chosen, and whether they only remove superseded content. */
export interface LocalEditsPlan extends Chosen {
  readonly type: "prune" | "supersede";
}

interface Chosen {
  readonly edits: readonly Edit[];
  readonly savedTokens: number;
  /** So many tokens have to come in before any of them pay. */
  readonly lackingTokens: number;
  readonly arithmetic: CacheArithmetic;
}

/** Edits that save less than this wait for more, even where the change costs nothing. */
function minimumTokens(known: ResolvedPrune): number {
  return known.how === "lines" ? (known.highTokens - known.lowTokens) / 2 : MIN_BATCH_TOKENS;
}

const MIN_BATCH_TOKENS = 4_000;

function protection(known: ResolvedPrune): Parameters<typeof supersede>[0] {
  const { protectTurns, protectedTools } = known.how === "lines" ? known : known.options;
  return omitUndefined({ protectTurns, protectedTools });
}

/** The ways to prune old content, the one that keeps most first. */
function waysToPrune(left: Left, request: LocalEditsRequest): readonly (() => readonly Edit[])[] {
  const { prune: known, neededTokens, mostProtectTokens } = request;
  if (known.how === "clear") return [() => prune(left.window, known.options).edits];
  const { protectTokens = Number.POSITIVE_INFINITY } = known;
  const lines = (): readonly Edit[] => leaveLines(left, { ...known, protectTokens }, request);
  if (neededTokens === undefined) return [lines];
  const fewer = { ...known, protectTokens: Math.min(protectTokens, mostProtectTokens) };
  return [lines, () => leaveLines(left, fewer, request)];
}

function leaveLines(
  { transcript, window, windowTokens }: Left,
  known: LeaveLines & { readonly protectTokens: number },
  request: LocalEditsRequest,
): readonly Edit[] {
  if (request.neededTokens === undefined && windowTokens < known.highTokens) return [];
  const windowChars = window.reduce((sum, message) => sum + charsOf(message), 0);
  const charsPerToken = windowChars / Math.max(1, windowTokens);
  const { protectResults, protectTurns, protectedTools } = known;
  return keepLines({
    keepChars: Math.round(known.lowTokens * charsPerToken),
    protectChars: known.protectTokens * charsPerToken,
    protectResults,
    protectTurns,
    protectedTools,
  })(transcript);
}

function isSuperseded({ stage }: Edit): boolean {
  return stage === "supersede";
}

/** How old work leaves the window without a model. */
export interface SessionPruneOptions extends PruneOptions {
  /**
   * Tools whose results stay: those named here against everything, as `perTool: { name: { keep: "always" } }` says it;
   * those of the default against pruning. Upper and lower case are the same.
   * @default skill, ask_user_questions, question, against pruning alone; documented: skill, and against pruning alone
   */
  readonly protectedTools?: readonly string[];
  /**
   * `lines`: what is most likely needed next stays, by line; with `protectTokens` so much of the newest outputs stays whole,
   * whatever their number. `clear`: old outputs are cleared as `prune` does it; the default where `protectTokens` or
   * `minimumTokens` is given, and in the documented profile.
   * @default lines; documented: clear
   */
  readonly how?: "lines" | "clear";
  /** With `lines`: nothing goes before the messages are this large. Never more than six tenths of the model's limit. @default 24,000; documented: not used */
  readonly highTokens?: number;
  /** With `lines`: what they are brought down to, about. Never more than three tenths of the limit. @default 10,000; documented: not used */
  readonly lowTokens?: number;
  /** With `lines`: how many of the newest results stay whole. @default 10; documented: not used */
  readonly protectResults?: number;
}

/** The same with every default filled in. */
export type ResolvedPrune = ClearOutputs | LeaveLines;

interface ClearOutputs {
  readonly how: "clear";
  /** `always`: by the documented rule alone, whatever the provider's cache. */
  readonly when: "it-pays" | "always";
  readonly options: PruneOptions;
}

interface LeaveLines extends Required<Pick<PruneOptions, "protectTurns" | "protectedTools">> {
  readonly how: "lines";
  readonly highTokens: number;
  readonly lowTokens: number;
  readonly protectResults: number;
  /** So much of the newest results stays whole; unset: however long they are. */
  readonly protectTokens?: number;
}

/** The options with every default filled in; the documented profile clears outputs unless options of `lines` are given. */
export function resolvePrune(
  given: SessionPruneOptions = {},
  profile: "default" | "documented" = "default",
): ResolvedPrune {
  const { how: _, highTokens = HIGH_TOKENS, lowTokens = LOW_TOKENS, protectResults, ...options } = given;
  // An agent's loop is one turn of the user, so old outputs may go within it.
  const { protectTurns = 0, protectedTools, protectTokens } = options;
  // Whoever says how much stays does not mean a number of results.
  const mostResults = protectTokens === undefined ? KEEP_LINES_PROTECT_RESULTS : Number.POSITIVE_INFINITY;
  if ((howOf(given) ?? (profile === "documented" ? "clear" : "lines")) === "clear")
    return { how: "clear", options, when: profile === "documented" ? "always" : "it-pays" };
  return {
    how: "lines",
    highTokens,
    lowTokens,
    protectResults: protectResults ?? mostResults,
    ...omitUndefined({ protectTokens }),
    protectTurns,
    protectedTools: protectedTools ?? KEEP_LINES_PROTECTED_TOOLS,
  };
}

/** Which way the options ask for; undefined when they ask for none. */
function howOf(given: SessionPruneOptions): SessionPruneOptions["how"] {
  const { how, protectTokens, minimumTokens } = given;
  if (how !== undefined) return how;
  if (protectTokens !== undefined || minimumTokens !== undefined) return "clear";
  return LINES_ONLY.some((name) => given[name] !== undefined) ? "lines" : undefined;
}

const LINES_ONLY = ["highTokens", "lowTokens", "protectResults"] as const;

/** The marks within a window of this size. */
export function limitWatermarks(lines: LeaveLines, limitTokens: number): LeaveLines {
  return {
    ...lines,
    highTokens: Math.min(lines.highTokens, Math.floor(limitTokens * HIGH_SHARE)),
    lowTokens: Math.min(lines.lowTokens, Math.floor(limitTokens * LOW_SHARE)),
  };
}

/** Chosen by replaying recorded sessions, for the lowest price at the recall of fixed tiers: research/decisions/0022-cost.md. */
const HIGH_TOKENS = 24_000;
const LOW_TOKENS = 10_000;
const HIGH_SHARE = 0.6;
export const LOW_SHARE = 0.3;
