import { fields, stringField } from "../../../formats/fields.ts";
import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import { deliveryId } from "../../../tasks/fork-record.ts";
import { forkRoster } from "../../../tasks/fork-table.ts";
import { KICK_TEXT } from "../../../tasks/fork-texts.ts";
import {
  type DeliveryMoment,
  type DeliveryPlan,
  type ForkResult,
  planDelivery,
} from "../../../tasks/plan-delivery.ts";
import { deliveriesIn, resultNotice } from "../../../tasks/result-notice.ts";
import type { Feature } from "../combine-hooks.ts";
import { lastTurn, promptSession, sessionMessages } from "../forks/child-session.ts";
import type { Forks } from "../forks/create-forks.ts";
import type { NewEvent } from "../forks/fork-keeper.ts";
import { createMessageId } from "../forks/message-id.ts";
import type { PluginContext } from "../plugin-context.ts";
import { createParentStates } from "./parent-states.ts";

/** Brings the results of forks to their parents, each once: on a tool output, with a message of the user, or by a prompt of its own. */
export function createDeliveryFeature({ context, forks }: DeliverySetup): Feature {
  const { calls, now } = context;
  const states = createParentStates();
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  const open = new Set<string>();
  const taken = new Set<string>();

  const planFor = (parentSessionId: string, moment: DeliveryMoment): DeliveryPlan => {
    const { records, instanceId } = forks.view();
    const parent = states.of(parentSessionId);
    return planDelivery({ records, instanceId, parentSessionId, parent, moment, nowMs: now() });
  };
  const tellAll = (results: readonly ForkResult[], event: (run: number) => NewEvent): Promise<unknown> =>
    Promise.all(results.map(({ record, run }) => forks.keeper.tell(record.id, event(run.number))));
  /** Takes results for sending; what two tools that end together both plan is sent by the first. */
  async function take(send: DeliveryPlan["send"]): Promise<readonly ForkResult[]> {
    const results = (send?.results ?? []).filter(
      ({ record, run }) => !taken.has(deliveryId(record, run.number)),
    );
    if (send === undefined || results.length === 0) return [];
    for (const { record, run } of results) taken.add(deliveryId(record, run.number));
    await tellAll(results, (run) => ({ type: "delivery-sent", run, way: send.way }));
    for (const { record, run } of results) taken.delete(deliveryId(record, run.number));
    return results;
  }

  /** What time brings: prompts that are due, looks at what was sent, and the next time to ask. */
  async function plan(parentSessionId: string): Promise<void> {
    // One at a time for each parent: two plans made from the same records would send twice.
    if (open.has(parentSessionId)) return later(parentSessionId, now() + RETRY_MS);
    open.add(parentSessionId);
    try {
      const found = planFor(parentSessionId, "time");
      if (found.send !== undefined) await sendPrompt(parentSessionId, found.send);
      const unanswered = found.look.length === 0 ? found.look : await look(parentSessionId, found.look);
      const stillOpen = (results: readonly ForkResult[]) =>
        results.filter(({ record, run }) =>
          unanswered.some((each) => each.record.id === record.id && each.run.number === run.number),
        );
      const kick = stillOpen(found.kick);
      if (kick.length > 0) {
        await tellAll(kick, (run) => ({ type: "delivery-kicked", run }));
        await prompt(parentSessionId, KICK_TEXT);
      }
      await tellAll(stillOpen(found.giveUp), (run) => ({ type: "delivery-unanswered", run }));
      const next = found.send === undefined ? found.nextAtMs : now() + AFTER_SEND_MS;
      if (next !== undefined) later(parentSessionId, next);
    } finally {
      open.delete(parentSessionId);
    }
  }

  function later(parentSessionId: string, atMs: number): void {
    clearTimeout(timers.get(parentSessionId));
    const timer = setTimeout(() => ask(parentSessionId), Math.max(0, atMs - now()) + 1);
    timer.unref?.();
    timers.set(parentSessionId, timer);
  }

  function ask(parentSessionId: string): void {
    plan(parentSessionId).catch((cause: unknown) => {
      context.notify.log("error", "results could not be delivered", { cause: String(cause) });
    });
  }

  async function sendPrompt(parentSessionId: string, send: DeliveryPlan["send"]): Promise<void> {
    const results = await take(send);
    if (results.length > 0) await prompt(parentSessionId, resultNotice(results));
  }

  async function prompt(parentSessionId: string, text: string): Promise<void> {
    const stored = await sessionMessages(calls, parentSessionId);
    await promptSession(calls, {
      sessionId: parentSessionId,
      turn: stored.status === "ok" ? lastTurn(stored.value) : {},
      messageId: createMessageId(now()),
      parts: [{ type: "text", text, synthetic: true, metadata: OURS }],
      reply: "wanted",
    });
  }

  /** Looks for results among the parent's messages; gives those that are there and not answered. */
  async function look(
    parentSessionId: string,
    results: readonly ForkResult[],
  ): Promise<readonly ForkResult[]> {
    const stored = await sessionMessages(calls, parentSessionId);
    if (stored.status === "failed") return [];
    const unanswered: ForkResult[] = [];
    for (const result of results) {
      const { record, run } = result;
      const index = stored.value.findIndex((message) => holds(message, deliveryId(record, run.number)));
      const isAnswered = index !== -1 && stored.value.slice(index).some(isFinishedAnswer);
      const type = index === -1 ? "delivery-absent" : isAnswered ? "delivery-answered" : "delivery-seen";
      if (type === "delivery-seen") unanswered.push(result);
      await forks.keeper.tell(record.id, { type, run: run.number });
    }
    return unanswered;
  }

  forks.onDelivery(ask);
  return {
    name: "fork results",
    hooks: {
      event: async ({ event }) => {
        states.observe(event, now());
        const sessionId = stringField(event.properties.sessionID);
        if (event.type === "session.idle" && sessionId !== undefined && hasOpenResults(sessionId))
          ask(sessionId);
      },
      "chat.message": async ({ sessionID }, output) => {
        const isOurs = output.parts.some((part) => fields(part.metadata).carryover === true);
        if (isOurs) return;
        states.userSpoke(sessionID, now());
        const results = await take(planFor(sessionID, "user-message").send);
        if (results.length === 0) return;
        const messageID = stringField(output.message.id);
        const id = createMessageId(now()).replace("msg_", "prt_");
        output.parts.push({
          id,
          sessionID,
          messageID,
          type: "text",
          text: resultNotice(results),
          synthetic: true,
          metadata: OURS,
        });
      },
      "tool.execute.after": async ({ sessionID }, output) => {
        states.toolEnded(sessionID, now());
        const results = await take(planFor(sessionID, "tool-end").send);
        if (results.length === 0) return;
        const notice = `\n\n${resultNotice(results)}`;
        const ride = { offset: output.output.length, length: notice.length };
        output.metadata = {
          ...fields(output.metadata),
          carryover: { ...fields(fields(output.metadata).carryover), ride },
        };
        output.output += notice;
      },
      "experimental.session.compacting": async ({ sessionID }, output) => {
        states.compacting(sessionID);
        if (context.options.compaction === "off" || context.options.profile === "documented") return;
        const roster = forkRoster(
          forks.keeper.all().filter((record) => record.parentSessionId === sessionID),
          now(),
        );
        if (roster !== "") output.context.push(roster);
      },
      dispose: async () => {
        for (const timer of timers.values()) clearTimeout(timer);
      },
    },
  };

  function hasOpenResults(sessionId: string): boolean {
    return forks.keeper
      .all()
      .some(
        (record) =>
          record.parentSessionId === sessionId &&
          record.runs.some((run) => "delivery" in run && run.delivery.state !== "acked"),
      );
  }
}

export interface DeliverySetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}

/** Marks text as ours, so that forks leave it out. */
const OURS: Readonly<Record<string, unknown>> = { carryover: true };

const RETRY_MS = 100;
const AFTER_SEND_MS = 2_100;

function holds({ parts }: SessionMessage, delivery: string): boolean {
  return parts.some((part) => {
    const text =
      part.type === "text" ? part.text : part.type === "tool" ? fields(part.state).output : undefined;
    return typeof text === "string" && text.includes(delivery) && deliveriesIn(text).includes(delivery);
  });
}

function isFinishedAnswer({ info }: SessionMessage): boolean {
  return (
    info.role === "assistant" &&
    info.summary !== true &&
    info.error === undefined &&
    info.finish !== undefined &&
    info.finish !== "tool-calls"
  );
}
