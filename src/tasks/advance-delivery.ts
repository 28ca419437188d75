import type { DeliveryEvent } from "./fork-event.ts";
import { type Delivery, type EndedRun, type ForkRecord, isLive } from "./fork-record.ts";
import { type ForkStep, unchanged, without } from "./fork-step.ts";
import { forkName } from "./fork-texts.ts";

/** Moves the outbox row of one run; what is acknowledged stays so. */
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
  const text = `The result of ${forkName(record)} waits for your next message`;
  return { record: moved, actions: [{ type: "toast", tone: "warning", text }] };
}

/** Closes every row that is still open: the parent is gone. */
export function closeDeliveries(record: ForkRecord, atMs: number): ForkRecord {
  return mapOpen(record, (delivery) => close(delivery, "parent-deleted", atMs));
}

/** After a restart nothing wakes the parent, and what was on its way must be looked for. */
export function holdDeliveries(record: ForkRecord): ForkRecord {
  return mapOpen(record, (delivery) => ({
    ...delivery,
    isHeld: true,
    ...(delivery.state === "sent" ? { isUnsure: true } : {}),
  }));
}

/** A result that did not arrive is sent once more by itself; after that it waits for the user. */
const MAX_SENDS = 2;

function next(delivery: Delivery, event: DeliveryEvent & { readonly atMs: number }): Delivery {
  const { atMs } = event;
  if (delivery.state === "acked") return delivery;
  switch (event.type) {
    case "delivery-sent":
      if (event.way === "read" && delivery.state === "seen") return close(delivery, "read", atMs);
      if (delivery.state !== "pending") return delivery;
      return { ...delivery, state: "sent", way: event.way, sends: delivery.sends + 1, sinceMs: atMs };
    case "delivery-seen":
      if (delivery.state === "seen") return delivery;
      if (delivery.way === "read") return close(delivery, "read", atMs);
      return { ...without(delivery, "isUnsure"), state: "seen", sinceMs: atMs };
    case "delivery-absent":
      if (delivery.state !== "sent") return delivery;
      return {
        ...without(delivery, "isUnsure", "way"),
        state: "pending",
        sinceMs: atMs,
        ...(delivery.sends >= MAX_SENDS ? { isHeld: true } : {}),
      };
    case "delivery-kicked":
      return delivery.state === "seen" && delivery.kickedAtMs === undefined
        ? { ...delivery, kickedAtMs: atMs }
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
  return { ...without(delivery, "isHeld", "isUnsure"), state: "acked", closedBy, sinceMs: atMs };
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
