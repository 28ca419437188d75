import type { Clock } from "../compaction/ports/summarizer.ts";

/** The system clock. A sleep keeps the process alive until it is over or aborted, unless nobody waits for what it bounds. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    sleep: (ms, signal, process) =>
      new Promise((resolve) => {
        if (signal.aborted) {
          resolve();
          return;
        }
        const timer = setTimeout(done, ms);
        // A number in a browser.
        if (process === "unheld") (timer as { unref?: () => void }).unref?.();
        function done(): void {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          resolve();
        }
        signal.addEventListener("abort", done);
      }),
  };
}
