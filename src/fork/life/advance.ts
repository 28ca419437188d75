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
import type { ForkEvent, ForkStep } from "./events.ts";
import type { ForkLimits } from "./limits.ts";
import type { ForkRecord } from "./record.ts";
import { childCreated, childRefused, promptAccepted, promptRefused, startRun } from "./start.ts";
import { tick } from "./tick.ts";
import { childChecked, childDeleted, childFailed, childStopped, statusSeen } from "./watch.ts";

/**
 * The one function that changes a fork: the record after an event, and what the host is to do once that record is
 * stored. An event that comes twice, late or for another run changes nothing; what is over stays over.
 */
export function advanceFork(record: ForkRecord, event: ForkEvent, limits: ForkLimits): ForkStep {
  switch (event.type) {
    case "slot-given":
      return startRun(record, event.atMs);
    case "child-created":
      return childCreated(record, event);
    case "child-refused":
      return childRefused(record, event);
    case "prompt-accepted":
      return promptAccepted(record, event);
    case "prompt-refused":
      return promptRefused(record, event);
    case "status":
      return statusSeen(record, event);
    case "child-failed":
      return childFailed(record, event);
    case "child-deleted":
      return childDeleted(record, event.atMs);
    case "child-checked":
      return childChecked(record, event, limits);
    case "child-stopped":
      return childStopped(record, event);
    case "tool-called":
      return countCall(record, event, limits);
    case "spent":
      return countSpending(record, event, limits);
    case "root-cost-reached":
      return rootCostReached(record, event.atMs);
    case "permission-asked":
      return permissionAsked(record, event, limits);
    case "permission-answered":
      return permissionAnswered(record, event);
    case "cancel-asked":
      return cancelRun(record, event);
    case "resume-asked":
      return steerOrResume(record, event);
    case "parent-aborted":
      return parentAborted(record, event.atMs, limits);
    case "parent-deleted":
      return parentDeleted(record, event.atMs);
    case "tick":
      return tick(record, event.atMs, limits);
    case "adopted":
      return adoptFork(record, event, limits);
    case "owner-leaving":
      return interruptOnExit(record, event.atMs);
    case "delivery-sent":
    case "delivery-seen":
    case "delivery-absent":
    case "delivery-kicked":
    case "delivery-unanswered":
    case "delivery-answered":
      return advanceDelivery(record, event);
    default:
      event satisfies never;
      return { record, actions: [] };
  }
}
