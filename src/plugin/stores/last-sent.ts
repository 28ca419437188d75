import { createLruMap } from "../../text/lru-map.ts";
import type { StoredView } from "./views.ts";

/** Remembers what was last sent for each session, as the very list that the agent sends: later plugins change it in place. */
export interface ViewCapture {
  see(view: StoredView & { readonly sessionId: string }, atMs: number): void;
  lastSent(sessionId: string): CapturedView | undefined;
  forget(sessionId: string): void;
}

interface CapturedView extends StoredView {
  readonly atMs: number;
}

export function createViewCapture(): ViewCapture {
  const views = createLruMap<string, { readonly view: StoredView; readonly atMs: number }>(MAX_SESSIONS);
  return {
    see: (view, atMs) => views.set(view.sessionId, { view, atMs }),
    lastSent(sessionId) {
      const { view, atMs } = views.get(sessionId) ?? {};
      return view === undefined || atMs === undefined
        ? undefined
        : { messages: view.messages, atMs, ...(view.frame !== undefined && { frame: view.frame }) };
    },
    forget: views.delete,
  };
}

/** A long-running agent serves many sessions; only those that ran lately can fork. */
const MAX_SESSIONS = 64;
