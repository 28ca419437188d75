import { isOverdue, type Wait } from "./attempts.ts";
import { type EndedRun, type ForkRecord, isLive } from "./record.ts";

/**
 * Plans what to do about the results for one parent now. Store `delivery-sent` for every result of `send` before
 * sending; look for its delivery id among the parent's messages before sending it again.
 */
export function planDelivery(view: OutboxView): DeliveryPlan {
  if (view.parent.status === "reverted") return { look: [], remind: [], giveUp: [] };
  const open = openResults(view);
  const pending = open.filter(({ run }) => run.delivery.state === "pending");
  const sent = open.filter(({ run }) => run.delivery.state === "sent");
  const seen = open.filter(({ run }) => run.delivery.state === "seen");
  const times: number[] = [];
  const isDue = (wait: Wait): boolean => {
    if (isOverdue(wait, view.nowMs)) return true;
    times.push(wait.sinceMs + wait.waitMs);
    return false;
  };

  const send = planSend(view, pending, isDue);
  const look = sent.filter(
    ({ run }) => run.delivery.isUnsure === true || isDue({ sinceMs: run.delivery.sinceMs, waitMs: LOOK_MS }),
  );
  const isQuiet = view.parent.status === "idle" && view.moment === "time";
  const unanswered = isQuiet ? seen : [];
  const waiting = unanswered.filter(({ run }) => run.delivery.isHeld !== true);
  const { answerMs = ANSWER_MS } = view.waits ?? {};
  const remind = waiting.filter(
    ({ run: { delivery } }) =>
      delivery.remindedAtMs === undefined && isDue({ sinceMs: delivery.sinceMs, waitMs: answerMs }),
  );
  const giveUp = waiting.filter(
    ({ run: { delivery } }) =>
      delivery.remindedAtMs !== undefined && isDue({ sinceMs: delivery.remindedAtMs, waitMs: answerMs }),
  );
  return {
    ...(send === undefined ? {} : { send }),
    look: [...look, ...unanswered],
    remind,
    giveUp,
    ...(times.length === 0 ? {} : { nextAtMs: Math.min(...times) }),
  };
}

/** Everything that the plan depends on. */
export interface OutboxView {
  readonly records: readonly ForkRecord[];
  /** Only the owner of a record delivers its result. */
  readonly instanceId: string;
  readonly parentSessionId: string;
  readonly parent: ParentState;
  readonly moment: DeliveryMoment;
  readonly nowMs: number;
  /** Defaults suit interactive use. */
  readonly waits?: DeliveryWaits;
}

/** How long to wait for a parent. */
export interface DeliveryWaits {
  /** While it is busy without finishing a tool call, before it is prompted anyway. */
  readonly busyMs?: number;
  /** While it is idle without an answer, before it is reminded, and again before giving up. */
  readonly answerMs?: number;
}

/** `tool-end`: a tool output of the parent can carry results. `user-message`: a message of the user can. `time`: neither. */
export type DeliveryMoment = "tool-end" | "user-message" | "time";

/** What the parent session is doing. */
export type ParentState =
  | { readonly status: "idle" }
  /** Since its turn began or its last tool ended. */
  | { readonly status: "busy"; readonly sinceMs: number }
  | { readonly status: "compacting" }
  /** The user stopped it and has sent no message since. */
  | { readonly status: "aborted" }
  /** The user took messages back and may restore them: a message would delete them, so nothing is done. */
  | { readonly status: "reverted" };

/** A run that is over, and the fork it belongs to. */
export interface EndedFork {
  readonly record: ForkRecord;
  readonly run: EndedRun;
}

/** What to send, search for, remind of and give up. */
export interface DeliveryPlan {
  readonly send?: {
    readonly way: "tool-output" | "user-message" | "prompt";
    readonly results: readonly EndedFork[];
  };
  /** Search the parent's messages, then report delivery-seen, delivery-absent or delivery-answered for each. */
  readonly look: readonly EndedFork[];
  /**
   * After a search that found no answer: prompt the parent again without the results, and store `delivery-reminded`.
   */
  readonly remind: readonly EndedFork[];
  /** After a search that found no answer: store `delivery-unanswered`. */
  readonly giveUp: readonly EndedFork[];
  /** When to plan again if nothing happens. */
  readonly nextAtMs?: number;
}

/** The prompt for a parent that got results and did not answer. */
export const REMINDER_TEXT = "Results of your forks are above and have not been answered. Go on with them.";

/** Results that come this close together go in one prompt. */
const COALESCE_MS = 250;

/** A parent that is busy for so long without finishing a tool call is prompted anyway. */
const BUSY_MS = 60_000;

/** From sending to the first search for it. */
const LOOK_MS = 2_000;

/** An idle parent that has not answered for so long is reminded. */
const ANSWER_MS = 30_000;

function planSend(
  { parent, moment, waits }: OutboxView,
  pending: readonly EndedFork[],
  isDue: (wait: Wait) => boolean,
): DeliveryPlan["send"] {
  if (pending.length === 0 || parent.status === "compacting") return undefined;
  if (moment === "tool-end") return { way: "tool-output", results: pending };
  if (moment === "user-message") return { way: "user-message", results: pending };
  const wakers = pending.filter(({ run }) => run.delivery.isHeld !== true);
  if (wakers.length === 0 || parent.status === "aborted") return undefined;
  const oldestMs = Math.min(...wakers.map(({ run }) => run.delivery.sinceMs));
  const { busyMs = BUSY_MS } = waits ?? {};
  const wait: Wait =
    parent.status === "busy"
      ? { sinceMs: Math.max(parent.sinceMs, oldestMs), waitMs: busyMs }
      : { sinceMs: oldestMs, waitMs: COALESCE_MS };
  return isDue(wait) ? { way: "prompt", results: pending } : undefined;
}

function openResults({ records, instanceId, parentSessionId }: OutboxView): readonly EndedFork[] {
  return records
    .filter((record) => record.parentSessionId === parentSessionId && record.owner.instanceId === instanceId)
    .toSorted((a, b) => a.number - b.number)
    .flatMap((record) =>
      record.runs.flatMap((run) => (isLive(run) || !isOpen(run) ? [] : [{ record, run }])),
    );
}

function isOpen({ delivery, undone }: EndedRun): boolean {
  return delivery.state !== "acked" && delivery.isUndone !== true && undone === undefined;
}
