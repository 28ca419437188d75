import { TRUSTED_TYPES_POLICY } from "../../view/protocol.ts";
import { type Answerer, createAnswerer } from "./create-answerer.ts";
import { createEngine, type Engine, type EngineRunner, type EngineWork } from "./create-engine.ts";
import type { EngineAsk, EngineReply } from "./messages.ts";

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

/** Runs the engine in a worker, one question at a time: what waits there could not be taken back. */
function runInWorker(work: EngineWork, { worker, onFailure }: WorkerOptions): EngineRunner {
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

interface WorkerOptions {
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

/** Runs the engine on the page's own thread: once an answer took long, the next waits until the hand rests. */
function runOnPage(work: EngineWork): EngineRunner {
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

/**
 * Opens a worker that runs the page's own script: from where the page got it, or from its text where the
 * page is one file. Throws where there can be no worker.
 */
export function openWorker(script: HTMLScriptElement): Worker {
  const address =
    script.src === ""
      ? URL.createObjectURL(new Blob([script.textContent], { type: "text/javascript" }))
      : script.src;
  return new Worker(trusted(address), { name: "carryover engine" });
}

/** The page's policy lets no text become the address of a script; this is the exception, for this address alone. */
function trusted(address: string): string {
  const { trustedTypes } = globalThis as unknown as TrustedScope;
  return (
    trustedTypes
      ?.createPolicy(TRUSTED_TYPES_POLICY, { createScriptURL: () => address })
      .createScriptURL("") ?? address
  );
}

/** Only some browsers have trusted types; where they do, what a policy gives stands for a string. */
interface TrustedScope {
  readonly trustedTypes?: {
    createPolicy(
      name: string,
      rules: { readonly createScriptURL: () => string },
    ): { createScriptURL(input: string): string };
  };
}
