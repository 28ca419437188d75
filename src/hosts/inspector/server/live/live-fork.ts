import { processState } from "../../../../stores/files/process-identity.ts";
import { currentRun, type ForkRecord, isLive } from "../../../../tasks/fork-record.ts";
import type { LiveFork } from "../../view/live.ts";

/** What the page is told of a fork. One whose OpenCode is gone is interrupted, whatever its record still says. */
export function liveFork(record: ForkRecord, redact: (text: string) => string): LiveFork {
  const run = currentRun(record);
  const { id, number, title, inherited, spent, childSessionId } = record;
  const isOwned = processState(record.owner.process) !== "gone";
  return {
    id,
    number,
    title: redact(title),
    state: isLive(run) && !isOwned ? "interrupted" : run.state,
    isLive: isLive(run) && isOwned,
    way: inherited.way,
    calls: run.calls.total,
    tokens: spent.tokens,
    costUSD: spent.costUSD,
    queuedAtMs: run.queuedAtMs,
    ...(!isLive(run) && { endedAtMs: run.endedAtMs }),
    ...(childSessionId !== undefined && { childSessionId }),
    ...(!isLive(run) && run.error && { error: redact(`${run.error.kind}: ${run.error.message}`) }),
  };
}
