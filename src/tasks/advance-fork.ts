import { advanceDelivery } from "./advance-delivery.ts";
import { adopt, cancel, leave, parentAborted, parentDeleted, resume } from "./control-run.ts";
import type { ForkEvent } from "./fork-event.ts";
import type { ForkLimits } from "./fork-limits.ts";
import type { ForkRecord } from "./fork-record.ts";
import type { ForkStep } from "./fork-step.ts";
import { childChecked } from "./judge-child.ts";
import {
  countCall,
  countSpending,
  permissionAnswered,
  permissionAsked,
  rootCostReached,
} from "./limit-run.ts";
import { childCreated, childRefused, giveSlot, promptAccepted, promptRefused } from "./start-run.ts";
import { tick } from "./tick-run.ts";
import { childDeleted, childFailed, childStopped, sawStatus } from "./watch-run.ts";

/**
 * The one function that changes a fork: the record after an event, and what the host is to do once that record is
 * stored. An event that comes twice, late or for another run changes nothing; what is over stays over.
 */
export function advanceFork(record: ForkRecord, event: ForkEvent, limits: ForkLimits): ForkStep {
  switch (event.type) {
    case "slot-given":
      return giveSlot(record, event.atMs);
    case "child-created":
      return childCreated(record, event);
    case "child-refused":
      return childRefused(record, event);
    case "prompt-accepted":
      return promptAccepted(record, event);
    case "prompt-refused":
      return promptRefused(record, event);
    case "status":
      return sawStatus(record, event);
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
      return cancel(record, event);
    case "resume-asked":
      return resume(record, event);
    case "parent-aborted":
      return parentAborted(record, event.atMs, limits);
    case "parent-deleted":
      return parentDeleted(record, event.atMs);
    case "tick":
      return tick(record, event.atMs, limits);
    case "adopted":
      return adopt(record, event, limits);
    case "owner-leaving":
      return leave(record, event.atMs);
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
