import { type Fields, fields, stringField } from "../../formats/fields.ts";
import type { HostEvent } from "./host.ts";
import type { HostCalls } from "./host-calls.ts";

/** Which session hangs under which, as far as the host has told; asked only once for each. */
export interface SessionTree {
  /** The session itself when it has no parent or cannot be asked for. */
  rootOf(sessionId: string): Promise<string>;
  parentOf(sessionId: string): Promise<string | undefined>;
  observe(event: HostEvent): void;
}

export function createSessionTree(calls: HostCalls): SessionTree {
  const parents = new Map<string, Promise<string | undefined>>();
  const parentOf = (sessionId: string): Promise<string | undefined> => {
    const known = parents.get(sessionId);
    if (known !== undefined) return known;
    const asked = calls.call("GET", `/session/${encodeURIComponent(sessionId)}`).then((answer) => {
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
    observe({ type, properties }) {
      if (type !== "session.created" && type !== "session.updated") return;
      const info: Fields = fields(properties.info);
      const id = stringField(info.id);
      if (id !== undefined) parents.set(id, Promise.resolve(stringField(info.parentID)));
    },
  };
}
