import { currentRun, isLive } from "../../../tasks/fork-record.ts";
import { resultNotice } from "../../../tasks/result-notice.ts";
import type { ToolSetup } from "./tool-setup.ts";

/** The result of a fork whose run is over, as text for its parent; reading it acknowledges it. */
export async function resultOf({ forks }: ToolSetup, forkId: string): Promise<string | undefined> {
  const record = forks.keeper.get(forkId);
  const run = record === undefined ? undefined : currentRun(record);
  if (record === undefined || run === undefined || isLive(run)) return undefined;
  const told = await forks.keeper.tell(forkId, { type: "delivery-sent", run: run.number, way: "read" });
  if (run.delivery.state === "pending" && told !== undefined && told.record === told.before) {
    return `Fork ${record.number} has ended; its result was delivered to you a moment ago.`;
  }
  return resultNotice([{ record, run }]);
}
