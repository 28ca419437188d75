import { type DeliveryEvent, type ForkStep, unchanged, withoutKeys } from "./events.ts";
import { type Delivery, type EndedRun, type ForkRecord, isLive } from "./record.ts";

/** Advances the delivery of one run; an acknowledged one never changes again. */
export function advanceDelivery(
  record: ForkRecord,
  event: DeliveryEvent & { readonly atMs: number },
): ForkStep {
  const run = record.runs.find(({ number }) => number === event.run);
  if (run === undefined || isLive(run)) return unchanged(record);
  const delivery = next(run.delivery, event);
  if (delivery === run.delivery) return unchanged(record);
  const moved = withDelivery(record, run, delivery);
  if (delivery.isHeld !== true || run.delivery.isHeld === true) return unchanged(moved);
  const text = "has a result that waits for your next message";
  return { record: moved, actions: [{ type: "toast", tone: "warning", text }] };
}

/** Closes every open delivery, since the parent is gone. */
export function closeDeliveries(record: ForkRecord, atMs: number): ForkRecord {
  return mapOpen(record, (delivery) => close(delivery, "parent-deleted", atMs));
}

/**
 * Holds every open delivery after a restart: the parent is not prompted, and what was being sent must be searched for
 * first.
 */
export function holdDeliveries(record: ForkRecord): ForkRecord {
  return mapOpen(record, (delivery) => ({
    ...delivery,
    isHeld: true,
    ...(delivery.state === "sent" ? { isUnsure: true } : {}),
  }));
}

/** A result that did not arrive is sent again once; after that it waits for the user's next message. */
const MAX_SENDS = 2;

function next(delivery: Delivery, event: DeliveryEvent & { readonly atMs: number }): Delivery {
  const { atMs } = event;
  if (delivery.state === "acked") return delivery;
  switch (event.type) {
    case "delivery-refused":
      if (delivery.state !== "sent") return delivery;
      return { ...withoutKeys(delivery, "way"), state: "pending", sends: delivery.sends - 1 };
    case "delivery-sent":
      if (event.way === "read" && delivery.state === "seen") return close(delivery, "read", atMs);
      if (delivery.state !== "pending") return delivery;
      return { ...delivery, state: "sent", way: event.way, sends: delivery.sends + 1, sinceMs: atMs };
    case "delivery-seen":
      if (delivery.state === "seen") return delivery;
      if (delivery.way === "read") return close(delivery, "read", atMs);
      return { ...withoutKeys(delivery, "isUnsure"), state: "seen", sinceMs: atMs };
    case "delivery-absent":
      if (delivery.state !== "sent") return delivery;
      return {
        ...withoutKeys(delivery, "isUnsure", "way"),
        state: "pending",
        sinceMs: atMs,
        ...(delivery.sends >= MAX_SENDS ? { isHeld: true } : {}),
      };
    case "delivery-reminded":
      return delivery.state === "seen" && delivery.remindedAtMs === undefined
        ? { ...delivery, remindedAtMs: atMs }
        : delivery;
    case "delivery-unanswered":
      return delivery.state === "seen" && delivery.isHeld !== true ? { ...delivery, isHeld: true } : delivery;
    case "delivery-answered":
      return delivery.state === "pending" ? delivery : close(delivery, "answer", atMs);
    default:
      event satisfies never;
      return delivery;
  }
}

function close(delivery: Delivery, closedBy: NonNullable<Delivery["closedBy"]>, atMs: number): Delivery {
  return { ...withoutKeys(delivery, "isHeld", "isUnsure"), state: "acked", closedBy, sinceMs: atMs };
}

function withDelivery(record: ForkRecord, run: EndedRun, delivery: Delivery): ForkRecord {
  return { ...record, runs: record.runs.map((each) => (each === run ? { ...run, delivery } : each)) };
}

function mapOpen(record: ForkRecord, change: (delivery: Delivery) => Delivery): ForkRecord {
  const runs = record.runs.map((run) =>
    isLive(run) || run.delivery.state === "acked" ? run : { ...run, delivery: change(run.delivery) },
  );
  return { ...record, runs };
}
