import { createAnswerer } from "./create-answerer.ts";
import type { EngineRunner, EngineWork } from "./create-engine.ts";

/** Runs the engine on the page's own thread: once an answer took long, the next waits until the hand rests. */
export function runOnPage(work: EngineWork): EngineRunner {
  const answer = createAnswerer();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastMs = 0;
  const run = (): void => {
    timer = undefined;
    const ask = work.take();
    if (ask === undefined) return;
    const startMs = performance.now();
    const replies = answer(ask);
    lastMs = performance.now() - startMs;
    for (const reply of replies) work.give(reply);
    timer ??= setTimeout(run, 0);
  };
  return {
    wake() {
      if (lastMs > SLOW_MS) clearTimeout(timer);
      else if (timer !== undefined) return;
      timer = setTimeout(run, lastMs > SLOW_MS ? REST_MS : 0);
    },
  };
}

const SLOW_MS = 40;
const REST_MS = 120;
