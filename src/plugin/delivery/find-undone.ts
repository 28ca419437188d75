import type { UndoEvent } from "../../fork/life/events.ts";
import { deliveryId, type ForkRecord, type ForkRun, isLive } from "../../fork/life/record.ts";
import { readForkTraces, wasDelivered } from "../../fork/life/undo.ts";
import type { Transcript } from "../../transcript/message.ts";

/**
 * What an undo of a parent, its redo, or going on without what was undone means for the forks of that parent. Nothing where
 * all of them know it already.
 */
export function findUndone({ records, standing, undone, isPartial }: UndoneView): readonly ForkUndoEvent[] {
  const stands = readForkTraces(standing);
  const taken = readForkTraces(undone);
  const launchEvent = ({ askedBy, undone: known }: ForkRun): UndoEvent["type"] | undefined => {
    if (askedBy === undefined || stands.hasCall(askedBy))
      return known === "restorable" ? "launch-restored" : undefined;
    if (taken.hasCall(askedBy)) return known === undefined ? "launch-undone" : undefined;
    // It may stand where the agent does not show it.
    if (isPartial && known === undefined) return undefined;
    return known === "gone" ? undefined : "launch-gone";
  };
  const deliveryEvent = (record: ForkRecord, run: ForkRun): UndoEvent["type"] | undefined => {
    if (isLive(run) || !wasDelivered(run)) return undefined;
    const id = deliveryId(record, run.number);
    const isKnown = run.delivery.isUndone === true;
    if (stands.deliveries.has(id)) return isKnown ? "delivery-restored" : undefined;
    if (taken.deliveries.has(id)) return isKnown ? undefined : "delivery-undone";
    return isKnown ? "delivery-gone" : undefined;
  };
  return records.flatMap((record) =>
    record.runs.flatMap((run) => {
      const launch = launchEvent(run);
      // Nobody asks any more for a result whose launch is gone.
      const isGone = launch === "launch-gone" || run.undone === "gone";
      const types = [launch, isGone ? undefined : deliveryEvent(record, run)];
      return types.flatMap((type) =>
        type === undefined ? [] : [{ forkId: record.id, event: { type, run: run.number } }],
      );
    }),
  );
}

interface UndoneView {
  /** The forks of the parent. */
  readonly records: readonly ForkRecord[];
  readonly standing: Transcript;
  /** What the user may restore. */
  readonly undone: Transcript;
  /** There is more that stands than `standing`. */
  readonly isPartial?: true | undefined;
}

interface ForkUndoEvent {
  readonly forkId: string;
  readonly event: UndoEvent;
}
