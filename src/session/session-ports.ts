import type { Clock } from "../compaction/clock.ts";
import type { SessionHook } from "../compaction/session-hooks.ts";
import type { Summarizer } from "../compaction/summarizer.ts";
import type { SpillStore } from "../tool-output/spill-store.ts";
import type { Journal } from "./journal.ts";

/** What a session needs from the world. Without a summarizer everything is done mechanically. */
export interface SessionPorts {
  readonly clock: Clock;
  readonly summarizer?: Summarizer;
  /** Where every edit is written down; without one nothing outlives the session object. */
  readonly journal?: Journal;
  /** Where outputs go that are too long. */
  readonly spills?: SpillStore;
  readonly hooks?: readonly SessionHook[];
}
