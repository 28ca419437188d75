import type { LiveRun } from "./fork-record.ts";

/** What a running run is doing at a moment, the most pressing thing first. */
export function activityOf(run: LiveRun, nowMs: number): RunActivity {
  if (run.wrapUp !== undefined || run.stopping !== undefined) return "wrapping-up";
  if (run.asks.length > 0) return "waiting-permission";
  if (run.isRetrying === true) return "retrying";
  return nowMs - run.lastSignAtMs >= STALL_MS ? "stalled" : "active";
}

export type RunActivity = "active" | "retrying" | "waiting-permission" | "stalled" | "wrapping-up";

const STALL_MS = 180_000;
