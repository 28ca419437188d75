import type { VNode } from "preact";
import { useEffect, useErrorBoundary, useMemo, useState } from "preact/hooks";
import { createInspection } from "../view/create-inspection.ts";
import { applyLiveEvent, type LiveState, liveStateOf } from "../view/live.ts";
import type { InspectedSession, Inspection } from "../view/types.ts";
import { Inspector } from "./inspector.tsx";
import type { FollowSession, FollowState } from "./source/follow-events.ts";
import { loadSession } from "./source/load-session.ts";
import type { LoadProgress } from "./source/loaded-session.ts";
import { count } from "./words/numbers.ts";

/** The page: it waits for its session, then shows it; a failure is said in words. */
export function App(): VNode {
  const [progress, setProgress] = useState<LoadProgress>();
  const [loaded, setLoaded] = useState<Loaded>();
  const [problem, setProblem] = useState<string>();
  const [failure] = useErrorBoundary();
  useEffect(() => {
    loadSession(setProgress)
      .then(({ session, follow }) => {
        setLoaded({ inspection: createInspection(session), ...(follow && { follow }) });
      })
      .catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
  }, []);
  if (failure !== undefined) return <Notice title="The page failed" text={String(failure)} />;
  if (problem !== undefined) return <Notice title="The session could not be read" text={problem} />;
  if (loaded === undefined) return <Notice title="Reading the session" text={progressText(progress)} />;
  const { inspection, follow } = loaded;
  return follow === undefined ? (
    <Inspector inspection={inspection} />
  ) : (
    <LiveInspector first={inspection} follow={follow} />
  );
}

interface Loaded {
  readonly inspection: Inspection;
  readonly follow?: FollowSession;
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
  readonly first: Inspection;
  readonly follow: FollowSession;
}

function LiveInspector({ first, follow }: LiveInspectorProps): VNode {
  const [live, setLive] = useState<LiveState>(() => liveStateOf(first.session));
  const [connection, setConnection] = useState<FollowState>("reconnecting");
  useEffect(
    () => follow((event) => setLive((state) => applyLiveEvent(state, event)), setConnection),
    [follow],
  );
  const inspection = useExtended(first, live.session);
  return <Inspector inspection={inspection} live={{ state: live, connection }} />;
}

/** The inspection of a session that grows; what was measured of it before is kept. */
function useExtended(first: Inspection, session: InspectedSession): Inspection {
  const [held] = useState<{ newest: Inspection }>({ newest: first });
  return useMemo(() => {
    if (held.newest.session !== session) held.newest = held.newest.extend(session);
    return held.newest;
  }, [held, session]);
}
