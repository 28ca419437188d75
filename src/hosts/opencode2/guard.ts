/** The most that a hook of ours may take: after that the agent goes on as if it had not been there. */
export const HOOK_MS = 10_000;

/**
 * A hook that never throws into OpenCode 2, where that would end the user's turn, and never holds it up: there is no time
 * limit of its own. `restore` puts back what a hook that failed or is late may have changed.
 */
export function guardedHook<Event>(
  { name, run, restore, limitMs = HOOK_MS }: GuardedHook<Event>,
  onFailure: (hook: string, cause: unknown) => void,
): (event: Event) => Promise<void> {
  return async (event) => {
    let undo: (() => void) | undefined;
    try {
      undo = restore?.(event);
      await inTime(run(event), limitMs);
    } catch (cause) {
      undo?.();
      onFailure(name, cause);
    }
  };
}

interface GuardedHook<Event> {
  readonly name: string;
  run(event: Event): Promise<void>;
  /** Remembers the event as it is, and gives what makes it so again. */
  restore?(event: Event): () => void;
  readonly limitMs?: number;
}

/** What the promise brings, or an error once its time is up; what it does after that is left alone. */
export function inTime<Value>(promise: Promise<Value>, limitMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new Error(`no end within ${limitMs / 1_000} seconds`));
    const timer = setTimeout(giveUp, limitMs);
    timer.unref?.();
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
