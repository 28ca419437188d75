import { render, type VNode } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { applyLiveEvent, type LiveState, liveStateOf } from "../view/protocol.ts";
import type { InspectedSession } from "../view/types.ts";
import { createAnswerer, serveWorker, type WorkerScope } from "./engine/answer.ts";
import { type Engine, openWorker, startEngine } from "./engine/engine.ts";
import { Inspector } from "./inspector.tsx";
import {
  type FollowSession,
  type FollowState,
  type LoadedSession,
  type LoadProgress,
  loadSession,
} from "./state/page-state.ts";
import { count } from "./words/words.tsx";
import "./style/page.css";

// One script is both the page and its worker, so that a single-file page contains the engine once, under one hash.
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

/** The page: loads its session, then shows it; a failure is shown as text. */
function App({ engine }: { readonly engine: Engine }): VNode {
  const [progress, setProgress] = useState<LoadProgress>();
  const [loaded, setLoaded] = useState<LoadedSession>();
  const [problem, setProblem] = useState<string>();
  const [failure] = useErrorBoundary();
  useEffect(() => {
    loadSession(setProgress)
      .then(setLoaded)
      .catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
  }, []);
  if (failure !== undefined) return <Notice title="The page failed" text={String(failure)} />;
  if (problem !== undefined) return <Notice title="The session could not be read" text={problem} />;
  if (loaded === undefined) return <Notice title="Reading the session" text={progressText(progress)} />;
  const { session, follow } = loaded;
  return follow === undefined ? (
    <Inspector asked={{ session, engine }} />
  ) : (
    <LiveInspector first={session} engine={engine} follow={follow} />
  );
}

function progressText(progress: LoadProgress | undefined): string {
  if (progress === undefined) return "";
  return `${count(progress.doneMessages)} of ${count(progress.totalMessages)} messages`;
}

function Notice({ title, text }: { readonly title: string; readonly text: string }): VNode {
  return (
    <main class="notice" aria-live="polite">
      <h1>{title}</h1>
      <p>{text}</p>
    </main>
  );
}

interface LiveInspectorProps {
  readonly first: InspectedSession;
  readonly engine: Engine;
  readonly follow: FollowSession;
}

function LiveInspector({ first, engine, follow }: LiveInspectorProps): VNode {
  const [live, setLive] = useState<LiveState>(() => liveStateOf(first));
  const [connection, setConnection] = useState<FollowState>("reconnecting");
  useEffect(
    () => follow((event) => setLive((state) => applyLiveEvent(state, event)), setConnection),
    [follow],
  );
  return <Inspector asked={{ session: live.session, engine }} live={{ state: live, connection }} />;
}
