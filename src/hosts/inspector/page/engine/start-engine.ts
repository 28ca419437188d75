import { createEngine, type Engine, type EngineRunner } from "./create-engine.ts";
import { runInWorker } from "./run-in-worker.ts";
import { runOnPage } from "./run-on-page.ts";

/** The engine in a worker; on the page's own thread, which says so once in the console, when there can be none. */
export function startEngine(openWorker: () => Worker): Engine {
  return createEngine((work) => {
    let runner: EngineRunner;
    const stayOnPage = (why: string): void => {
      console.warn(
        `Carryover computes on the page's own thread, which is slower to answer: no worker (${why}).`,
      );
      work.lose();
      runner = runOnPage(work);
      runner.wake();
    };
    try {
      runner = runInWorker(work, { worker: openWorker(), onFailure: stayOnPage });
    } catch (error) {
      stayOnPage(String(error));
    }
    return { wake: () => runner.wake() };
  });
}
