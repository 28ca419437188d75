import {
  adoptFork,
  cancelRun,
  interruptOnExit,
  parentAborted,
  parentDeleted,
  steerOrResume,
} from "./control.ts";
import { advanceDelivery } from "./delivery.ts";
import {
  countCall,
  countSpending,
  permissionAnswered,
  permissionAsked,
  rootCostReached,
} from "./enforce-limits.ts";
import type { EventOf, ForkEvent, ForkStep } from "./events.ts";
import type { ForkLimits } from "./limits.ts";
import type { ForkRecord } from "./record.ts";
import { childCreated, childRefused, promptAccepted, promptRefused, startRun } from "./start.ts";
import { tick } from "./tick.ts";
import { childChecked, childDeleted, childFailed, childStopped, statusSeen } from "./watch.ts";

/**
 * The only function that changes a fork: the record after an event, and the actions for the host to perform once that
 * record is stored. An event that comes twice, late or for another run changes nothing, and a run that has ended stays
 * ended. Results reach the parent through `planDelivery`, slots are given by `nextToStart`, and `admitFork` decides
 * whether a fork may be started at all.
 */
export function advanceFork(record: ForkRecord, event: ForkEvent, limits: ForkLimits): ForkStep {
  if (!Object.hasOwn(HANDLERS, event.type)) return { record, actions: [] };
  // The type of the event selects the handler for exactly this type.
  const handle = HANDLERS[event.type] as Handler<ForkEvent>;
  return handle(record, event, limits);
}

type Handler<Event> = (record: ForkRecord, event: Event, limits: ForkLimits) => ForkStep;

const HANDLERS: { readonly [Type in ForkEvent["type"]]: Handler<EventOf<Type>> } = {
  "slot-given": startRun,
  "child-created": childCreated,
  "child-refused": childRefused,
  "prompt-accepted": promptAccepted,
  "prompt-refused": promptRefused,
  status: statusSeen,
  "child-failed": childFailed,
  "child-deleted": childDeleted,
  "child-checked": childChecked,
  "child-stopped": childStopped,
  "tool-called": countCall,
  spent: countSpending,
  "root-cost-reached": rootCostReached,
  "permission-asked": permissionAsked,
  "permission-answered": permissionAnswered,
  "cancel-asked": cancelRun,
  "resume-asked": steerOrResume,
  "parent-aborted": parentAborted,
  "parent-deleted": parentDeleted,
  tick,
  adopted: adoptFork,
  "owner-leaving": interruptOnExit,
  "delivery-sent": advanceDelivery,
  "delivery-seen": advanceDelivery,
  "delivery-absent": advanceDelivery,
  "delivery-reminded": advanceDelivery,
  "delivery-unanswered": advanceDelivery,
  "delivery-answered": advanceDelivery,
};
