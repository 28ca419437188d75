import { endRun } from "./end-run.ts";
import type { ForkLimits } from "./fork-limits.ts";
import type { ForkError, ForkRecord, LiveRun } from "./fork-record.ts";
import type { ForkStep } from "./fork-step.ts";
import { RESTART_TEXT } from "./fork-texts.ts";
import { openRun } from "./open-run.ts";

/** Ends a run whose program is gone; with `onRestart: "resume"` the next run takes its place, once. */
export function interruptRun(record: ForkRecord, run: LiveRun, interruption: Interruption): ForkStep {
  const { text = "", changedFiles = [], atMs, limits, wasPrompted = true } = interruption;
  const end = { state: "interrupted", error: INTERRUPTED, atMs, text, changedFiles } as const;
  // A child that takes its program down must not do so again and again; one whose record was lost may have been cancelled.
  const mayGoOn = run.openedBy !== "restart" && run.isRebuilt !== true;
  if (limits.onRestart === "report" || !mayGoOn) return endRun(record, run, end);
  const { record: ended } = endRun(record, run, { ...end, closedBy: "next-run" });
  const directive = wasPrompted ? RESTART_TEXT : run.prompts[0]?.text || RESTART_TEXT;
  return openRun(ended, { directive, atMs, openedBy: "restart" });
}

export interface Interruption {
  readonly atMs: number;
  readonly limits: ForkLimits;
  readonly text?: string;
  readonly changedFiles?: readonly string[];
  /** False when the child was never told its task. */
  readonly wasPrompted?: boolean;
}

/** What is said of a run whose program is gone. */
export const INTERRUPTED: ForkError = { kind: "interrupted", message: "the program that ran it ended" };
