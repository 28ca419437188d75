import { render } from "preact";
import { App } from "./app.tsx";
import { createAnswerer } from "./engine/create-answerer.ts";
import { openWorker } from "./engine/open-worker.ts";
import { serveWorker, type WorkerScope } from "./engine/run-in-worker.ts";
import { startEngine } from "./engine/start-engine.ts";
import "./style/page.css";

// One script is both the page and its worker: a single file holds the engine once, under one hash.
if (typeof document === "undefined") serveWorker(globalThis as unknown as WorkerScope, createAnswerer());
else openPage(document.currentScript);

function openPage(script: HTMLOrSVGScriptElement | null): void {
  const engine = startEngine(() => {
    if (script instanceof HTMLScriptElement) return openWorker(script);
    throw new Error("the page does not know its own script");
  });
  const start = (): void => render(<App engine={engine} />, document.getElementById("app") ?? document.body);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}
