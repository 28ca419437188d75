import type { ParentState } from "../../fork/life/plan-delivery.ts";
import { createLruMap } from "../../text/lru-map.ts";
import type { HostSignal } from "../host/agent-host.ts";

/** Takes every session for idle until a signal says otherwise. */
export function createParentStates(): ParentStates {
  const seen = createLruMap<string, { readonly state: ParentState; readonly change: number }>(MAX_SESSIONS);
  let changes = 0;
  const enter = (sessionId: string, state: ParentState): void => {
    changes += 1;
    seen.set(sessionId, { state, change: changes });
  };
  const busyFrom = (sessionId: string, sinceMs: number): void =>
    enter(sessionId, { status: "busy", sinceMs });
  const statusOf = (sessionId: string): ParentState["status"] | undefined =>
    seen.get(sessionId)?.state.status;
  const reverts = createLruMap<string, string>(MAX_SESSIONS);
  const archived = createLruMap<string, true>(MAX_SESSIONS);
  return {
    of: (sessionId) =>
      reverts.get(sessionId) === undefined
        ? (seen.get(sessionId)?.state ?? { status: "idle" })
        : { status: "reverted" },
    setRevert(sessionId, revertedFrom) {
      const before = reverts.get(sessionId);
      if (revertedFrom === undefined) reverts.delete(sessionId);
      else reverts.set(sessionId, revertedFrom);
      return before !== revertedFrom;
    },
    changeOf: (sessionId) => seen.get(sessionId)?.change ?? 0,
    observe(signal, atMs) {
      switch (signal.type) {
        case "updated": {
          const { id, isArchived } = signal.session;
          // Put away like a session that was stopped: it is not woken.
          if (isArchived && !archived.get(id)) enter(id, { status: "aborted" });
          return isArchived ? archived.set(id, true) : archived.delete(id);
        }
        case "deleted":
          reverts.delete(signal.sessionId);
          return seen.delete(signal.sessionId);
        case "failed":
          if (signal.error.kind === "aborted") enter(signal.sessionId, { status: "aborted" });
          return;
        case "idle":
          if (statusOf(signal.sessionId) !== "aborted") enter(signal.sessionId, { status: "idle" });
          return;
        case "compacted":
          return busyFrom(signal.sessionId, atMs);
        case "busy": {
          const before = statusOf(signal.sessionId);
          if (before === undefined || before === "idle") busyFrom(signal.sessionId, atMs);
        }
      }
    },
    toolEnded(sessionId, atMs) {
      // A tool that was running when the user stopped the session ends too.
      if (statusOf(sessionId) !== "aborted") busyFrom(sessionId, atMs);
    },
    compacting: (sessionId) => enter(sessionId, { status: "compacting" }),
    userSpoke: busyFrom,
  };
}

const MAX_SESSIONS = 4_096;

/** What the sessions that may get results are doing, as far as signals tell. */
export interface ParentStates {
  of(sessionId: string): ParentState;
  /** From which message on the user has taken the session back; true if that is new. */
  setRevert(sessionId: string, revertedFrom: string | undefined): boolean;
  /** Another number after each signal of the session. */
  changeOf(sessionId: string): number;
  observe(signal: HostSignal, atMs: number): void;
  toolEnded(sessionId: string, atMs: number): void;
  compacting(sessionId: string): void;
  /** A message of the user ends an abort. */
  userSpoke(sessionId: string, atMs: number): void;
}
