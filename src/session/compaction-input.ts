import type { CompactionInput, CompactionTrigger } from "../compaction/plan/plan-compaction.ts";
import { keepAmount } from "../compaction/plan/split-conversation.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import { estimateMessageTokens } from "../transcript/estimate-message.ts";
import { EMPTY_HISTORY, withBatches } from "./history.ts";
import type { SessionState } from "./state.ts";
import { type SessionSetup, type SessionView, viewOf } from "./view.ts";

/** What a compaction of a window is planned with. */
export function compactionInput(view: SessionView, trigger: CompactionTrigger): CompactionInput {
  const { state, options, knownLimits } = view;
  return {
    transcript: state.history.transcript,
    trigger,
    representation: options.representation,
    settings: state.settings,
    limits: knownLimits.estimateLimits,
    overflow: knownLimits.overflowSettings,
    profile: options.profile,
    estimate: view.estimate,
    redaction: options.redaction,
    keep: view.protectedOutputs.kept,
    ...omitUndefined({ model: state.model, summarizer: options.summarizer }),
    ...omitUndefined({ pins: options.pins, autoContinue: options.autoContinue, tailTokens: options.tail }),
    ...omitUndefined({ compactAt: options.compactAt }),
  };
}

/**
 * The same for a compaction that is begun before it is due. What comes in until then counts as a part of the tail: so the
 * window is as large as if it had been compacted when due.
 */
export function earlyInput(view: SessionView): CompactionInput {
  const input: CompactionInput = { ...compactionInput(view, "threshold"), autoContinue: "never" };
  const keep = keepAmount(keepInput(view));
  if (keep.type !== "tokens") return input;
  const openTokens = view.knownLimits.dueTokens - view.measure.tokens;
  const comingTokens = Math.max(0, openTokens) + newestTokens(view) / 2;
  const tailTokens = Math.max(1, Math.floor(keep.tokens - comingTokens));
  if (input.representation === "pivot" && input.tailTokens !== "as-settings") return { ...input, tailTokens };
  return { ...input, settings: { ...view.state.settings, keepRecentTokens: tailTokens } };
}

/** From how many tokens on a compaction that is due at `dueTokens` is begun. */
export function earlyTokens(view: SessionView, dueTokens: number): number {
  const keep = keepAmount(keepInput(view));
  // Where the tail holds but a few steps, one more of them would make compactions more frequent.
  if (keep.type === "tokens" && newestTokens(view) > keep.tokens * MAX_STEP_SHARE)
    return Number.POSITIVE_INFINITY;
  const mostTokens = dueTokens * MAX_LEAD_SHARE;
  const leadTokens = keep.type === "tokens" ? Math.min(keep.tokens * LEAD_SHARE, mostTokens) : mostTokens / 2;
  return dueTokens - leadTokens;
}

/** How much of the tail is still to come when the summary is begun; the rest of the time is the summarizer's. */
const LEAD_SHARE = 0.5;
const MAX_LEAD_SHARE = 0.1;
/** The largest part of the tail that a step may take where compactions are begun early. */
const MAX_STEP_SHARE = 1 / 3;

/** The session as it was when its compaction was begun; undefined when none was. */
export function whenBegun(state: SessionState, setup: SessionSetup): SessionView | undefined {
  const { begun, history } = state;
  if (begun === undefined) return undefined;
  const count = history.batches.findIndex(({ id }) => id === begun.batchId) + 1;
  const messages = history.messages.slice(0, begun.messages);
  const then = withBatches(
    { ...EMPTY_HISTORY, messages, transcript: messages },
    history.batches.slice(0, count),
  );
  return viewOf({ ...state, history: then.history, measure: begun.measure, windows: begun.windows }, setup);
}

function newestTokens({ window, estimate }: SessionView): number {
  const newest = window.marked.at(-1);
  return newest === undefined ? 0 : estimateMessageTokens(newest, estimate);
}

function keepInput(view: SessionView): Parameters<typeof keepAmount>[0] {
  const { representation = "pivot", ...input } = compactionInput(view, "threshold");
  return { ...input, representation, overheadTokens: view.measure.overheadTokens };
}
