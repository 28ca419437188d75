import { findUndone } from "../../fork/life/find-undone.ts";
import { resultNotice } from "../../fork/life/notice.ts";
import {
  type DeliveryMoment,
  type DeliveryPlan,
  type DeliveryWaits,
  type EndedFork,
  planDelivery,
  REMINDER_TEXT,
} from "../../fork/life/plan-delivery.ts";
import { deliveryId } from "../../fork/life/record.ts";
import { createLruMap } from "../../text/lru-map.ts";
import type { PluginContext } from "../context/context.ts";
import { closeForksOfMissingParent } from "../forks/adopt-forks.ts";
import type { Forks } from "../forks/forks.ts";
import type { NewEvent } from "../forks/keeper.ts";
import { shownResult } from "../forks/shown-forks.ts";
import type { HostPrompt } from "../host/agent-host.ts";
import { type Carrier, findDelivery, type Handover } from "./find-delivery.ts";
import type { ParentStates } from "./parent-states.ts";

/** Sends pending results, each once, and checks what became of those that were sent. */
interface Outbox {
  /** Gives results to a carrier; they count as sent from then on. */
  take(parentSessionId: string, request: TakeRequest): Promise<readonly EndedFork[]>;
  /** Whether there is anything to take at a moment. */
  isDue(parentSessionId: string, moment: DeliveryMoment): boolean;
  /** Learns what the user has taken back of a parent, restored or left behind; must come before anything is sent. */
  settle(parentSessionId: string): Promise<void>;
  /** Looks for results that an instance that is gone may have sent. */
  findUnsure(parentSessionId: string): Promise<void>;
  /** Sends what waits for a message of the user. */
  sendWaiting(parentSessionId: string): Promise<void>;
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
  const settledAtMs = createLruMap<string, number>(MAX_REMEMBERED);

  const planFor = (parentSessionId: string, moment: DeliveryMoment): DeliveryPlan => {
    const { records, instanceId } = forks.view();
    const parent = states.of(parentSessionId);
    const nowMs = now();
    const plan = planDelivery({ records, instanceId, parentSessionId, parent, moment, nowMs, waits });
    if (host.can.wakeParents || moment !== "time") return plan;
    // Nothing can be said to it now: what was said is looked for.
    return { look: plan.look, remind: [], giveUp: [], ...(plan.nextAtMs && { nextAtMs: plan.nextAtMs }) };
  };
  const idOf = ({ record, run }: EndedFork): string => deliveryId(record, run.number);

  /** Dispatches an event for each result and gives those that it changed; the others were changed by someone else. */
  async function moved(
    results: readonly EndedFork[],
    event: (run: number) => NewEvent,
  ): Promise<readonly EndedFork[]> {
    const steps = await Promise.all(
      results.map(({ record, run }) => keeper.dispatch(record.id, event(run.number))),
    );
    return results.filter((_, index) => {
      const step = steps[index];
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
      const first = planFor(parentSessionId, "time");
      if (first.send !== undefined || first.remind.length > 0 || mayBeRestored(parentSessionId))
        await settle(parentSessionId);
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

  /** Another program may have restored it, whose signals are not heard here. */
  function mayBeRestored(parentSessionId: string): boolean {
    const isReverted = states.of(parentSessionId).status === "reverted";
    return isReverted && now() - (settledAtMs.get(parentSessionId) ?? 0) > SETTLE_AGAIN_MS;
  }

  async function settle(parentSessionId: string): Promise<void> {
    settledAtMs.set(parentSessionId, now());
    const stored = await sessions.read(parentSessionId);
    if (stored.status === "failed") return;
    const { messages, undone, isPartial } = stored.value;
    const standing = format.decode(messages);
    const taken = format.decode(undone ?? []);
    states.setRevert(parentSessionId, undone && (taken[0]?.id ?? ""));
    const records = keeper.all().filter((record) => record.parentSessionId === parentSessionId);
    for (const { forkId, event } of findUndone({ records, standing, undone: taken, isPartial }))
      await keeper.dispatch(forkId, event);
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
    if (host.can.deliversOnce) return giveEach(parentSessionId, send);
    const messageId = sessions.newMessageId();
    const results = await take(send, { type: "message", messageId });
    if (results.length === 0) return;
    const answer = await prompt(parentSessionId, { text: resultNotice(results), messageId });
    if (answer === "stored" || answer === "unknown") return;
    for (const result of results) handovers.delete(idOf(result));
    if (answer === "reverted") await moved(results, (run) => ({ type: "delivery-refused", run }));
  }

  /** One message for each result: the same result is then the same message, whatever else is sent with it the next time. */
  async function giveEach(parentSessionId: string, send: DeliveryPlan["send"]): Promise<void> {
    for (const result of send?.results ?? []) {
      const { record, run } = result;
      const messageId = sessions.newMessageId({ key: idOf(result), atMs: run.endedAtMs });
      const [taken] = await take(send && { ...send, results: [result] }, { type: "message", messageId });
      if (taken === undefined) continue;
      const { head, body } = shownResult(record, run);
      const shownLine = `${head}\n${body}`;
      const answer = await prompt(parentSessionId, { text: resultNotice([taken]), messageId, shownLine });
      if (answer === "reverted") await moved([taken], (each) => ({ type: "delivery-refused", run: each }));
      else if (answer === "stored") await moved([taken], (each) => ({ type: "delivery-seen", run: each }));
    }
  }

  /** `unknown` when the agent may still store the message. */
  async function prompt(
    parentSessionId: string,
    { text, messageId, shownLine }: SentMessage,
  ): Promise<"stored" | "refused" | "reverted" | "unknown"> {
    const answer = await sessions.prompt({
      sessionId: parentSessionId,
      messageId,
      text,
      from: "program",
      note: {},
      ...(shownLine !== undefined && { shownLine }),
      turn: "last-user-turn",
      reply: "wanted",
    });
    if (answer.status === "ok") return "stored";
    if (answer.code === "reverted") {
      await settle(parentSessionId);
      return "reverted";
    }
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
    // What is not found may be restored.
    if (stored.value.undone !== undefined) return [];
    const transcript = format.decode(stored.value.messages);
    const unanswered: EndedFork[] = [];
    for (const result of results) {
      const delivery = idOf(result);
      // It is being sent again while the messages were read.
      if (taken.has(delivery)) continue;
      if (!host.can.wakeParents && isJustSent(result, now())) continue;
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
    isDue: (parentSessionId, moment) => planFor(parentSessionId, moment).send !== undefined,
    settle,
    take: (parentSessionId, { moment, carrier }) => take(planFor(parentSessionId, moment).send, carrier),
    async findUnsure(parentSessionId) {
      // Without a look in between, what was seen then has been answered by now.
      const { look } = planFor(parentSessionId, host.can.wakeParents ? "user-message" : "time");
      const unsure = look.filter(
        ({ run: { delivery } }) => delivery.isUnsure === true || delivery.state === "seen",
      );
      if (unsure.length > 0) await find(parentSessionId, unsure);
    },
    sendWaiting: (parentSessionId) =>
      giveEach(parentSessionId, planFor(parentSessionId, "user-message").send),
    schedule,
    dispose() {
      for (const { timer } of timers.values()) clearTimeout(timer);
    },
  };
}

/** Another program gave it to the agent, which may not have stored it yet. */
function isJustSent({ run: { delivery } }: EndedFork, nowMs: number): boolean {
  return delivery.state === "sent" && delivery.isUnsure === true && nowMs - delivery.sinceMs < STORED_MS;
}

const STORED_MS = 3_000;

interface SentMessage extends Pick<HostPrompt, "text" | "messageId" | "shownLine"> {}

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
const SETTLE_AGAIN_MS = 30_000;
