import { createLruMap } from "../../text/lru-map.ts";
import type { AgentHost, HostSignal, SessionFacts } from "../host/agent-host.ts";

export function createSessionTree({ sessions }: Pick<AgentHost, "sessions">): SessionTree {
  const known = createLruMap<string, Promise<KnownSession | undefined>>(MAX_SESSIONS);
  const factsOf = (sessionId: string): Promise<KnownSession | undefined> => {
    const before = known.get(sessionId);
    if (before !== undefined) return before;
    const asked = sessions.get(sessionId).then((answer) => {
      if (answer.status === "ok") return answer.value;
      known.delete(sessionId);
      return undefined;
    });
    known.set(sessionId, asked);
    return asked;
  };
  const learn = ({ id, parentId, note }: KnownSession): void =>
    known.set(id, Promise.resolve({ id, note, ...(parentId !== undefined && { parentId }) }));
  return {
    noteOf: async (sessionId) => (await factsOf(sessionId))?.note,
    async rootOf(sessionId) {
      const seen = new Set<string>();
      for (let id = sessionId; ; ) {
        seen.add(id);
        const parent = (await factsOf(id))?.parentId;
        if (parent === undefined || seen.has(parent)) return id;
        id = parent;
      }
    },
    learn,
    observe(signal) {
      if (signal.type === "deleted") known.delete(signal.sessionId);
      else if (signal.type === "created") learn(signal.session);
    },
  };
}

const MAX_SESSIONS = 4_096;

/** Which session hangs under which, and our notes on them; the agent is asked once for each session that was used lately. */
export interface SessionTree {
  /** The session itself when it has no parent or cannot be asked for. */
  rootOf(sessionId: string): Promise<string>;
  /** What the plugin stored with a session; undefined where there is nothing, or it cannot be asked for. */
  noteOf(sessionId: string): Promise<unknown>;
  /** Takes what is known of a session without being asked for. */
  learn(session: KnownSession): void;
  observe(signal: HostSignal): void;
}

export type KnownSession = Pick<SessionFacts, "id" | "parentId" | "note">;
