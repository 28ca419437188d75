import type { Clock } from "../compaction/ports/summarizer.ts";
import type { History } from "./history.ts";
import type { SessionMemory } from "./memory.ts";
import { foldLedger } from "./metered-summarizer.ts";
import type { BelievedWindow } from "./model-window.ts";
import type { PendingSummaries } from "./pending-summaries.ts";
import type { SnapshotRecord } from "./record.ts";
import { type SessionState, storeBatches } from "./state.ts";
import { storeBindings } from "./thoughts.ts";

/** What was done in a session and is in force. */
export function sessionState({ history, pending, believed, memory }: StateParts): SessionState {
  const pendingSummaries = pending.toJSON();
  const windows = believed.learned();
  const batches = storeBatches(history.batches(), history.source());
  const bindings = storeBindings(memory.thoughts, (id) => history.find(id) !== undefined);
  // Without them a reader takes the thoughts for older than the edits.
  const thoughts = bindings ?? (batches.length > 0 ? { bound: [] } : undefined);
  return {
    v: 2,
    batches,
    ...(pendingSummaries.length > 0 && { pendingSummaries }),
    ...(windows.length > 0 && { windows }),
    ...(thoughts && { thoughts }),
  };
}

interface StateParts {
  readonly history: History;
  readonly pending: PendingSummaries;
  readonly believed: BelievedWindow;
  readonly memory: Pick<SessionMemory, "thoughts">;
}

/** The same with what a restart has to know besides. */
export function snapshotOf(core: SnapshotParts): SnapshotRecord {
  const { memory, ports } = core;
  const { undoneAt, pausedThroughTurn, answers, ledger } = memory;
  return {
    v: 2,
    type: "snapshot",
    at: ports.clock.now(),
    state: sessionState(core),
    ledger: foldLedger(ledger, SNAPSHOT_LEDGER_ENTRIES),
    ...(undoneAt !== undefined && pausedThroughTurn >= answers.size && { undoneAt }),
  };
}

interface SnapshotParts extends StateParts {
  readonly memory: SessionMemory;
  readonly ports: { readonly clock: Clock };
}

const SNAPSHOT_LEDGER_ENTRIES = 20;
