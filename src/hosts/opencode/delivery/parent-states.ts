import { fields, stringField } from "../../../formats/fields.ts";
import type { ParentState } from "../../../tasks/plan-delivery.ts";
import type { HostEvent } from "../host.ts";

/** Knows what the sessions that may get results are doing, from what the host says. */
export interface ParentStates {
  of(sessionId: string): ParentState;
  /** Greater whenever something was heard of the session. */
  changesOf(sessionId: string): number;
  observe(event: HostEvent, atMs: number): void;
  toolEnded(sessionId: string, atMs: number): void;
  compacting(sessionId: string): void;
  /** The user has spoken: an abort before it is over. */
  userSpoke(sessionId: string, atMs: number): void;
}

export function createParentStates(): ParentStates {
  const states = new Map<string, ParentState>();
  const changes = new Map<string, number>();
  const enter = (sessionId: string, state: ParentState): void => {
    states.set(sessionId, state);
    changes.set(sessionId, (changes.get(sessionId) ?? 0) + 1);
  };
  const busyFrom = (sessionId: string, sinceMs: number): void =>
    enter(sessionId, { status: "busy", sinceMs });
  return {
    of: (sessionId) => states.get(sessionId) ?? { status: "idle" },
    changesOf: (sessionId) => changes.get(sessionId) ?? 0,
    observe({ type, properties }, atMs) {
      const sessionId = stringField(properties.sessionID);
      if (sessionId === undefined) return;
      const before = states.get(sessionId)?.status;
      if (type === "session.error" && fields(properties.error).name === "MessageAbortedError") {
        enter(sessionId, { status: "aborted" });
      } else if (type === "session.idle") {
        if (before !== "aborted") enter(sessionId, { status: "idle" });
      } else if (type === "session.compacted") {
        busyFrom(sessionId, atMs);
      } else if (type === "session.status" && fields(properties.status).type === "busy") {
        if (before !== "busy" && before !== "compacting" && before !== "aborted") busyFrom(sessionId, atMs);
      } else if (type === "session.deleted") {
        states.delete(sessionId);
        changes.delete(sessionId);
      }
    },
    toolEnded(sessionId, atMs) {
      // A tool that was running when the user stopped the session ends too.
      if (states.get(sessionId)?.status !== "aborted") busyFrom(sessionId, atMs);
    },
    compacting: (sessionId) => enter(sessionId, { status: "compacting" }),
    userSpoke: busyFrom,
  };
}
