import type { ForkRecord } from "../../fork/life/record.ts";
import { type ForkMetadata, forkMetadata, readForkMetadata } from "../../fork/life/stored-record.ts";
import { type HostCalls, sessionPath } from "../../hosts/opencode/calls.ts";
import { deletedSession, type HostEvent } from "../../hosts/opencode/hooks.ts";
import { asObject, asString, type UnknownObject } from "../../text/json.ts";
import { createLruMap } from "../stores/lru-map.ts";

/** What ties a child session to its fork, as it stands in the metadata of the session. */
export interface ForkLink extends ForkMetadata {
  readonly way: string;
  /** What people call the fork; unset in sessions from before it was kept. */
  readonly number?: number;
}

/** Which sessions are children of ours; the host is asked once for each that was used lately. */
export interface ForkLinks {
  bondOf(sessionId: string): Promise<ForkLink | undefined>;
  tie(sessionId: string, bond: ForkLink): void;
  observe(event: HostEvent): void;
}

export function createForkLinks(calls: HostCalls): ForkLinks {
  const bonds = createLruMap<string, Promise<ForkLink | undefined>>(MAX_SESSIONS);
  return {
    bondOf(sessionId) {
      const known = bonds.get(sessionId);
      if (known !== undefined) return known;
      const asked = calls.call("GET", sessionPath(sessionId)).then((answer) => {
        if (answer.status === "ok") return readForkLink(asObject(answer.body));
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
      const info = asObject(event.properties.info);
      if (typeof info.id === "string") bonds.set(info.id, Promise.resolve(readForkLink(info)));
    },
  };
}

const MAX_SESSIONS = 4_096;

/** What the session of a fork's child carries. */
export function forkLinkOf(record: ForkRecord): ForkLink {
  return { ...forkMetadata(record), way: record.inherited.way, number: record.number };
}

/** The bond in the metadata of a session, if it is a child of ours. */
export function readForkLink(session: UnknownObject): ForkLink | undefined {
  const { carryover } = asObject(session.metadata);
  const metadata = readForkMetadata(carryover);
  const { way, number } = asObject(carryover);
  return (
    metadata && {
      ...metadata,
      way: asString(way) ?? "text",
      ...(Number.isSafeInteger(number) && { number: number as number }),
    }
  );
}
