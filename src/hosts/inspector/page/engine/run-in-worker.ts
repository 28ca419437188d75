import type { Answerer } from "./create-answerer.ts";
import type { EngineRunner, EngineWork } from "./create-engine.ts";
import type { EngineAsk, EngineReply } from "./engine-messages.ts";

/** Runs the engine in a worker, one question at a time: what waits there could not be taken back. */
export function runInWorker(work: EngineWork, { worker, onFailure }: WorkerOptions): EngineRunner {
  let isBusy = false;
  const over = new AbortController();
  const { signal } = over;
  const wake = (): void => {
    if (isBusy) return;
    const ask = work.take();
    if (ask === undefined) return;
    isBusy = true;
    worker.postMessage(ask);
  };
  const hear = ({ data }: MessageEvent): void => {
    const reply = data as EngineReply;
    work.give(reply);
    if (reply.type === "rows") return;
    isBusy = false;
    wake();
  };
  const end = (event: ErrorEvent): void => {
    event.preventDefault();
    over.abort();
    worker.terminate();
    onFailure(event.message || "the browser did not start it");
  };
  worker.addEventListener("message", hear, { signal });
  worker.addEventListener("error", end, { signal });
  return { wake };
}

export interface WorkerOptions {
  readonly worker: Worker;
  /** The worker is gone; nothing more comes of it. */
  readonly onFailure: (why: string) => void;
}

/** The worker's own side: answers whatever is asked. */
export function serveWorker(scope: WorkerScope, answer: Answerer): void {
  scope.addEventListener("message", ({ data }) => {
    for (const reply of answer(data as EngineAsk)) scope.postMessage(reply);
  });
}

/** What of a worker's global object is used. */
export interface WorkerScope {
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  postMessage(message: unknown): void;
}
