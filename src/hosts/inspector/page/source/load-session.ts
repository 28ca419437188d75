import type { InspectedSession } from "../../view/types.ts";
import { embeddedSession } from "./embedded-session.ts";
import { fetchSession } from "./fetch-session.ts";
import type { FollowSession } from "./follow-events.ts";

/** The session that the page is about: from its own data block, or from the server that gave the page. */
export async function loadSession(onProgress: (progress: LoadProgress) => void): Promise<LoadedSession> {
  const session = embeddedSession(document);
  return session === undefined ? fetchSession(onProgress) : { session };
}

export interface LoadedSession {
  readonly session: InspectedSession;
  /** Set when the session still runs. */
  readonly follow?: FollowSession;
}

export interface LoadProgress {
  readonly doneMessages: number;
  readonly totalMessages: number;
}
