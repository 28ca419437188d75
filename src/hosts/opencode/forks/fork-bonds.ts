import { type Fields, fields, stringField } from "../../../formats/fields.ts";
import { type ForkMetadata, forkMetadata, readForkMetadata } from "../../../tasks/fork-metadata.ts";
import type { ForkRecord } from "../../../tasks/fork-record.ts";
import { deletedSession } from "../deleted-session.ts";
import type { HostEvent } from "../host.ts";
import { type HostCalls, sessionPath } from "../host-calls.ts";
import { createRecentMap } from "../recent-map.ts";

/** What ties a child session to its fork, as it stands in the metadata of the session. */
export interface ForkBond extends ForkMetadata {
  readonly way: string;
  /** What people call the fork; unset in sessions from before it was kept. */
  readonly number?: number;
}

/** Which sessions are children of ours; the host is asked once for each that was used lately. */
export interface ForkBonds {
  bondOf(sessionId: string): Promise<ForkBond | undefined>;
  tie(sessionId: string, bond: ForkBond): void;
  observe(event: HostEvent): void;
}

export function createForkBonds(calls: HostCalls): ForkBonds {
  const bonds = createRecentMap<string, Promise<ForkBond | undefined>>(MAX_SESSIONS);
  return {
    bondOf(sessionId) {
      const known = bonds.get(sessionId);
      if (known !== undefined) return known;
      const asked = calls.call("GET", sessionPath(sessionId)).then((answer) => {
        if (answer.status === "ok") return readBond(fields(answer.body));
        bonds.delete(sessionId);
        return undefined;
      });
      bonds.set(sessionId, asked);
      return asked;
    },
    tie: (sessionId, bond) => bonds.set(sessionId, Promise.resolve(bond)),
    observe(event) {
      const deleted = deletedSession(event);
      if (deleted !== undefined) bonds.delete(deleted);
      if (event.type !== "session.created") return;
      const info = fields(event.properties.info);
      if (typeof info.id === "string") bonds.set(info.id, Promise.resolve(readBond(info)));
    },
  };
}

const MAX_SESSIONS = 4_096;

/** What the session of a fork's child carries. */
export function bondOfRecord(record: ForkRecord): ForkBond {
  return { ...forkMetadata(record), way: record.inherited.way, number: record.number };
}

/** The bond in the metadata of a session, if it is a child of ours. */
export function readBond(session: Fields): ForkBond | undefined {
  const { carryover } = fields(session.metadata);
  const metadata = readForkMetadata(carryover);
  const { way, number } = fields(carryover);
  return (
    metadata && {
      ...metadata,
      way: stringField(way) ?? "text",
      ...(Number.isSafeInteger(number) && { number: number as number }),
    }
  );
}
