import {
  type EngineSettings,
  type SessionOptions,
  type SessionPorts,
  withEngineSettings,
} from "../../src/session/options.ts";
import { createSession as createSessionByOptions, type Session } from "../../src/session/session.ts";
import { omitUndefined } from "../../src/text/unknown-value.ts";

/** The options of a session, and what only the engine can be told: what a test is about is to happen in few messages. */
export type EngineOptions = Omit<SessionOptions, keyof EngineSettings> & EngineSettings;

/** A session below the door. */
export function createSession(ports: SessionPorts, options: EngineOptions = {}): Session {
  const { compaction, overflow, representation, prune, toolOutput, ...rest } = options;
  const { cache, expectedTurns, recallRedaction, ...given } = rest;
  const window = { compaction, overflow, representation, prune, toolOutput };
  const settings = omitUndefined({ ...window, cache, expectedTurns, recallRedaction });
  return createSessionByOptions(ports, withEngineSettings(given, settings));
}
