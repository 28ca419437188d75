import type { ParentState } from "../../fork/life/delivery.ts";
import { deletedSession, type HostEvent } from "../../hosts/opencode/hooks.ts";
import { asObject, asString } from "../../text/json.ts";
import { createLruMap } from "../stores/lru-map.ts";

/** Knows what the sessions that may get results are doing, from what the host says. */
export interface ParentStates {
  of(sessionId: string): ParentState;
  /** Another number whenever something was heard of the session. */
  changeOf(sessionId: string): number;
  observe(event: HostEvent, atMs: number): void;
  toolEnded(sessionId: string, atMs: number): void;
  compacting(sessionId: string): void;
  /** The user has spoken: an abort before it is over. */
  userSpoke(sessionId: string, atMs: number): void;
}

/** Takes every session for idle until it hears of it. */
export function createParentStates(): ParentStates {
  const heard = createLruMap<string, { readonly state: ParentState; readonly change: number }>(MAX_SESSIONS);
  let changes = 0;
  const enter = (sessionId: string, state: ParentState): void => {
    changes += 1;
    heard.set(sessionId, { state, change: changes });
  };
  const busyFrom = (sessionId: string, sinceMs: number): void =>
    enter(sessionId, { status: "busy", sinceMs });
  const statusOf = (sessionId: string) => heard.get(sessionId)?.state.status;
  return {
    of: (sessionId) => heard.get(sessionId)?.state ?? { status: "idle" },
    changeOf: (sessionId) => heard.get(sessionId)?.change ?? 0,
    observe(event, atMs) {
      const deleted = deletedSession(event);
      if (deleted !== undefined) return heard.delete(deleted);
      const { type, properties } = event;
      const sessionId = asString(properties.sessionID);
      if (sessionId === undefined) return;
      const before = statusOf(sessionId);
      if (type === "session.error" && asObject(properties.error).name === "MessageAbortedError") {
        enter(sessionId, { status: "aborted" });
      } else if (type === "session.idle") {
        if (before !== "aborted") enter(sessionId, { status: "idle" });
      } else if (type === "session.compacted") {
        busyFrom(sessionId, atMs);
      } else if (type === "session.status" && asObject(properties.status).type === "busy") {
        if (before !== "busy" && before !== "compacting" && before !== "aborted") busyFrom(sessionId, atMs);
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
