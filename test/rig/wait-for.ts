import { setTimeout as sleep } from "node:timers/promises";

/** Looks again and again until the condition gives something, and gives that; says what never came otherwise. */
export async function waitFor<T>(condition: Condition<T>, wait: string | Wait): Promise<T> {
  const { what, timeoutMs = LONG_ENOUGH_MS } = typeof wait === "string" ? { what: wait } : wait;
  const deadlineMs = Date.now() + timeoutMs;
  for (;;) {
    const seen = await condition();
    if (seen !== false && seen !== undefined && seen !== null) return seen;
    if (Date.now() > deadlineMs) throw new Error(`Waited ${timeoutMs} ms in vain: ${what}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** False, undefined and null mean: not yet. */
export type Condition<T> = () => T | Missing | Promise<T | Missing>;

export interface Wait {
  /** What is waited for, as the error says it. */
  readonly what: string;
  readonly timeoutMs?: number;
}

type Missing = false | undefined | null;

const LOOK_EVERY_MS = 40;

/** What comes at all comes within seconds; a machine that does much else at the time needs a minute. */
export const LONG_ENOUGH_MS = 120_000;
