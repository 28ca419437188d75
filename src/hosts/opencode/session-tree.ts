import { fields, stringField } from "../../formats/fields.ts";
import { deletedSession } from "./deleted-session.ts";
import type { HostEvent } from "./host.ts";
import { type HostCalls, sessionPath } from "./host-calls.ts";
import { createRecentMap } from "./recent-map.ts";

/** Which session hangs under which, as far as the host has told; asked only once for each that was used lately. */
export interface SessionTree {
  /** The session itself when it has no parent or cannot be asked for. */
  rootOf(sessionId: string): Promise<string>;
  parentOf(sessionId: string): Promise<string | undefined>;
  observe(event: HostEvent): void;
}

export function createSessionTree(calls: HostCalls): SessionTree {
  const parents = createRecentMap<string, Promise<string | undefined>>(MAX_SESSIONS);
  const parentOf = (sessionId: string): Promise<string | undefined> => {
    const known = parents.get(sessionId);
    if (known !== undefined) return known;
    const asked = calls.call("GET", sessionPath(sessionId)).then((answer) => {
      if (answer.status === "failed") {
        parents.delete(sessionId);
        return undefined;
      }
      return stringField(fields(answer.body).parentID);
    });
    parents.set(sessionId, asked);
    return asked;
  };
  return {
    parentOf,
    async rootOf(sessionId) {
      const seen = new Set<string>();
      for (let id = sessionId; ; ) {
        seen.add(id);
        const parent = await parentOf(id);
        if (parent === undefined || seen.has(parent)) return id;
        id = parent;
      }
    },
    observe(event) {
      const deleted = deletedSession(event);
      if (deleted !== undefined) parents.delete(deleted);
      if (event.type !== "session.created" && event.type !== "session.updated") return;
      const { id, parentID } = fields(event.properties.info);
      if (typeof id === "string") parents.set(id, Promise.resolve(stringField(parentID)));
    },
  };
}

const MAX_SESSIONS = 4_096;
