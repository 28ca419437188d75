export { admitFork, findFork, nextForkNumber, nextToStart, rootCostUSD } from "./fork/life/admit.ts";
export { advanceFork } from "./fork/life/advance.ts";
export { planDelivery } from "./fork/life/delivery.ts";
export type { ForkAction, ForkEvent } from "./fork/life/events.ts";
export { canAdopt, createLease, leaseState, mustRenew, readLease } from "./fork/life/lease.ts";
export { DEFAULT_FORK_LIMITS, type ForkLimits, readForkLimits } from "./fork/life/limits.ts";
export {
  activityOf,
  deliveryIdsIn,
  forkRoster,
  forkTable,
  quoteChild,
  resultNotice,
} from "./fork/life/notice.ts";
export { currentRun, deliveryId, type ForkRecord, isLive, promptKey } from "./fork/life/record.ts";
export { createForkRecord } from "./fork/life/start.ts";
export {
  forkMetadata,
  readForkMetadata,
  readForkRecord,
  rebuildForkRecord,
} from "./fork/life/stored-record.ts";
export { checkChild } from "./fork/life/watch.ts";
