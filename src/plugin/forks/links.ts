import type { ForkRecord } from "../../fork/life/record.ts";
import { type ForkMetadata, forkMetadata, readForkMetadata } from "../../fork/life/stored-record.ts";
import { asObject, asString } from "../../text/json.ts";
import type { AgentHost, HostSignal } from "../host/agent-host.ts";
import { createLruMap } from "../stores/lru-map.ts";

/** What links a child session to its fork: the note that the session carries. */
export interface ForkLink extends ForkMetadata {
  readonly way: string;
  /** What people call the fork; unset in sessions from before it was kept. */
  readonly number?: number;
}

/** Which sessions are children of forks; the agent is asked once for each session that was used lately. */
export interface ForkLinks {
  linkOf(sessionId: string): Promise<ForkLink | undefined>;
  set(sessionId: string, link: ForkLink): void;
  observe(signal: HostSignal): void;
}

export function createForkLinks({ sessions }: Pick<AgentHost, "sessions">): ForkLinks {
  const links = createLruMap<string, Promise<ForkLink | undefined>>(MAX_SESSIONS);
  return {
    linkOf(sessionId) {
      const known = links.get(sessionId);
      if (known !== undefined) return known;
      const asked = sessions.get(sessionId).then((answer) => {
        if (answer.status === "ok") return readForkLink(answer.value.note);
        links.delete(sessionId);
        return undefined;
      });
      links.set(sessionId, asked);
      return asked;
    },
    set: (sessionId, link) => links.set(sessionId, Promise.resolve(link)),
    observe(signal) {
      if (signal.type === "deleted") links.delete(signal.sessionId);
      else if (signal.type === "created")
        links.set(signal.session.id, Promise.resolve(readForkLink(signal.session.note)));
    },
  };
}

const MAX_SESSIONS = 4_096;

/** The note for the session of a fork's child. */
export function forkLinkOf(record: ForkRecord): ForkLink {
  return { ...forkMetadata(record), way: record.inherited.way, number: record.number };
}

/** The link in the note of a session, if it is the child of a fork. */
export function readForkLink(note: unknown): ForkLink | undefined {
  const metadata = readForkMetadata(note);
  const { way, number } = asObject(note);
  return (
    metadata && {
      ...metadata,
      way: asString(way) ?? "text",
      ...(Number.isSafeInteger(number) && { number: number as number }),
    }
  );
}
