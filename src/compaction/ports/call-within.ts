import type { Clock, SummarizeOptions } from "./summarizer.ts";

/**
 * Calls code that may throw, hang or answer late, and always resolves within the limit. A late result is dropped; the call
 * is told to stop by its signal, but nothing waits for it to stop.
 */
export async function callWithin<T>(call: BoundedCall<T>): Promise<CallResult<T>> {
  const { start, limitMs, idleMs, clock, signal } = call;
  if (signal?.aborted) return { status: "aborted" };
  const work = new AbortController();
  const timers = new AbortController();
  const startedAt = clock.now();
  let progressAt: number | undefined;
  let isOver = false;
  const onProgress = (text?: unknown): void => {
    if (isOver) return;
    progressAt = clock.now();
    call.onProgress?.(typeof text === "string" ? text.length : 0);
  };
  const waiting: Promise<CallResult<T>>[] = [
    toCallResult(async () => start({ signal: work.signal, onProgress })),
    clock.sleep(limitMs, timers.signal).then(() => ({ status: "timeout" })),
  ];
  if (idleMs !== undefined) waiting.push(waitForIdle(idleMs, clock, timers.signal, () => progressAt));
  let onAbort: (() => void) | undefined;
  if (signal !== undefined) {
    waiting.push(
      new Promise((resolve) => {
        onAbort = () => resolve({ status: "aborted" });
        signal.addEventListener("abort", onAbort);
      }),
    );
  }
  try {
    const result = await Promise.race(waiting);
    // Code that blocked the thread settles before any timer can fire; its answer is late nevertheless.
    const isLate = result.status === "done" && clock.now() - startedAt > limitMs;
    return isLate ? { status: "timeout" } : result;
  } finally {
    isOver = true;
    timers.abort();
    work.abort();
    if (onAbort !== undefined) signal?.removeEventListener("abort", onAbort);
  }
}

/** Tells a listener something. What it throws, or what its promise comes to, is nobody's concern, and nobody waits for it. */
export function callListener(call: () => unknown): void {
  void toCallResult(async () => call());
}

interface BoundedCall<T> {
  readonly start: (options: SummarizeOptions) => T | Promise<T>;
  readonly limitMs: number;
  /** The longest silence after the first progress; before that only the limit counts. */
  readonly idleMs?: number;
  /** Called with how many characters have arrived since the last time. */
  readonly onProgress?: (chars: number) => void;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

export type CallResult<T> =
  | { readonly status: "done"; readonly value: T }
  | { readonly status: "failed"; readonly error: unknown }
  | { readonly status: "timeout" | "idle" | "aborted" };

async function toCallResult<T>(start: () => Promise<T>): Promise<CallResult<T>> {
  try {
    return { status: "done", value: await start() };
  } catch (error) {
    return { status: "failed", error };
  }
}

/** Resolves after a silence of this length; never before the first progress. */
async function waitForIdle(
  idleMs: number,
  clock: Clock,
  over: AbortSignal,
  lastProgressAt: () => number | undefined,
): Promise<{ readonly status: "idle" }> {
  let waitMs = idleMs;
  while (!over.aborted) {
    await clock.sleep(waitMs, over);
    const heardAt = lastProgressAt();
    const silentMs = heardAt === undefined ? 0 : clock.now() - heardAt;
    if (heardAt !== undefined && silentMs >= idleMs) break;
    waitMs = idleMs - silentMs;
  }
  return { status: "idle" };
}
