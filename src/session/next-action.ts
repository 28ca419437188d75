import type { CompactionTrigger } from "../compaction/plan-compaction-types.ts";
import type { CompactDecision } from "../compaction/should-compact.ts";
import type { Handle } from "../transcript/edit.ts";
import { MAX_IDLE_COMPACTIONS } from "./ledger.ts";
import type { MechanicalPlan } from "./mechanical-edits.ts";
import type { EditWindow, GiveUp, IdleReason, SessionAction } from "./session-action.ts";

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
  if (view.unboundedOutputs.length > 0)
    return { type: "bound-outputs", version, handles: view.unboundedOutputs };
  const isHostCompacting = view.marker !== "none" && view.markerOwner === "host";
  if (isHostCompacting && view.demand !== "manual") return idle("host-compacts");
  if (view.isToolSummaryDue)
    return { type: "summarize-tool-results", version, visibleResults: view.visibleResults };

  const trigger = triggerOf(view);
  if (trigger !== undefined) return compaction(view, trigger);
  const paying = view.moment === "after-turn" && !view.isHeld ? view.payingEdits() : undefined;
  if (paying !== undefined) return editWindow(paying, { reason: "pays", version });
  return idle(view.isHeld && view.decision.compact ? "after-undo" : view.decision.reason);
}

/** Everything a decision depends on. What costs time to find out is a function that is asked only when it matters. */
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
  /** Outputs that came in and are longer than they may be. */
  readonly unboundedOutputs: readonly Handle[];
  /** Who asked for a compaction in the transcript, if anybody did, and whose it is to do. */
  readonly marker: "none" | "auto" | "manual";
  readonly markerOwner: "session" | "host";
  readonly isToolSummaryDue: boolean;
  readonly visibleResults: number;
  readonly decision: CompactDecision;
  /** Real usage, or an answer that shows it, says that the window is full. */
  readonly isOverflowing: boolean;
  /** An edit was undone a moment ago: nothing is done by itself for a while. */
  readonly isHeld: boolean;
  readonly idleCompactions: number;
  /** The last attempt at this very state changed nothing. */
  readonly isCompactionSpent: boolean;
  /** Mechanical edits that make the compaction needless. */
  readonly sparingEdits: () => MechanicalPlan | undefined;
  /** Mechanical edits that are worth it by themselves. */
  readonly payingEdits: () => MechanicalPlan | undefined;
}

/** When a decision is asked for: before the model is called, or after it has come to an end. */
export type Moment = "before-call" | "after-turn";

function triggerOf(view: SessionView): CompactionTrigger | undefined {
  if (view.demand === "manual") return "manual";
  if (view.marker !== "none") return view.marker === "manual" ? "manual" : "overflow";
  if (view.isHeld) return undefined;
  if (view.decision.compact) return "threshold";
  const mayCompact = view.decision.reason !== "auto-off" && view.decision.reason !== "cooling-down";
  return view.isOverflowing && mayCompact ? "overflow" : undefined;
}

function compaction(view: SessionView, trigger: CompactionTrigger): SessionAction {
  const { version } = view;
  if (trigger !== "manual") {
    if (view.idleCompactions >= MAX_IDLE_COMPACTIONS) return noGain(view);
    const sparing = view.marker === "none" ? view.sparingEdits() : undefined;
    if (sparing !== undefined) return editWindow(sparing, { reason: "over-limit", version });
  }
  if (view.isCompactionSpent) return { type: "none", reason: "nothing-to-gain", fits: view.fits };
  return { type: "compact", version, trigger };
}

function editWindow(
  { type, edits, arithmetic }: MechanicalPlan,
  decided: Pick<EditWindow, "reason" | "version">,
): EditWindow {
  return { type, ...decided, edits, arithmetic };
}

function noGain({ decision, idleCompactions }: SessionView): GiveUp {
  const limit = decision.limit.limitTokens === undefined ? "" : ` of ${decision.limit.limitTokens}`;
  return {
    type: "give-up",
    reason: "no-gain",
    message:
      `The window holds about ${decision.contextTokens}${limit} tokens, and ${idleCompactions} compactions in a row ` +
      "made it no smaller. Start a new session, shorten the last request, or use a model with a larger window.",
  };
}
