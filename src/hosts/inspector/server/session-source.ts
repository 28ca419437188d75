import type { Transcript } from "../../../transcript/message.ts";
import type { LiveEvent, SessionHead } from "../view/live.ts";
import type { InspectedSession } from "../view/types.ts";

/** Where the server has its session from; what it gives is ready to be shown. */
export interface SessionSource {
  head(): SessionHead;
  transcript(): Transcript;
  /** Set for a session that is followed. */
  readonly live?: LiveSource;
}

export interface LiveSource {
  /** Grows whenever a message changes. */
  revision(): number;
  /** Says first everything that a listener which knows this revision has missed, then everything that happens, until the returned function is called. */
  listen(listener: (event: LiveEvent) => void, sinceRevision: number): () => void;
}

/** A session that does not change any more. */
export function fixedSource({ transcript, ...head }: InspectedSession): SessionSource {
  return { head: () => head, transcript: () => transcript };
}
