import type { CompactionTrigger } from "../compaction/plan/plan-compaction.ts";
import type { RecoveryRequest } from "../compaction/recover.ts";
import { type CompactDecision, shouldCompact } from "../compaction/trigger/should-compact.ts";
import { type CacheProfile, cacheProfileOf } from "../models/cache-profile.ts";
import { PRUNE_PROTECT } from "../stages/prune.ts";
import { CHARS_PER_TOKEN } from "../text/tokens/estimate-tokens.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import type { IdleReason, NextActionOptions, SessionAction } from "./action.ts";
import { providerBlockState, useBackupEdits } from "./backup-summary.ts";
import { dueStage } from "./call-stage.ts";
import { earlyTokens } from "./compaction-input.ts";
import { isHeld } from "./hold.ts";
import { limitsOfOutput } from "./output-limits.ts";
import { withoutPinned } from "./pinned.ts";
import { planProviderCompaction } from "./provider-compaction.ts";
import {
  type FoundPlan,
  LOW_SHARE,
  type LocalEditsPlan,
  limitWatermarks,
  NOTHING_FOUND,
  planLocalEdits,
} from "./prune.ts";
import { maxCompactionRecoveries, nextRecoveryAction } from "./recovery.ts";
import { isPaused, isSpent, type Watermarks } from "./state.ts";
import { fitsModel, type SessionView } from "./view.ts";

/**
 * Exactly one thing to do next, decided from the state and what the caller knows: a refused request first, then what came
 * in, then what is due by count or size, the cheapest way first. `watermarks` are what was found on the way, for `prepare`
 * to put into the state: so that the window is not read again before that can be worth it.
 */
export function decide(view: SessionView, asked: NextActionOptions): Decision {
  const { moment, demand, idleMs } = asked;
  const known = decisions.get(view) ?? new Map<string, Decision>();
  decisions.set(view, known);
  const key = [moment, demand, idleMs].join();
  const decision = known.get(key) ?? decideAnew(view, asked);
  known.set(key, decision);
  return decision;
}

/** By view and question: whoever asks the same again gets the same answer, without another look at the window. */
const decisions = new WeakMap<SessionView, Map<string, Decision>>();

function decideAnew(view: SessionView, asked: NextActionOptions): Decision {
  const { state } = view;
  const { version } = state;
  const { demand = "none" } = asked;
  const question = readQuestion(view, asked);
  const found: Found = { watermarks: state.watermarks };
  const as = (action: SessionAction): Decision => ({ action, watermarks: found.watermarks });
  const idle = (reason: IdleReason): Decision => as({ type: "none", reason, fits: question.fits });

  const recovering = recoveryOf(view);
  if (recovering !== undefined && !(recovering.type === "give-up" && demand === "manual"))
    return as(recovering);
  const { providerBlock } = question;
  if (providerBlock.backup === "due")
    return as({ type: "keep-backup-summary", version, reason: "new-block" });
  // What the next provider cannot read must not be sent to it.
  if (providerBlock.block === "unreadable")
    return as({ type: "use-backup-summary", version, reason: "unreadable" });
  const handles = isSpent(state, "trim-outputs") ? [] : [...view.longOutputs.keys()];
  if (handles.length > 0) return as({ type: "trim-outputs", version, handles });
  const stage = dueStage(view);
  if (stage !== undefined) return as({ type: "run-stage", version, stage });
  const isHostCompacting = view.marker !== "none" && state.owner === "host";
  if (isHostCompacting && demand !== "manual") return idle("host-compacts");
  const visibleResults = mayClear(question) ? resultsToSummarize(view) : undefined;
  if (visibleResults !== undefined) return as({ type: "summarize-tool-results", version, visibleResults });

  const trigger = triggerOf(question);
  if (trigger !== undefined) return as(compaction(question, trigger, found));
  // What is being summed up needs no shortening.
  const mayEdit =
    asked.moment === "after-turn" &&
    !isPaused(state) &&
    mayClear(question) &&
    state.begun === undefined &&
    view.options.pruning !== undefined;
  if (mayEdit) {
    // Somebody else compacts when the window is full: that costs more than any edit.
    const sufficient = isOwnerAboutToCompact(question) ? sufficientEdits(question, found) : undefined;
    if (sufficient !== undefined) return as(editWindow(question, sufficient, "over-limit"));
    const worthwhile = worthwhileEdits(question, found);
    if (worthwhile !== undefined) return as(editWindow(question, worthwhile, "pays"));
  }
  if (question.decision.compact && providerBlock.acts === "compacts") return idle("provider-compacts");
  if (isSoonDue(question, found)) return as({ type: "begin-compaction", version });
  return idle(isPaused(state) && question.decision.compact ? "after-undo" : question.decision.reason);
}

/** What is to be done, and where looking again is worth it. */
export interface Decision {
  readonly action: SessionAction;
  /** Unset where nothing was looked for. */
  readonly watermarks: Watermarks | undefined;
}

interface Found {
  watermarks: Watermarks;
}

/** A state with what the caller asks, and what both decide together. */
interface Question {
  readonly view: SessionView;
  readonly asked: NextActionOptions;
  readonly idleMs: number;
  readonly decision: CompactDecision;
  /** The limit; Infinity where there is none. */
  readonly limitTokens: number;
  /** Where the session does not compact, when its owner does. */
  readonly ownerTokens: number;
  /** False while the estimate is at or over the limit. */
  readonly fits: boolean;
  readonly providerBlock: ReturnType<typeof providerBlockState>;
}

function readQuestion(view: SessionView, asked: NextActionOptions): Question {
  const { state, measure, knownLimits } = view;
  const { demand = "none" } = asked;
  const decision = shouldCompact({
    settings: state.settings,
    contextTokens: measure.tokens,
    visibleMessages: view.window.marked.length,
    ...knownLimits.modelWindow,
    turn: state.turn,
    state: { epoch: 0, ...omitUndefined({ coolDownThroughTurn: state.coolDownThroughTurn }) },
    demand,
  });
  const { limitTokens = Number.POSITIVE_INFINITY, source } = decision.limit;
  return {
    view,
    asked,
    idleMs: asked.idleMs || 0,
    decision,
    limitTokens,
    ownerTokens:
      knownLimits.ownerTokens || (source === "max_tokens" ? Number.POSITIVE_INFINITY : limitTokens),
    fits: measure.tokens < limitTokens,
    providerBlock: providerBlockState(view),
  };
}

/** What a refused request needs next; undefined when none was refused. */
function recoveryOf(view: SessionView): SessionAction | undefined {
  const { state, options, ports, knownLimits } = view;
  if (state.recovery === undefined) return undefined;
  const canAsk = ports.summarizer !== undefined && state.recoveryCompactions < maxCompactionRecoveries;
  const outputMaxChars = limitsOfOutput(options, knownLimits.roomTokens)?.maxBytes || undefined;
  const recovery: Omit<RecoveryRequest, "limitTokens" | "tried"> = {
    estimate: view.estimate,
    model: canAsk ? "available" : "not-available",
    representation: options.representation,
    redaction: options.redaction,
    keep: view.protectedOutputs.kept,
    ...omitUndefined({ pins: options.pins, outputMaxChars }),
  };
  const { transcript } = state.history;
  return nextRecoveryAction(state.recovery, {
    transcript,
    version: state.version,
    backup: () => useBackupEdits(view),
    recovery,
  });
}

/** False where the provider clears by itself, or would not look at what is cleared. */
function mayClear({ providerBlock }: Question): boolean {
  return (
    providerBlock.acts === "nothing" && (providerBlock.block === "none" || providerBlock.block === "asked")
  );
}

function resultsToSummarize(view: SessionView): number | undefined {
  const { toolCallCutoff, toolSummaryStrategy } = view.state.settings;
  if (toolSummaryStrategy === "off" || toolCallCutoff <= 0) return undefined;
  if (isSpent(view.state, "summarize-tool-results")) return undefined;
  const results = view.countedResults;
  const isOver = results.length > toolCallCutoff && results.some(({ isSeen }) => isSeen);
  return isOver || view.state.pending.length > 0 ? results.length : undefined;
}

function triggerOf({ view, asked, providerBlock, decision }: Question): CompactionTrigger | undefined {
  if (asked.demand === "manual") return "manual";
  if (view.marker !== "none") return view.marker === "manual" ? "manual" : "overflow";
  if (isPaused(view.state) || providerBlock.acts === "compacts") return undefined;
  if (decision.compact) return "threshold";
  const mayCompact = decision.reason !== "auto-off" && decision.reason !== "cooling-down";
  const isOverflowing = view.overflow.overflow || view.isOverflowSeen;
  return isOverflowing && mayCompact ? "overflow" : undefined;
}

function compaction(question: Question, trigger: CompactionTrigger, found: Found): SessionAction {
  const { view, fits, providerBlock, asked } = question;
  const { state, marker } = view;
  const { version } = state;
  // It is paid for.
  if (state.begun !== undefined && trigger !== "manual" && providerBlock.block === "none")
    return { type: "compact", version, trigger };
  // The provider may well accept it: only a request that it has refused is given up.
  const nothingToGain: SessionAction = { type: "none", reason: "nothing-to-gain", fits };
  if (trigger !== "manual") {
    if (isCompactionIdle(question)) return nothingToGain;
    const mayEdit = marker === "none" && mayClear(question) && view.options.pruning !== undefined;
    const sufficient = mayEdit ? sufficientEdits(question, found) : undefined;
    if (sufficient !== undefined) return editWindow(question, sufficient, "over-limit");
    const isWaiting = isHeld(state.held, { turn: state.turn, fits: fitsModel(view) });
    if (isWaiting && state.held !== undefined && marker === "none")
      return { type: "none", reason: state.held.reason, fits };
  }
  if (isSpent(state, "compact"))
    return asked.demand === "manual" ? { ...nothingToGain, reason: "manual" } : nothingToGain;
  if (marker === "none" && mayAskProvider(question, trigger))
    return { type: "compact", version, trigger, by: "provider" };
  if (providerBlock.block === "none") return { type: "compact", version, trigger };
  // Without a backup summary the block is all that is known of what was before it.
  if (providerBlock.backup === "none") return nothingToGain;
  return { type: "use-backup-summary", version, reason: "before-compaction" };
}

/** The last compactions gained nothing, and little has come in since. */
function isCompactionIdle({ view, limitTokens }: Question): boolean {
  const { count, tokens } = view.state.idle;
  return count >= MAX_IDLE_COMPACTIONS && view.measure.tokens < tokens + limitTokens * GROWN_SHARE;
}

/** The provider itself can be asked to compact, and that is worth what it costs. */
function mayAskProvider({ view, idleMs }: Question, trigger: CompactionTrigger): boolean {
  return fitsModel(view) && planProviderCompaction(view, trigger, idleMs) !== undefined;
}

/** The session does not compact, and what is sent next would make its owner do so. */
function isOwnerAboutToCompact({ view, ownerTokens }: Question): boolean {
  return !view.state.settings.autoCompact && view.measure.tokens >= ownerTokens * ABOUT_TO_SHARE;
}

function editWindow(
  { view }: Question,
  { type, edits, arithmetic, waitTokens }: LocalEditsPlan & Pick<FoundPlan, "waitTokens">,
  reason: "pays" | "over-limit",
): SessionAction {
  return { type, reason, version: view.state.version, edits, arithmetic, waitTokens };
}

/** A compaction should be begun before it is due. */
function isSoonDue(question: Question, found: Found): boolean {
  const { view, decision, providerBlock } = question;
  const { state, options, ports, measure, knownLimits } = view;
  const mayBegin =
    options.backgroundCompaction === "on" &&
    ports.summarizer !== undefined &&
    mayClear(question) &&
    providerBlock.block === "none" &&
    state.begun === undefined &&
    state.held === undefined &&
    state.idle.count === 0 &&
    decision.reason === "under-limit" &&
    !isPaused(state) &&
    !isSpent(state, "begin-compaction") &&
    // What waits for a result will be another message when that comes.
    !state.history.messages.at(-1)?.parts.some(isOpen);
  const { dueTokens } = knownLimits;
  if (!mayBegin || !Number.isFinite(dueTokens) || measure.tokens < earlyTokens(view, dueTokens)) return false;
  if (found.watermarks.editsWillDo || mayAskProvider(question, "threshold")) return false;
  // Where edits without a model will do, no summary is needed; with growth they can only do more.
  const neededTokens = Math.ceil(dueTokens * (1 - TARGET_SHARE));
  const isNeeded =
    planEdits(question, { expectedTurns: options.expectedTurns, neededTokens }).plan === undefined;
  if (!isNeeded) found.watermarks = { ...found.watermarks, editsWillDo: true };
  return isNeeded;
}

function isOpen(part: { readonly type: string; readonly outcome?: { readonly status: string } }): boolean {
  return part.type === "tool" && part.outcome?.status === "pending";
}

/** Edits without a model that make the compaction needless. */
function sufficientEdits(
  question: Question,
  found: Found,
): (LocalEditsPlan & Pick<FoundPlan, "waitTokens">) | undefined {
  const { view, limitTokens, ownerTokens } = question;
  const { measure, overflow, options, state } = view;
  const { autoCompact } = state.settings;
  const fullTokens = autoCompact ? limitTokens : ownerTokens;
  if (measure.tokens < (found.watermarks.enoughFromTokens ?? 0)) return undefined;
  const overTokens = (share: number): number =>
    Math.max(
      measure.tokens - fullTokens * share,
      overflow.overflow ? overflow.countTokens - overflow.usableTokens * share : 0,
    );
  // Seldom and well below the mark, where lines can do that: each time costs the cached prefix.
  const isClearing = autoCompact && options.pruning?.how === "clear";
  for (const share of isClearing ? [TARGET_SHARE] : [SELDOM_SHARE, TARGET_SHARE]) {
    const neededTokens = Math.ceil(overTokens(share));
    if (neededTokens <= 0) return undefined;
    const { plan } = planEdits(question, { expectedTurns: options.expectedTurns, neededTokens });
    if (plan !== undefined) return { ...plan, waitTokens: 0 };
  }
  // What could not be enough is looked at again after some growth, while a compaction has to wait.
  const enoughFromTokens = measure.tokens + fullTokens * LOOK_AGAIN_SHARE;
  if (Number.isFinite(enoughFromTokens)) found.watermarks = { ...found.watermarks, enoughFromTokens };
  return undefined;
}

/** Edits without a model that pay for themselves. */
function worthwhileEdits(
  question: Question,
  found: Found,
): (LocalEditsPlan & Pick<FoundPlan, "waitTokens">) | undefined {
  const { view, limitTokens, idleMs } = question;
  const { options, measure } = view;
  const { expectedTurns } = options;
  // The documented rule looks at every turn, once there is so much that anything could go.
  if (options.pruning?.how === "clear" && options.pruning.when === "always") {
    const { protectTokens = PRUNE_PROTECT } = options.pruning.options;
    if (measure.outputChars < protectTokens * MIN_CHARS_PER_TOKEN) return undefined;
    const { plan, waitTokens } = planEdits(question, { expectedTurns });
    return plan && { ...plan, waitTokens };
  }
  // Where nothing is kept, nothing grows cold: a pause changes no plan.
  const { ttlMs } = cacheOf(view);
  const isCold = ttlMs > 0 && idleMs > ttlMs;
  const { pays } = found.watermarks;
  if (pays !== undefined && pays.isCold === isCold && measure.tokens < pays.fromTokens) return undefined;
  const isPressing = measure.tokens >= limitTokens * PRESSING_SHARE;
  const { plan, waitTokens } = planEdits(question, {
    expectedTurns: isPressing ? expectedTurns : Math.max(1, expectedTurns * RELAXED_SHARE),
  });
  if (plan !== undefined) return { ...plan, waitTokens };
  const fromTokens = measure.tokens + Math.max(waitTokens, measure.tokens * GROWTH_SHARE);
  found.watermarks = { ...found.watermarks, pays: { fromTokens, lackingTokens: waitTokens, isCold } };
  return undefined;
}

/** Plans edits without a model, unless pruning is off or has just changed nothing. */
function planEdits(
  { view, decision, idleMs }: Question,
  { expectedTurns, neededTokens }: { readonly expectedTurns: number; readonly neededTokens?: number },
): FoundPlan {
  const { state, options } = view;
  const { pruning } = options;
  if (pruning === undefined || isSpent(state, "prune") || isSpent(state, "supersede")) return NOTHING_FOUND;
  // A limit that stands in for an unknown window matters only where something is compacted at it.
  const isAssumed = decision.limit.source === "max_tokens" && !state.settings.autoCompact;
  const { limitTokens = Number.POSITIVE_INFINITY } = isAssumed ? {} : decision.limit;
  const { systemChars = 0, toolsChars = 0 } = view.estimate;
  return planLocalEdits(state.history.transcript, {
    window: view.window.visible,
    prune: pruning.how === "lines" ? limitWatermarks(pruning, limitTokens) : pruning,
    profile: cacheOf(view),
    expectedTurns,
    estimate: view.estimate,
    leadingTokens: Math.ceil((systemChars + toolsChars) / CHARS_PER_TOKEN),
    idleMs,
    thoughts: view.thoughtsAtStake,
    neededTokens,
    mostProtectTokens: Math.floor(limitTokens * LOW_SHARE),
    spare: (edits) => withoutPinned(view, edits),
  });
}

function cacheOf({ options, knownLimits }: SessionView): CacheProfile {
  return options.cache ?? cacheProfileOf(knownLimits.facts);
}

/** After this many compactions in a row without gain the session gives up. */
const MAX_IDLE_COMPACTIONS = 2;
/** By this share of the limit a window has to grow before a compaction that gained nothing is tried again. */
const GROWN_SHARE = 0.1;
/** No estimate counts more tokens than this. */
const MIN_CHARS_PER_TOKEN = 1;
/** By this share of the limit a window grows until it is asked again whether edits without a model will do. */
const LOOK_AGAIN_SHARE = 0.03;
/** Edits without a model have to leave some room, or a compaction would follow a moment later. */
const TARGET_SHARE = 0.9;
const SELDOM_SHARE = 0.6;
/** From this share of its limit on the next answer may make the owner of the window compact. */
export const ABOUT_TO_SHARE = 0.9;
/** Below this share of the limit no room is needed yet: an edit has to pay within a part of the expected requests. */
const PRESSING_SHARE = 0.5;
const RELAXED_SHARE = 0.5;
/** A plan reads the whole window, so it is made again only when that has grown by this share. */
const GROWTH_SHARE = 0.05;
