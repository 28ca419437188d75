import { compact, type Fields, fields, numberField, stringField } from "../../../formats/fields.ts";
import type { HostEvent } from "../host.ts";
import type { HostCalls } from "../host-calls.ts";

/** What ties a child session to its fork, as it stands in the metadata of the session. */
export interface ForkBond {
  readonly id: string;
  readonly root: string;
  /** The session that asked for the fork. */
  readonly parent: string;
  readonly run: number;
  readonly way: string;
  /** The stored view that the child sees in front of its own messages; a text fork has none. */
  readonly blob?: string;
}

/** Which sessions are children of ours; the host is asked at most once for each. */
export interface ForkBonds {
  bondOf(sessionId: string): Promise<ForkBond | undefined>;
  tie(sessionId: string, bond: ForkBond): void;
  observe(event: HostEvent): void;
}

export function createForkBonds(calls: HostCalls): ForkBonds {
  const bonds = new Map<string, Promise<ForkBond | undefined>>();
  return {
    bondOf(sessionId) {
      const known = bonds.get(sessionId);
      if (known !== undefined) return known;
      const asked = calls.call("GET", `/session/${encodeURIComponent(sessionId)}`).then((answer) => {
        if (answer.status === "ok") return readBond(fields(answer.body));
        bonds.delete(sessionId);
        return undefined;
      });
      bonds.set(sessionId, asked);
      return asked;
    },
    tie: (sessionId, bond) => void bonds.set(sessionId, Promise.resolve(bond)),
    observe({ type, properties }) {
      const info = fields(properties.info);
      const id = stringField(info.id) ?? stringField(properties.sessionID);
      if (id === undefined) return;
      if (type === "session.deleted") bonds.delete(id);
      if (type === "session.created") bonds.set(id, Promise.resolve(readBond(info)));
    },
  };
}

/** The bond in the metadata of a session, if it is a child of ours. */
export function readBond(session: Fields): ForkBond | undefined {
  const { id, root, parent, run, way, blob } = fields(fields(session.metadata).carryover);
  if (typeof id !== "string" || typeof root !== "string" || typeof parent !== "string") return undefined;
  return compact({
    id,
    root,
    parent,
    run: numberField(run) ?? 1,
    way: stringField(way) ?? "text",
    blob: stringField(blob),
  });
}
