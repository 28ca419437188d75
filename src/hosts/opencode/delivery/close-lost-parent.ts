import type { ForkKeeper } from "../forks/fork-keeper.ts";
import { type HostCalls, sessionPath } from "../host-calls.ts";

/** Ends the forks of a parent that the host does not have any more: their results would wait for ever. */
export async function closeLostParent(
  { calls, keeper }: { readonly calls: HostCalls; readonly keeper: ForkKeeper },
  parentSessionId: string,
): Promise<void> {
  const answer = await calls.call("GET", sessionPath(parentSessionId));
  if (answer.status === "ok" || answer.code !== 404) return;
  const left = keeper.all().filter((record) => record.parentSessionId === parentSessionId);
  await Promise.all(left.map(({ id }) => keeper.tell(id, { type: "parent-deleted" })));
}
