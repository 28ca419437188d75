import type { Clock } from "../compaction/ports/clock.ts";

/** The system clock; its timers do not keep a process alive. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) {
          resolve();
          return;
        }
        const timer = setTimeout(done, ms);
        function done(): void {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          resolve();
        }
        signal.addEventListener("abort", done);
        if (typeof timer === "object") timer.unref();
      }),
  };
}
