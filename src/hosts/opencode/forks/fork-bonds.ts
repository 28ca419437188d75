import { type Fields, fields, stringField } from "../../../formats/fields.ts";
import { type ForkMetadata, readForkMetadata } from "../../../tasks/fork-metadata.ts";
import type { HostEvent } from "../host.ts";
import type { HostCalls } from "../host-calls.ts";

/** What ties a child session to its fork, as it stands in the metadata of the session. */
export interface ForkBond extends ForkMetadata {
  readonly way: string;
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
  const { carryover } = fields(session.metadata);
  const metadata = readForkMetadata(carryover);
  return metadata && { ...metadata, way: stringField(fields(carryover).way) ?? "text" };
}
