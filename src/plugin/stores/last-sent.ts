import { createLruMap } from "../../text/lru-map.ts";
import type { StoredRequest } from "./requests.ts";

/** Remembers what was last sent for each session, as the very list that the agent sends: later plugins change it in place. */
export interface LastRequests {
  see(request: StoredRequest & { readonly sessionId: string }, atMs: number): void;
  lastSent(sessionId: string): CapturedRequest | undefined;
  forget(sessionId: string): void;
}

interface CapturedRequest extends StoredRequest {
  readonly atMs: number;
}

export function createLastRequests(): LastRequests {
  const requests = createLruMap<string, { readonly request: StoredRequest; readonly atMs: number }>(
    MAX_SESSIONS,
  );
  return {
    see: (request, atMs) => requests.set(request.sessionId, { request, atMs }),
    lastSent(sessionId) {
      const { request, atMs } = requests.get(sessionId) ?? {};
      return request === undefined || atMs === undefined
        ? undefined
        : {
            messages: request.messages,
            atMs,
            ...(request.promptHead !== undefined && { promptHead: request.promptHead }),
          };
    },
    forget: requests.delete,
  };
}

/** A long-running agent serves many sessions; only those that ran lately can fork. */
const MAX_SESSIONS = 64;
