import type { Transcript } from "../../../../transcript/message.ts";
import type { InspectedSession } from "../types.ts";

/** A session around a transcript, with nothing else known about it. */
export function sessionOf(transcript: Transcript, more: Partial<InspectedSession> = {}): InspectedSession {
  return {
    name: "session.json",
    format: "opencode",
    windowTokens: 200_000,
    windowKnown: false,
    transcript,
    redactedSecrets: 0,
    problems: [],
    ...more,
  };
}
