import {
  type DeliveryMoment,
  type DeliveryPlan,
  type DeliveryWaits,
  type EndedFork,
  type ParentState,
  planDelivery,
  REMINDER_TEXT,
} from "../../fork/life/delivery.ts";
import { resultNotice } from "../../fork/life/notice.ts";
import { deliveryId } from "../../fork/life/record.ts";
import type { PluginContext } from "../context/context.ts";
import { closeForksOfMissingParent } from "../forks/clock.ts";
import type { Forks } from "../forks/forks.ts";
import type { NewEvent } from "../forks/keeper.ts";
import type { HostSignal } from "../host/agent-host.ts";
import { createLruMap } from "../stores/lru-map.ts";
import { type Carrier, findDelivery, type Handover } from "./find-delivery.ts";

/** Sends pending results, each once, and checks what became of those that were sent. */
interface Outbox {
  /** Gives results to a carrier; they count as sent from then on. */
  take(parentSessionId: string, request: TakeRequest): Promise<readonly EndedFork[]>;
  /** Looks for results that an instance that is gone may have sent. */
  findUnsure(parentSessionId: string): Promise<void>;
  /** Does what is due for a parent, now and whenever more becomes due; returns at once. */
  schedule(parentSessionId: string): void;
  dispose(): void;
}

interface TakeRequest {
  readonly moment: DeliveryMoment;
  readonly carrier: Carrier;
}

interface OutboxSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
  readonly states: ParentStates;
  readonly waits: DeliveryWaits;
}

/** What the sessions that may get results are doing, as far as signals tell. */
export interface ParentStates {
  of(sessionId: string): ParentState;
  /** Another number after each signal of the session. */
  changeOf(sessionId: string): number;
  observe(signal: HostSignal, atMs: number): void;
  toolEnded(sessionId: string, atMs: number): void;
  compacting(sessionId: string): void;
  /** A message of the user ends an abort. */
  userSpoke(sessionId: string, atMs: number): void;
}

/** The outbox of the forks that this instance owns. */
export function createOutbox({ context, forks, states, waits }: OutboxSetup): Outbox {
  const { host, now } = context;
  const { sessions, format } = host;
  const { keeper } = forks;
  const timers = new Map<string, Appointment>();
  const open = new Set<string>();
  const taken = new Set<string>();
  const handovers = createLruMap<string, Handover>(MAX_REMEMBERED);
  const lookedAt = createLruMap<string, number>(MAX_REMEMBERED);

  const planFor = (parentSessionId: string, moment: DeliveryMoment): DeliveryPlan => {
    const { records, instanceId } = forks.view();
    const parent = states.of(parentSessionId);
    return planDelivery({ records, instanceId, parentSessionId, parent, moment, nowMs: now(), waits });
  };
  const idOf = ({ record, run }: EndedFork): string => deliveryId(record, run.number);

  /** Dispatches an event for each result and gives those that it changed; the others were changed by someone else. */
  async function moved(
    results: readonly EndedFork[],
    event: (run: number) => NewEvent,
  ): Promise<readonly EndedFork[]> {
    const told = await Promise.all(
      results.map(({ record, run }) => keeper.dispatch(record.id, event(run.number))),
    );
    return results.filter((_, index) => {
      const step = told[index];
      return step !== undefined && step.record !== step.before;
    });
  }

  /** Marks results as sent. Of two tools that end together the first gets them. */
  async function take(send: DeliveryPlan["send"], carrier: Carrier): Promise<readonly EndedFork[]> {
    const free = (send?.results ?? []).filter((result) => !taken.has(idOf(result)));
    if (send === undefined || free.length === 0) return [];
    for (const result of free) taken.add(idOf(result));
    try {
      const ours = await moved(free, (run) => ({ type: "delivery-sent", run, way: send.way }));
      for (const result of ours) handovers.set(idOf(result), { carrier, atMs: now() });
      return ours;
    } finally {
      for (const result of free) taken.delete(idOf(result));
    }
  }

  /** Sends prompts that are due, checks what was sent, and schedules the next time. */
  async function plan(parentSessionId: string): Promise<void> {
    // One at a time for each parent: two plans made from the same records would send twice.
    if (open.has(parentSessionId)) return later(parentSessionId, now() + RETRY_MS);
    open.add(parentSessionId);
    try {
      const found = planFor(parentSessionId, "time");
      if (found.send !== undefined) await sendPrompt(parentSessionId, found.send);
      const unanswered = isWorthReading(parentSessionId, found)
        ? await find(parentSessionId, found.look)
        : [];
      const stillOpen = (results: readonly EndedFork[]) =>
        results.filter((result) => unanswered.some((each) => idOf(each) === idOf(result)));
      const reminded = await moved(stillOpen(found.remind), (run) => ({ type: "delivery-reminded", run }));
      if (reminded.length > 0)
        await prompt(parentSessionId, { text: REMINDER_TEXT, messageId: sessions.newMessageId() });
      await moved(stillOpen(found.giveUp), (run) => ({ type: "delivery-unanswered", run }));
      const next = found.send === undefined ? found.nextAtMs : now() + AFTER_SEND_MS;
      if (next !== undefined) later(parentSessionId, next);
    } finally {
      open.delete(parentSessionId);
    }
  }

  /** A parent without a signal since the last read has not answered either. */
  function isWorthReading(parentSessionId: string, found: DeliveryPlan): boolean {
    if (found.remind.length > 0 || found.giveUp.length > 0) return true;
    const isAllSeen = found.look.every(({ run }) => run.delivery.state === "seen");
    return (
      found.look.length > 0 &&
      !(isAllSeen && lookedAt.get(parentSessionId) === states.changeOf(parentSessionId))
    );
  }

  /** Keeps one timer a parent, set to the earliest time. */
  function later(parentSessionId: string, atMs: number): void {
    const set = timers.get(parentSessionId);
    if (set !== undefined && set.atMs <= atMs) return;
    clearTimeout(set?.timer);
    const wake = (): void => {
      timers.delete(parentSessionId);
      schedule(parentSessionId);
    };
    const timer = setTimeout(wake, Math.max(0, atMs - now()) + 1);
    timer.unref?.();
    timers.set(parentSessionId, { atMs, timer });
  }

  function schedule(parentSessionId: string): void {
    plan(parentSessionId).catch((cause: unknown) => {
      context.notify.log("error", "results could not be delivered", { cause: String(cause) });
    });
  }

  async function sendPrompt(parentSessionId: string, send: DeliveryPlan["send"]): Promise<void> {
    const messageId = sessions.newMessageId();
    const results = await take(send, { type: "message", messageId });
    if (results.length === 0) return;
    const answer = await prompt(parentSessionId, { text: resultNotice(results), messageId });
    if (answer === "refused") for (const result of results) handovers.delete(idOf(result));
  }

  /** `unknown` when the agent may still store the message. */
  async function prompt(
    parentSessionId: string,
    { text, messageId }: { readonly text: string; readonly messageId: string },
  ): Promise<"stored" | "refused" | "unknown"> {
    const answer = await sessions.prompt({
      sessionId: parentSessionId,
      messageId,
      text,
      from: "program",
      note: {},
      turn: "last-user-turn",
      reply: "wanted",
    });
    if (answer.status === "ok") return "stored";
    if (answer.code === "missing") await closeForksOfMissingParent({ host, keeper }, parentSessionId);
    else context.notify.log("warn", "a result could not be sent", { parentSessionId, ...answer });
    return answer.code === "no-answer" ? "unknown" : "refused";
  }

  /** Looks for results among the parent's messages; gives those that are there and not answered. */
  async function find(parentSessionId: string, results: readonly EndedFork[]): Promise<readonly EndedFork[]> {
    lookedAt.set(parentSessionId, states.changeOf(parentSessionId));
    const stored = await sessions.read(parentSessionId);
    if (stored.status === "failed") {
      if (stored.code === "missing") await closeForksOfMissingParent({ host, keeper }, parentSessionId);
      return [];
    }
    const transcript = format.decode(stored.value.messages);
    const unanswered: EndedFork[] = [];
    for (const result of results) {
      const delivery = idOf(result);
      // It is being sent again while the messages were read.
      if (taken.has(delivery)) continue;
      const handover = handovers.get(delivery) ?? readByTool(result);
      const found = findDelivery(transcript, { delivery, nowMs: now(), ...(handover && { handover }) });
      if (found === "in-flight") continue;
      handovers.delete(delivery);
      if (found === "seen") unanswered.push(result);
      await keeper.dispatch(result.record.id, { type: `delivery-${found}`, run: result.run.number });
    }
    return unanswered;
  }

  return {
    take: (parentSessionId, { moment, carrier }) => take(planFor(parentSessionId, moment).send, carrier),
    async findUnsure(parentSessionId) {
      const { look: sent } = planFor(parentSessionId, "user-message");
      const unsure = sent.filter(({ run }) => run.delivery.isUnsure === true);
      if (unsure.length > 0) await find(parentSessionId, unsure);
    },
    schedule,
    dispose() {
      for (const { timer } of timers.values()) clearTimeout(timer);
    },
  };
}

interface Appointment {
  readonly atMs: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** A result that a tool of ours gives as its output is not stored before that tool ends. */
function readByTool({ run: { delivery } }: EndedFork): Handover | undefined {
  if (delivery.way !== "read" || delivery.isUnsure === true) return undefined;
  return { carrier: { type: "own-tool" }, atMs: delivery.sinceMs };
}

const MAX_REMEMBERED = 1_024;
const RETRY_MS = 100;
const AFTER_SEND_MS = 2_100;
