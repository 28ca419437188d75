import type { Clock } from "../compaction/ports/clock.ts";

/** The system clock. A sleep keeps the process alive until it is over or aborted: it bounds something that is waited for. */
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
      }),
  };
}
