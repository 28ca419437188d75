import { currentRun, type ForkRecord, isLive } from "../../../../tasks/fork-record.ts";
import type { LiveFork } from "../../view/live.ts";

/** The record of a fork, and whether the program that runs it is still there. */
export interface FollowedFork {
  readonly record: ForkRecord;
  readonly isHeld: boolean;
}

/** What the page is told of a fork. One whose OpenCode is gone is interrupted, whatever its record still says. */
export function liveFork({ record, isHeld }: FollowedFork, redact: (text: string) => string): LiveFork {
  const run = currentRun(record);
  const { id, number, title, inherited, spent, childSessionId } = record;
  return {
    id,
    number,
    title: redact(title),
    state: isLive(run) && !isHeld ? "interrupted" : run.state,
    isLive: isLive(run) && isHeld,
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
