import { describe, expect, it } from "vitest";
import type { CompactDecision } from "../compaction/trigger/should-compact.ts";
import { NO_CACHE } from "../models/cache-profile.ts";
import { planEdits } from "../stages/cache-plan.ts";
import type { SessionAction } from "./action.ts";
import { decideNextAction, type SessionView } from "./next-action.ts";

const decision = (change: Partial<CompactDecision> = {}): CompactDecision => ({
  compact: false,
  reason: "under-limit",
  limit: { limitTokens: 1_000, source: "context_window" },
  contextTokens: 100,
  keepRecentTokens: 100,
  ...change,
});

const DUE = decision({ compact: true, reason: "over-limit", contextTokens: 1_200 });
const RETRY: SessionAction = { type: "retry" };
const EDITS = [{ type: "hide-message", messageId: "m1", stage: "prune", reason: "pruned" }] as const;
const { arithmetic } = planEdits({
  transcript: [],
  edits: EDITS,
  profile: NO_CACHE,
  expectedTurns: 1,
});
const PLAN = { type: "prune", edits: EDITS, savedTokens: 900, lackingTokens: 0, arithmetic } as const;

function decide(change: Partial<SessionView> = {}): SessionAction {
  return decideNextAction({
    version: 1,
    moment: "before-call",
    demand: "none",
    isBusy: false,
    fits: true,
    recovery: () => undefined,
    native: { block: "none", shadow: "none", acts: "nothing" },
    unboundedOutputs: [],
    dueStage: undefined,
    marker: "none",
    markerOwner: "session",
    resultsToSummarize: undefined,
    background: "none",
    mayGoOn: true,
    isSoonDue: () => false,
    mayAskProvider: () => false,
    decision: decision(),
    isOverflowing: false,
    isOwnerAboutToCompact: false,
    isPaused: false,
    heldBy: undefined,
    isCompactionIdle: false,
    isCompactionSpent: false,
    sufficientEdits: () => undefined,
    worthwhileEdits: () => undefined,
    ...change,
  });
}

/** Everything at once: what comes first wins. */
const ALL: Partial<SessionView> = {
  recovery: () => RETRY,
  unboundedOutputs: ["m1/0"],
  dueStage: 1,
  marker: "auto",
  markerOwner: "host",
  resultsToSummarize: 12,
  decision: DUE,
  sufficientEdits: () => PLAN,
  worthwhileEdits: () => PLAN,
  moment: "after-turn",
};

describe("decideNextAction", () => {
  it.each<{ name: string; view: Partial<SessionView>; action: object }>([
    {
      name: "nothing while something is being run",
      view: { ...ALL, isBusy: true },
      action: { type: "none", reason: "in-progress" },
    },
    { name: "a refused request before everything else", view: ALL, action: RETRY },
    {
      name: "then outputs that came in",
      view: { ...ALL, recovery: () => undefined },
      action: { type: "bound-outputs" },
    },
    {
      name: "then the stages of one's own",
      view: { ...ALL, recovery: () => undefined, unboundedOutputs: [] },
      action: { type: "run-stage", stage: 1 },
    },
    {
      name: "then the compaction of the host",
      view: { ...ALL, recovery: () => undefined, unboundedOutputs: [], dueStage: undefined },
      action: { type: "none", reason: "host-compacts" },
    },
    {
      name: "then tool summaries",
      view: { ...ALL, recovery: () => undefined, unboundedOutputs: [], dueStage: undefined, marker: "none" },
      action: { type: "summarize-tool-results" },
    },
    {
      name: "then edits that spare a compaction",
      view: { decision: DUE, sufficientEdits: () => PLAN },
      action: { type: "prune", reason: "over-limit", edits: EDITS },
    },
    {
      name: "then the compaction",
      view: { decision: DUE },
      action: { type: "compact", trigger: "threshold" },
    },
    {
      name: "then edits that pay, after a turn",
      view: { moment: "after-turn", worthwhileEdits: () => PLAN },
      action: { type: "prune", reason: "pays" },
    },
    {
      name: "none of these before a call",
      view: { worthwhileEdits: () => PLAN },
      action: { type: "none", reason: "under-limit" },
    },
  ])("INT-1: $name", ({ view, action }) => {
    expect(decide(view)).toMatchObject(action);
  });

  it.each<{ name: string; view: Partial<SessionView>; action: object }>([
    {
      name: "real usage alone makes it due",
      view: { isOverflowing: true },
      action: { type: "compact", trigger: "overflow" },
    },
    {
      name: "but not in a cool-down",
      view: { isOverflowing: true, decision: decision({ reason: "cooling-down" }) },
      action: { type: "none", reason: "cooling-down" },
    },
    {
      name: "and not with auto off",
      view: { isOverflowing: true, decision: decision({ reason: "auto-off" }) },
      action: { type: "none", reason: "auto-off" },
    },
    {
      name: "nor just after an undo",
      view: { decision: DUE, isPaused: true, fits: false },
      action: { type: "none", reason: "after-undo", fits: false },
    },
    {
      name: "two without gain are enough, and the request is sent: nobody has refused it",
      view: { decision: DUE, isCompactionIdle: true, fits: false },
      action: { type: "none", reason: "nothing-to-gain", fits: false },
    },
    {
      name: "unless a person asks",
      view: { decision: DUE, isCompactionIdle: true, demand: "manual" },
      action: { type: "compact", trigger: "manual" },
    },
    {
      name: "and none twice at the same state",
      view: { decision: DUE, isCompactionSpent: true, fits: false },
      action: { type: "none", reason: "nothing-to-gain" },
    },
    {
      name: "none where the provider compacts",
      view: { decision: DUE, native: { block: "none", shadow: "none", acts: "compacts" } },
      action: { type: "none", reason: "provider-compacts" },
    },
    {
      name: "no edit in its place where the provider clears",
      view: {
        decision: DUE,
        sufficientEdits: () => PLAN,
        native: { block: "none", shadow: "none", acts: "clears" },
      },
      action: { type: "compact" },
    },
    {
      name: "none around a provider's block: its shadow comes first",
      view: { decision: DUE, native: { block: "readable", shadow: "kept", acts: "nothing" } },
      action: { type: "use-shadow", reason: "before-compaction" },
    },
    {
      name: "and none where the block is all that is known",
      view: { decision: DUE, native: { block: "readable", shadow: "none", acts: "nothing" } },
      action: { type: "none", reason: "nothing-to-gain" },
    },
    {
      name: "the provider's own where that pays",
      view: { decision: DUE, mayAskProvider: () => true },
      action: { type: "compact", by: "provider" },
    },
    {
      name: "another one of the provider behind one that was asked for",
      view: {
        decision: DUE,
        mayAskProvider: () => true,
        native: { block: "asked", shadow: "kept", acts: "nothing" },
      },
      action: { type: "compact", by: "provider" },
    },
    {
      name: "an edit in its place, of what is kept behind a block that was asked for",
      view: {
        decision: DUE,
        sufficientEdits: () => PLAN,
        native: { block: "asked", shadow: "kept", acts: "nothing" },
      },
      action: { type: "prune" },
    },
    {
      name: "ours does not read a block that was asked for, but its shadow",
      view: { decision: DUE, native: { block: "asked", shadow: "kept", acts: "nothing" } },
      action: { type: "use-shadow", reason: "before-compaction" },
    },
    {
      name: "one that was asked for in the transcript is done",
      view: { marker: "auto" },
      action: { type: "compact", trigger: "overflow" },
    },
  ])("a compaction: $name", ({ view, action }) => {
    expect(decide(view)).toMatchObject(action);
  });
});
