import type { InspectedSession } from "../../view/types.ts";
import type { FollowSession } from "./follow-events.ts";

/** What the page is about. */
export interface LoadedSession {
  readonly session: InspectedSession;
  /** Set when the session still runs. */
  readonly follow?: FollowSession;
}

/** How much of it is here. */
export interface LoadProgress {
  readonly doneMessages: number;
  readonly totalMessages: number;
}
