import { stringField } from "../../../formats/fields.ts";
import type { SessionMessage } from "../../../formats/opencode/session-message.ts";

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
  const views = new Map<string, CapturedView>();
  return {
    see(messages, atMs) {
      const sessionId = sessionOf(messages);
      if (sessionId === undefined) return;
      views.delete(sessionId);
      views.set(sessionId, { messages, atMs });
      const [oldest] = views.keys();
      if (views.size > MAX_SESSIONS && oldest !== undefined) views.delete(oldest);
    },
    lastSent: (sessionId) => views.get(sessionId),
    forget: (sessionId) => void views.delete(sessionId),
  };
}

/** The session whose request a list of messages is: the newest message is always its own. */
export function sessionOf(messages: readonly SessionMessage[]): string | undefined {
  return stringField(messages.at(-1)?.info?.sessionID);
}

/** A long-running host serves many sessions; only those that ran lately can fork. */
const MAX_SESSIONS = 64;
