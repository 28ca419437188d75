import type { CompactionTrigger } from "../compaction/plan/plan-compaction.ts";
import type { RecoveryRequest } from "../compaction/recover.ts";
import { type CompactDecision, shouldCompact } from "../compaction/trigger/should-compact.ts";
import { type CacheProfile, cacheProfileOf } from "../models/cache-profile.ts";
import { PRUNE_PROTECT } from "../stages/prune.ts";
import { omitUndefined } from "../text/json.ts";
import { CHARS_PER_TOKEN } from "../text/tokens/estimate-tokens.ts";
import type { Handle } from "../transcript/edit.ts";
import type { EditWindow, IdleReason, Moment, NextActionOptions, SessionAction } from "./action.ts";
import { dueStage } from "./call-stage.ts";
import type { SessionCore } from "./core.ts";
import { fitsModel, isHeld } from "./hold.ts";
import { MAX_IDLE_COMPACTIONS } from "./log.ts";
import { isPaused, isSpent, planAfterEdits } from "./memory.ts";
import { type NativeView, readNativeView, useShadowEdits } from "./native-shadow.ts";
import {
  LOW_SHARE,
  limitWatermarks,
  type MechanicalPlan,
  planMechanicalEdits,
  withoutPinned,
} from "./prune.ts";
import { maxCompactionRecoveries, nextRecoveryAction } from "./recovery.ts";
import { earlyTokens, planProviderCompaction } from "./run-compaction.ts";

/**
 * Exactly one thing to do next, decided from the view alone: a refused request first, then what came in, then what
 * is due by count or size, the cheapest way first.
 */
export function decideNextAction(view: SessionView): SessionAction {
  const { version } = view;
  const idle = (reason: IdleReason): SessionAction => ({ type: "none", reason, fits: view.fits });
  if (view.isBusy) return idle("in-progress");
  const recovering = view.recovery();
  const isLeftToPerson = recovering?.type === "give-up" && view.demand === "manual";
  if (recovering !== undefined && !isLeftToPerson) return recovering;
  const shadowing = shadowOf(view);
  if (shadowing !== undefined) return shadowing;
  if (view.unboundedOutputs.length > 0)
    return { type: "bound-outputs", version, handles: view.unboundedOutputs };
  if (view.dueStage !== undefined) return { type: "run-stage", version, stage: view.dueStage };
  const isHostCompacting = view.marker !== "none" && view.markerOwner === "host";
  if (isHostCompacting && view.demand !== "manual") return idle("host-compacts");
  if (view.resultsToSummarize !== undefined && mayClear(view))
    return { type: "summarize-tool-results", version, visibleResults: view.resultsToSummarize };

  const trigger = triggerOf(view);
  if (trigger !== undefined && isWorthWaiting(view, trigger)) return idle("in-background");
  if (trigger !== undefined) return compaction(view, trigger);
  // What is being summed up needs no shortening.
  const mayEdit =
    view.moment === "after-turn" && !view.isPaused && mayClear(view) && view.background === "none";
  // Somebody else compacts when the window is full: that costs more than any edit.
  const sufficient = mayEdit && view.isOwnerAboutToCompact ? view.sufficientEdits() : undefined;
  if (sufficient !== undefined) return editWindow(sufficient, { reason: "over-limit", version });
  const worthwhile = mayEdit ? view.worthwhileEdits() : undefined;
  if (worthwhile !== undefined) return editWindow(worthwhile, { reason: "pays", version });
  if (view.decision.compact && view.native.acts === "compacts") return idle("provider-compacts");
  if (mayClear(view) && view.native.block === "none" && view.isSoonDue() && !view.mayAskProvider("threshold"))
    return { type: "begin-compaction", version };
  return idle(view.isPaused && view.decision.compact ? "after-undo" : view.decision.reason);
}

/** What is due about a provider's own compaction; what the next provider cannot read must not be sent to it. */
function shadowOf({ native, version }: SessionView): SessionAction | undefined {
  if (native.shadow === "due") return { type: "keep-shadow", version, reason: "new-block" };
  return native.block === "unreadable" ? { type: "use-shadow", version, reason: "unreadable" } : undefined;
}

/** False where the provider clears by itself, or would not look at what is cleared. */
function mayClear({ native }: SessionView): boolean {
  return native.acts === "nothing" && (native.block === "none" || native.block === "asked");
}

/** Everything a decision depends on. What is expensive to compute is a function. */
export interface SessionView {
  readonly version: number;
  readonly moment: Moment;
  readonly demand: "none" | "manual";
  /** A step is being run. */
  readonly isBusy: boolean;
  /** False while the estimate is at or over the limit. */
  readonly fits: boolean;
  /** What a refused request needs next; undefined when none was refused. */
  readonly recovery: () => SessionAction | undefined;
  /** What the provider does about the window by itself. */
  readonly native: NativeView;
  /** Outputs that came in and are longer than they may be. */
  readonly unboundedOutputs: readonly Handle[];
  /** The stage of the user's own that was not called for these messages yet. */
  readonly dueStage: number | undefined;
  /** A compaction that a marker in the transcript asks for, and who has to do it. */
  readonly marker: "none" | "auto" | "manual";
  readonly markerOwner: "session" | "host";
  /** How many tool results are visible, when summaries of the oldest are due. */
  readonly resultsToSummarize: number | undefined;
  readonly decision: CompactDecision;
  /** Usage, or the end of an answer, shows that the window is full. */
  readonly isOverflowing: boolean;
  /** The session does not compact, and what is sent next would make its owner do so. */
  readonly isOwnerAboutToCompact: boolean;
  /** An edit was undone a moment ago: nothing is done automatically for some turns. */
  readonly isPaused: boolean;
  /** The last compactions gained nothing, and little has come in since. */
  readonly isCompactionIdle: boolean;
  /** Why a compaction that is due has to wait; undefined when it has not. */
  readonly heldBy: "summary-failed" | "vetoed" | undefined;
  /** A compaction that was begun early: its summary is being written, or can be put in force. */
  readonly background: "none" | "running" | "ready";
  /** The model takes the window as it is, whatever the limit says. */
  readonly mayGoOn: boolean;
  /** A compaction should be begun before it is due. */
  readonly isSoonDue: () => boolean;
  /** The provider itself can be asked to compact, and that is worth what it costs. */
  readonly mayAskProvider: (trigger: CompactionTrigger) => boolean;
  /** The last compaction of this same state changed nothing. */
  readonly isCompactionSpent: boolean;
  /** Mechanical edits that make the compaction needless. */
  readonly sufficientEdits: () => MechanicalPlan | undefined;
  /** Mechanical edits that pay for themselves. */
  readonly worthwhileEdits: () => MechanicalPlan | undefined;
}

function triggerOf(view: SessionView): CompactionTrigger | undefined {
  if (view.demand === "manual") return "manual";
  if (view.marker !== "none") return view.marker === "manual" ? "manual" : "overflow";
  if (view.isPaused || view.native.acts === "compacts") return undefined;
  if (view.decision.compact) return "threshold";
  const mayCompact = view.decision.reason !== "auto-off" && view.decision.reason !== "cooling-down";
  return view.isOverflowing && mayCompact ? "overflow" : undefined;
}

/** While the window fits, nobody waits for a summary that is being written. */
function isWorthWaiting(view: SessionView, trigger: CompactionTrigger): boolean {
  return view.background === "running" && view.mayGoOn && view.marker === "none" && trigger !== "manual";
}

function compaction(view: SessionView, trigger: CompactionTrigger): SessionAction {
  const { version } = view;
  // It is paid for.
  if (view.background === "ready" && view.native.block === "none")
    return { type: "compact", version, trigger };
  // The provider may well accept it: only a request that it has refused is given up.
  const nothingToGain: SessionAction = { type: "none", reason: "nothing-to-gain", fits: view.fits };
  if (trigger !== "manual") {
    if (view.isCompactionIdle) return nothingToGain;
    const sufficient = view.marker === "none" && mayClear(view) ? view.sufficientEdits() : undefined;
    if (sufficient !== undefined) return editWindow(sufficient, { reason: "over-limit", version });
    if (view.heldBy !== undefined && view.marker === "none")
      return { type: "none", reason: view.heldBy, fits: view.fits };
  }
  if (view.isCompactionSpent)
    return view.demand === "manual" ? { ...nothingToGain, reason: "manual" } : nothingToGain;
  if (view.marker === "none" && view.mayAskProvider(trigger))
    return { type: "compact", version, trigger, by: "provider" };
  if (view.native.block === "none") return { type: "compact", version, trigger };
  // Without a shadow the block is all that is known of what was before it.
  if (view.native.shadow === "none") return nothingToGain;
  return { type: "use-shadow", version, reason: "before-compaction" };
}

function editWindow(
  { type, edits, arithmetic }: MechanicalPlan,
  decided: Pick<EditWindow, "reason" | "version">,
): EditWindow {
  return { type, ...decided, edits, arithmetic };
}

/** Reads everything a decision depends on out of a session, changing nothing. */
export function readSessionView(core: SessionCore, asked: NextActionOptions): SessionView {
  const { memory, meter, history, options } = core;
  const { moment = "before-call", demand = "none" } = asked;
  const idleMs = asked.idleMs || 0;
  const estimate = meter.estimate();
  const turn = memory.answers.size;
  const decision = shouldCompact({
    settings: memory.settings,
    contextTokens: estimate.tokens,
    contextEpoch: memory.trigger.epoch,
    visibleMessages: core.window().marked.length,
    ...core.believed.modelWindow(),
    turn,
    state: memory.trigger,
    demand,
  });
  const { limitTokens = Number.POSITIVE_INFINITY } = decision.limit;
  const overflow = core.believed.overflowOf(meter.newestStep()?.usage);
  const { autoCompact } = memory.settings;
  const knownTokens = decision.limit.source === "max_tokens" ? Number.POSITIVE_INFINITY : limitTokens;
  // Where the session does not compact, what counts is when its owner does.
  const ownerTokens = core.believed.ownerTokens() || knownTokens;
  const fullTokens = autoCompact ? limitTokens : ownerTokens;
  const planned = { limit: decision.limit, idleMs };
  // Where whole turns are protected, a request lets older ones go.
  const aging =
    options.pruning?.how === "lines" && options.pruning.protectTurns === 0 ? 0 : memory.requests.size;
  return {
    version: memory.version,
    moment,
    demand,
    isBusy: memory.isRunning,
    fits: estimate.tokens < limitTokens,
    recovery: () =>
      memory.recovery &&
      nextRecoveryAction(memory.recovery, {
        transcript: history.transcript(),
        version: memory.version,
        shadow: () => useShadowEdits(core),
        ladder: recoveryOptions(core),
      }),
    native: readNativeView(core),
    unboundedOutputs: isSpent(memory, "bound-outputs") ? [] : [...memory.unbounded.keys()],
    dueStage: dueStage(core),
    marker: memory.pendingMarker,
    markerOwner: memory.owner,
    resultsToSummarize: resultsToSummarize(core),
    decision,
    isOverflowing: overflow.overflow || memory.isOverflowSeen,
    isOwnerAboutToCompact: !autoCompact && estimate.tokens >= ownerTokens * ABOUT_TO_SHARE,
    isPaused: isPaused(memory),
    isCompactionIdle:
      memory.idleCompactions >= MAX_IDLE_COMPACTIONS &&
      estimate.tokens < memory.idleTokens + limitTokens * GROWN_SHARE,
    heldBy: isHeld(memory.held, { turn, fits: fitsModel(core) }) ? memory.held?.reason : undefined,
    isCompactionSpent: isSpent(memory, "compact"),
    background: memory.background === undefined ? "none" : memory.background.finished ? "ready" : "running",
    // Whoever names a number of tokens means it.
    mayGoOn: decision.limit.source === "context_window" && !overflow.overflow && fitsModel(core, GO_ON_SHARE),
    mayAskProvider: (trigger) =>
      fitsModel(core) && planProviderCompaction(core, trigger, idleMs) !== undefined,
    isSoonDue() {
      const mayBegin =
        options.backgroundCompaction === "on" &&
        core.ports.summarizer !== undefined &&
        memory.background === undefined &&
        memory.held === undefined &&
        memory.idleCompactions === 0 &&
        decision.reason === "under-limit" &&
        !isPaused(memory) &&
        !isSpent(memory, "begin-compaction");
      const dueTokens = core.believed.dueTokens();
      if (!mayBegin || !Number.isFinite(dueTokens) || estimate.tokens < earlyTokens(core, dueTokens))
        return false;
      // Where mechanical edits will do, no summary is needed; what they would do changes with growth: they can do more.
      const { version } = core.window();
      if (memory.early?.isWanted === false && memory.early.version === version) return false;
      const grown = Math.floor(estimate.tokens / (dueTokens * LOOK_AGAIN_SHARE));
      const key = `${aging}/${grown}`;
      if (memory.early?.key !== key) {
        const neededTokens = Math.ceil(dueTokens * (1 - TARGET_SHARE));
        const edits = planEditsFor(core, { ...planned, expectedTurns: options.expectedTurns, neededTokens });
        memory.early = { key, version, isWanted: edits === undefined };
      }
      return memory.early?.isWanted ?? false;
    },
    sufficientEdits() {
      const { expectedTurns } = options;
      const overTokens = (share: number): number =>
        Math.max(
          estimate.tokens - fullTokens * share,
          overflow.overflow ? overflow.countTokens - overflow.usableTokens * share : 0,
        );
      // What could not be enough is looked at again after some growth, while a compaction has to wait.
      const grown = Math.floor(overTokens(TARGET_SHARE) / (fullTokens * LOOK_AGAIN_SHARE));
      const key = [aging, fullTokens, grown].join("/");
      if (memory.insufficientKey === key) return undefined;
      // Seldom and well below the mark, where lines can do that: each time costs the cached prefix.
      const isClearing = autoCompact && options.pruning?.how === "clear";
      for (const share of isClearing ? [TARGET_SHARE] : [SELDOM_SHARE, TARGET_SHARE]) {
        const neededTokens = Math.ceil(overTokens(share));
        if (neededTokens <= 0) return undefined;
        const plan = planEditsFor(core, { ...planned, expectedTurns, neededTokens });
        if (plan !== undefined) return plan;
      }
      memory.insufficientKey = key;
      return undefined;
    },
    worthwhileEdits() {
      // The documented rule looks at every turn, once there is so much that anything could go.
      if (options.pruning?.how === "clear" && options.pruning.when === "always") {
        const { protectTokens = PRUNE_PROTECT } = options.pruning.options;
        if (meter.outputChars() < protectTokens * MIN_CHARS_PER_TOKEN) return undefined;
        const { visible, marked } = core.window();
        // A repair may have put a message before them.
        const start = meter.firstOutputIndex() - Math.max(0, marked.length - visible.length);
        const from = marked.length < visible.length ? 0 : Math.max(0, start);
        return planEditsFor(core, { ...planned, expectedTurns: options.expectedTurns, from });
      }
      const isPressing = estimate.tokens >= limitTokens * PRESSING_SHARE;
      const expectedTurns = isPressing
        ? options.expectedTurns
        : Math.max(1, options.expectedTurns * RELAXED_SHARE);
      // Where nothing is kept, nothing grows cold: a pause changes no plan.
      const { ttlMs } = cacheOf(core);
      const isCold = ttlMs > 0 && idleMs > ttlMs;
      // What is old enough changes with requests and growth, not with every message; while there is room, looking
      // again after some growth is enough.
      const requests = isPressing ? memory.requests.size : "relaxed";
      const grown = Math.floor(Math.log(Math.max(1, estimate.tokens)) / Math.log(1 + GROWTH_SHARE));
      const key = [requests, isCold, grown].join("/");
      const { version } = core.window();
      const newest = history.batches().at(-1)?.edits;
      const known = planAfterEdits(memory.worthwhile, { version, tokens: estimate.tokens, newest });
      const isOutdated = known?.plan !== undefined && known.version !== version;
      // What is saved grows no faster than the window: until enough has come in, looking is in vain.
      const isInVain = known?.isCold === isCold && estimate.tokens < known.fromTokens;
      if ((known?.key !== key && !isInVain) || isOutdated) {
        let lackingTokens = 0;
        const onTooFew = (tokens: number) => (lackingTokens = tokens);
        const plan = planEditsFor(core, { ...planned, expectedTurns, onTooFew });
        const fromTokens = estimate.tokens + lackingTokens;
        memory.worthwhile = { key, version, plan, isCold, lackingTokens, fromTokens };
      } else memory.worthwhile = known;
      return memory.worthwhile?.plan;
    },
  };
}

/** Plans mechanical edits, unless pruning is off or has just changed nothing. */
function planEditsFor(
  core: SessionCore,
  { limit, idleMs, expectedTurns, neededTokens, onTooFew, from = 0 }: PlanNeeds,
): MechanicalPlan | undefined {
  const { memory, meter, history, options } = core;
  const { pruning } = options;
  if (pruning === undefined || isSpent(memory, "prune") || isSpent(memory, "supersede")) return undefined;
  // A limit that stands in for an unknown window matters only where something is compacted at it.
  const isAssumed = limit.source === "max_tokens" && !memory.settings.autoCompact;
  const { limitTokens = Number.POSITIVE_INFINITY } = isAssumed ? {} : limit;
  const { systemChars = 0, toolsChars = 0 } = meter.options();
  return planMechanicalEdits(history.transcript(), {
    window: core.window().visible,
    outputsFrom: from,
    prune: pruning.how === "lines" ? limitWatermarks(pruning, limitTokens) : pruning,
    profile: cacheOf(core),
    expectedTurns,
    estimate: meter.options(),
    leadingTokens: Math.ceil((systemChars + toolsChars) / CHARS_PER_TOKEN),
    idleMs,
    thoughts: core.thoughtsAtStake(),
    neededTokens,
    onTooFew,
    mostProtectTokens: Math.floor(limitTokens * LOW_SHARE),
    spare: (edits) => withoutPinned(core, edits),
  });
}

interface PlanNeeds {
  readonly limit: CompactDecision["limit"];
  readonly idleMs: number;
  readonly expectedTurns: number;
  /** Where the part of the window begins that has outputs. */
  readonly from?: number;
  readonly neededTokens?: number;
  readonly onTooFew?: (lackingTokens: number) => void;
}

function cacheOf({ options, believed }: SessionCore): CacheProfile {
  return options.cache ?? cacheProfileOf(believed.facts());
}

/** What the recovery has to know about a session. */
function recoveryOptions(core: SessionCore): Omit<RecoveryRequest, "limitTokens" | "tried"> {
  const { memory, meter, options, ports } = core;
  const canAsk = ports.summarizer !== undefined && memory.recoveryCompactions < maxCompactionRecoveries;
  return {
    estimate: meter.options(),
    model: canAsk ? "available" : "not-available",
    representation: options.representation,
    redaction: options.redaction,
    keep: core.heldOutputs(),
    ...omitUndefined({ pins: options.pins, outputMaxChars: core.outputLimits.one()?.maxBytes || undefined }),
  };
}

/** By this share of the limit a window has to grow before a compaction that gained nothing is tried again. */
const GROWN_SHARE = 0.1;
/** No estimate counts more tokens than this. */
const MIN_CHARS_PER_TOKEN = 1;
/** So much of the reserve stays for the answer to a request that does not wait for a summary. */
const GO_ON_SHARE = 0.5;
/** By this share of the limit a window grows until it is asked again whether mechanical edits will do. */
const LOOK_AGAIN_SHARE = 0.03;
/** Mechanical edits have to leave some room, or a compaction would follow a moment later. */
const TARGET_SHARE = 0.9;
const SELDOM_SHARE = 0.6;
/** From this share of its limit on the next answer may make the owner of the window compact. */
export const ABOUT_TO_SHARE = 0.9;
/** Below this share of the limit no room is needed yet: an edit has to pay within a part of the expected requests. */
const PRESSING_SHARE = 0.5;
const RELAXED_SHARE = 0.5;
/** A plan reads the whole window, so it is made again only when that has grown by this share. */
const GROWTH_SHARE = 0.05;

function resultsToSummarize(core: SessionCore): number | undefined {
  const { memory } = core;
  const { toolCallCutoff, toolSummaryStrategy } = memory.settings;
  if (toolSummaryStrategy === "off" || toolCallCutoff <= 0) return undefined;
  if (isSpent(memory, "summarize-tool-results")) return undefined;
  const results = core.countedResults();
  const isOver = results.length > toolCallCutoff && results.some(({ isSeen }) => isSeen);
  return isOver || core.pending.list().length > 0 ? results.length : undefined;
}
