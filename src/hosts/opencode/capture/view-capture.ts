import { stringField } from "../../../formats/fields.ts";
import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import { createRecentMap } from "../recent-map.ts";

/** Remembers what was last sent for each session, as the very list that the host lowers: later plugins change it in place. */
export interface ViewCapture {
  /** To be called with the list that a transform hook was given. */
  see(messages: readonly SessionMessage[], atMs: number): void;
  lastSent(sessionId: string): CapturedView | undefined;
  forget(sessionId: string): void;
}

export interface CapturedView {
  readonly messages: readonly SessionMessage[];
  readonly atMs: number;
}

export function createViewCapture(): ViewCapture {
  const views = createRecentMap<string, CapturedView>(MAX_SESSIONS);
  return {
    see(messages, atMs) {
      const sessionId = sessionOf(messages);
      if (sessionId !== undefined) views.set(sessionId, { messages, atMs });
    },
    lastSent: views.get,
    forget: views.delete,
  };
}

/** The session whose request a list of messages is: the newest message is always its own. */
export function sessionOf(messages: readonly SessionMessage[]): string | undefined {
  return stringField(messages.at(-1)?.info?.sessionID);
}

/** A long-running host serves many sessions; only those that ran lately can fork. */
const MAX_SESSIONS = 64;
