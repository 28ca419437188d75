import { countAttempt, isDueAgain, MAX_ATTEMPTS } from "./attempts.ts";
import { changeRun, type EventOf, type ForkAction, type ForkStep, unchanged } from "./events.ts";
import type { ForkLimits } from "./limits.ts";
import { rejectionText } from "./prompts.ts";
import { activeRun, currentRun, type ForkRecord, isLive, type LiveRun } from "./record.ts";

/** Notes that the child waits for a permission; where nobody can answer it is rejected at once. */
export function permissionAsked(
  record: ForkRecord,
  { askId, what, atMs }: EventOf<"permission-asked">,
  limits: ForkLimits,
): ForkStep {
  const run = activeRun(record);
  if (run === undefined || run.asks.some((ask) => ask.askId === askId)) return unchanged(record);
  const asks = [...run.asks, { askId, askedAtMs: atMs }];
  const asked: LiveRun = { ...run, asks, lastSignAtMs: Math.max(run.lastSignAtMs, atMs) };
  if (limits.askTimeoutMs === 0) return rejectOverdue(record, asked, { atMs, limits });
  const text = `waits for a permission${what === undefined ? "" : `: ${what}`}`;
  return changeRun(record, asked, { type: "toast", tone: "warning", text });
}

/** The permission was answered. */
export function permissionAnswered(record: ForkRecord, event: EventOf<"permission-answered">): ForkStep {
  const run = currentRun(record);
  if (!isLive(run) || !run.asks.some((ask) => ask.askId === event.askId)) return unchanged(record);
  const asks = run.asks.filter((ask) => ask.askId !== event.askId);
  return changeRun(record, { ...run, asks, lastSignAtMs: event.atMs });
}

/** Rejects permissions that nobody answered in time; one that the host does not reject either is dropped. */
export function rejectOverdue(
  record: ForkRecord,
  run: LiveRun,
  { atMs, limits }: { readonly atMs: number; readonly limits: ForkLimits },
): ForkStep {
  const actions: ForkAction[] = [];
  const asks = run.asks.flatMap((ask) => {
    if (atMs < ask.askedAtMs + limits.askTimeoutMs) return [ask];
    if (!isDueAgain(ask.rejects, atMs)) return [ask];
    if ((ask.rejects?.count ?? 0) >= MAX_ATTEMPTS) return [];
    actions.push({ type: "reject-permission", askId: ask.askId, reason: rejectionText(limits.askTimeoutMs) });
    return [{ ...ask, rejects: countAttempt(ask.rejects, atMs) }];
  });
  const isSame = actions.length === 0 && asks.length === run.asks.length;
  return changeRun(record, isSame ? run : { ...run, asks }, ...actions);
}
