import { outcomeText } from "../../transcript/content.ts";
import { isNameOfCall, type Transcript } from "../../transcript/message.ts";
import type { UndoEvent } from "./events.ts";
import { deliveryIdsIn } from "./notice.ts";
import { type AskingCall, deliveryId, type ForkRecord, type ForkRun, isLive } from "./record.ts";
import { wasDelivered } from "./undo.ts";

/** What a conversation holds of forks: the results that were delivered, and the calls that asked for runs. */
interface ForkTraces {
  /** Delivery ids. */
  readonly deliveries: ReadonlySet<string>;
  hasCall(call: AskingCall): boolean;
}

/** Reads it from the stored messages of a parent, or from those that the user has taken back. */
export function readForkTraces(transcript: Transcript): ForkTraces {
  const texts = transcript.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.type === "text" ? [part.text] : part.type === "tool" ? [outcomeText(part.outcome)] : [],
    ),
  );
  return {
    deliveries: new Set(texts.flatMap(deliveryIdsIn)),
    hasCall: ({ messageId, callId }) =>
      transcript.some(
        ({ id, parts }) =>
          id === messageId && parts.some((part) => part.type === "tool" && isNameOfCall(part.callId, callId)),
      ),
  };
}

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
      // The launch was taken back, so its result is not wanted any more.
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
