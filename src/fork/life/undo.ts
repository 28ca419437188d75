import { offerToast, stopRun } from "./end.ts";
import { changeRun, type EventOf, type ForkStep, unchanged, withoutKeys } from "./events.ts";
import { wasPromptSent } from "./prompts.ts";
import {
  type Delivery,
  type EndedRun,
  type ForkError,
  type ForkRecord,
  type ForkRun,
  isLive,
  type LiveRun,
} from "./record.ts";

/** The user took back the message that asked for a run: it may only report, and its result is offered instead of inserted. */
export function launchUndone(record: ForkRecord, event: EventOf<"launch-undone">): ForkStep {
  return takeBack(record, event, "restorable");
}

/** The user went on without the message that asked for a run: its result will never be inserted. */
export function launchGone(record: ForkRecord, event: EventOf<"launch-gone">): ForkStep {
  return takeBack(record, event, "gone");
}

/** The user restored the message that asked for a run: it goes on, and its result is delivered. */
export function launchRestored(record: ForkRecord, event: EventOf<"launch-restored">): ForkStep {
  const run = runOf(record, event.run);
  if (run?.undone !== "restorable") return unchanged(record);
  if (!isLive(run)) return withRun(record, run, withoutKeys(run, "undone"), PLAN(record));
  const restored: LiveRun = withoutKeys(run, "undone");
  return changeRun(record, run.wrapUp?.limit === "undone" ? withoutKeys(restored, "wrapUp") : restored);
}

function takeBack(
  record: ForkRecord,
  { run: number, atMs }: { readonly run: number; readonly atMs: number },
  undone: NonNullable<ForkRun["undone"]>,
): ForkStep {
  const run = runOf(record, number);
  if (run === undefined || run.undone === undone || run.undone === "gone") return unchanged(record);
  if (!isLive(run)) return offer(record, run, { undone, atMs });
  const taken: LiveRun = { ...run, undone };
  if (!wasPromptSent(run)) return stopRun(record, taken, { as: "cancelled", error: UNDONE, atMs });
  // Not told by a prompt: one that is just writing its report would be asked for another. Its next call is refused.
  return changeRun(record, { ...taken, wrapUp: run.wrapUp ?? { limit: "undone", atMs } });
}

const UNDONE: ForkError = { kind: "undone", message: "the user took back the message that asked for it" };

function offer(
  record: ForkRecord,
  run: EndedRun,
  { undone, atMs }: { readonly undone: NonNullable<ForkRun["undone"]>; readonly atMs: number },
): ForkStep {
  const { delivery } = run;
  const settled = withoutKeys(delivery, "isHeld", "isUnsure", "isUndone");
  const closed: Delivery =
    delivery.state === "acked" ? settled : { ...settled, state: "acked", closedBy: "undone", sinceMs: atMs };
  const taken: EndedRun = { ...run, undone, delivery: undone === "gone" ? closed : delivery };
  const isNews = run.undone === undefined && delivery.state === "pending";
  return withRun(record, run, taken, isNews ? [offerToast(run)] : []);
}

/** The user took back the message that brought a result: nothing is known of it until that is restored or gone. */
export function deliveryUndone(record: ForkRecord, event: EventOf<"delivery-undone">): ForkStep {
  return changeDelivery(record, event.run, (delivery) => ({ ...delivery, isUndone: true }));
}

/** The user restored the message that brought a result. */
export function deliveryRestored(record: ForkRecord, event: EventOf<"delivery-restored">): ForkStep {
  return changeDelivery(record, event.run, (delivery) => withoutKeys(delivery, "isUndone"));
}

/** The user went on without the message that brought a result: it is delivered again. */
export function deliveryGone(record: ForkRecord, { run, atMs }: EventOf<"delivery-gone">): ForkStep {
  return changeDelivery(record, run, () => ({ state: "pending", sinceMs: atMs, sends: 0 }));
}

function changeDelivery(
  record: ForkRecord,
  number: number,
  change: (delivery: Delivery) => Delivery,
): ForkStep {
  const run = runOf(record, number);
  if (run === undefined || isLive(run) || !wasDelivered(run)) return unchanged(record);
  return withRun(record, run, { ...run, delivery: change(run.delivery) }, PLAN(record));
}

/** True once a result may stand in the parent's messages. */
export function wasDelivered({ delivery }: EndedRun): boolean {
  const { state, closedBy } = delivery;
  return state !== "pending" && (closedBy === undefined || closedBy === "answer" || closedBy === "read");
}

function runOf({ runs }: ForkRecord, number: number): ForkRun | undefined {
  return runs.find((run) => run.number === number);
}

function withRun(
  record: ForkRecord,
  run: EndedRun,
  changed: EndedRun,
  actions: ForkStep["actions"],
): ForkStep {
  return { record: { ...record, runs: record.runs.map((each) => (each === run ? changed : each)) }, actions };
}

const PLAN = ({ parentSessionId }: ForkRecord): ForkStep["actions"] => [
  { type: "plan-delivery", parentSessionId },
];
