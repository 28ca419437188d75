import { type EndedRun, type ForkRecord, isLive } from "./fork-record.ts";
import { hasPassed, type Wait } from "./has-passed.ts";

/**
 * What to do about the results of one parent at one moment. Write `delivery-sent` for every result of `send` and
 * store it before sending; then look for its delivery id among the parent's messages before it is sent again.
 */
export function planDelivery(view: OutboxView): DeliveryPlan {
  const open = openResults(view);
  const pending = open.filter(({ run }) => run.delivery.state === "pending");
  const sent = open.filter(({ run }) => run.delivery.state === "sent");
  const seen = open.filter(({ run }) => run.delivery.state === "seen");
  const times: number[] = [];
  const isDue = (wait: Wait): boolean => {
    if (hasPassed(wait, view.nowMs)) return true;
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
  const kick = waiting.filter(
    ({ run: { delivery } }) =>
      delivery.kickedAtMs === undefined && isDue({ sinceMs: delivery.sinceMs, waitMs: answerMs }),
  );
  const giveUp = waiting.filter(
    ({ run: { delivery } }) =>
      delivery.kickedAtMs !== undefined && isDue({ sinceMs: delivery.kickedAtMs, waitMs: answerMs }),
  );
  return {
    ...(send === undefined ? {} : { send }),
    look: [...look, ...unanswered],
    kick,
    giveUp,
    ...(times.length === 0 ? {} : { nextAtMs: Math.min(...times) }),
  };
}

export interface OutboxView {
  readonly records: readonly ForkRecord[];
  /** Only the owner of a record delivers its result. */
  readonly instanceId: string;
  readonly parentSessionId: string;
  readonly parent: ParentState;
  readonly moment: DeliveryMoment;
  readonly nowMs: number;
  /** Unset means what is right for people. */
  readonly waits?: DeliveryWaits;
}

/** How long a parent may take. */
export interface DeliveryWaits {
  /** Busy without a tool end, before it is prompted anyway. */
  readonly busyMs?: number;
  /** Idle without an answer, before it is asked once more, and before that is given up. */
  readonly answerMs?: number;
}

/** `tool-end`: a tool output of the parent can carry results. `user-message`: a message of the user can. `time`: neither. */
export type DeliveryMoment = "tool-end" | "user-message" | "time";

export type ParentState =
  | { readonly status: "idle" }
  /** Since its turn began or its last tool ended. */
  | { readonly status: "busy"; readonly sinceMs: number }
  | { readonly status: "compacting" }
  /** The user stopped it and has not spoken since. */
  | { readonly status: "aborted" };

/** A run that is over, and the fork it belongs to. */
export interface ForkResult {
  readonly record: ForkRecord;
  readonly run: EndedRun;
}

export interface DeliveryPlan {
  readonly send?: {
    readonly way: "tool-output" | "user-message" | "prompt";
    readonly results: readonly ForkResult[];
  };
  /** Read the parent's messages: answer delivery-seen, delivery-absent or delivery-answered for each. */
  readonly look: readonly ForkResult[];
  /** After a look that found no answer: prompt the parent once more without the results, and write `delivery-kicked`. */
  readonly kick: readonly ForkResult[];
  /** After a look that found no answer: write `delivery-unanswered`. */
  readonly giveUp: readonly ForkResult[];
  /** When to ask again if nothing happens. */
  readonly nextAtMs?: number;
}

/** Results that come this close together go in one prompt. */
export const COALESCE_MS = 250;
/** A parent that is busy for so long without a tool end is prompted anyway. */
export const BUSY_MS = 60_000;
/** From sending to the first look. */
const LOOK_MS = 2_000;
/** An idle parent that has not answered for so long was not woken. */
const ANSWER_MS = 30_000;

function planSend(
  { parent, moment, waits }: OutboxView,
  pending: readonly ForkResult[],
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

function openResults({ records, instanceId, parentSessionId }: OutboxView): readonly ForkResult[] {
  return records
    .filter((record) => record.parentSessionId === parentSessionId && record.owner.instanceId === instanceId)
    .toSorted((a, b) => a.number - b.number)
    .flatMap((record) =>
      record.runs.flatMap((run) => (isLive(run) || run.delivery.state === "acked" ? [] : [{ record, run }])),
    );
}
