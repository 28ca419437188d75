import { embeddedSession } from "./embedded-session.ts";
import { fetchSession } from "./fetch-session.ts";
import type { LoadedSession, LoadProgress } from "./loaded-session.ts";

/** The session that the page is about: from its own data block, or from the server that gave the page. */
export async function loadSession(onProgress: (progress: LoadProgress) => void): Promise<LoadedSession> {
  const session = embeddedSession(document);
  return session === undefined ? fetchSession(onProgress) : { session };
}
