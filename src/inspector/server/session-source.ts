import type { Transcript } from "../../transcript/message.ts";
import type { LiveEvent, SessionHead } from "../view/protocol.ts";
import type { InspectedSession } from "../view/types.ts";

/** Port: where the server gets its session from, already redacted. */
export interface SessionSource {
  head(): SessionHead;
  transcript(): Transcript;
  /** Set for a running session that is followed. */
  readonly live?: LiveSource;
}

export interface LiveSource {
  /** Increases whenever a message changes. */
  revision(): number;
  /** Sends what happened since that revision, then every event until the returned function is called. */
  listen(listener: (event: LiveEvent) => void, sinceRevision: number): () => void;
}

/** A session that does not change, such as one read from a file. */
export function createFixedSource({ transcript, ...head }: InspectedSession): SessionSource {
  return { head: () => head, transcript: () => transcript };
}
