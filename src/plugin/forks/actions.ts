import type { ForkAction } from "../../fork/life/events.ts";
import { forkMetadata } from "../../fork/life/rebuild-record.ts";
import {
  currentRun,
  type ForkError,
  type ForkRecord,
  forkName,
  isLive,
  promptKey,
} from "../../fork/life/record.ts";
import type { PluginContext } from "../context/context.ts";
import type { HostValue, TurnSettings } from "../host/agent-host.ts";
import type { RequestStore } from "../stores/requests.ts";
import { humanLine } from "./inherit.ts";
import { type ChildReport, countCalls, inspectChild, lastReport, messagesOfRun } from "./inspect-child.ts";
import type { ForkKeeper } from "./keeper.ts";
import { orThrowUnanswered, startChild } from "./start-child.ts";

/** Does in the agent what a fork's life asks for, and dispatches what came of it. */
interface ForkActions {
  /** Returns at once; a lost action is asked for again by a later tick. */
  perform(record: ForkRecord, action: ForkAction): void;
}

export interface ForkActionsSetup {
  readonly context: PluginContext;
  readonly keeper: () => ForkKeeper;
  readonly requests: RequestStore;
  readonly fillSlots: (notBeforeMs: number | undefined) => void;
  readonly planDelivery: (parentSessionId: string) => void;
}

export function createForkActions(setup: ForkActionsSetup): ForkActions {
  const { context, keeper, requests } = setup;
  const { host } = context;
  const { sessions } = host;
  const underWay = new Set<string>();

  async function createChild(record: ForkRecord, { run, attempt }: ActionOf<"create-child">): Promise<void> {
    const child = await startChild(setup, { record, attempt });
    await keeper().dispatch(
      record.id,
      child.status === "failed"
        ? { type: "child-refused", run, error: hostError(child.reason) }
        : { type: "child-created", run, childSessionId: child.value },
    );
  }

  async function sendPrompt(record: ForkRecord, action: ActionOf<"send-prompt">): Promise<void> {
    const { run, prompt, key, attempt } = action;
    const { childSessionId, inherited, number } = record;
    if (childSessionId === undefined) return;
    const accept = (messageId: string) =>
      keeper().dispatch(record.id, { type: "prompt-accepted", run, prompt: prompt.number, messageId });
    if (attempt > 1) {
      const stored = orThrowUnanswered(await sessions.read(childSessionId));
      const notes = stored.status === "ok" ? host.format.notesIn(stored.value.messages) : [];
      const found = notes.find(({ promptKey }) => promptKey === key)?.messageId;
      if (found !== undefined) return void (await accept(found));
    }
    const isTask = prompt.kind === "task";
    if (isTask && run > 1) await renewLink(record, childSessionId);
    const messageId = sessions.newMessageId();
    const answer = orThrowUnanswered(
      await sessions.prompt({
        sessionId: childSessionId,
        messageId,
        text: prompt.text,
        from: "user",
        note: { promptKey: key },
        ...(isTask && run === 1 && { shownLine: humanLine({ number, ...inherited }) }),
        turn: { agent: record.agent, model: record.model, ...(await systemOf(record)) },
        reply: "wanted",
        maxUSD: Math.max(0, context.options.fork.forkUSD - record.spent.costUSD),
      }),
    );
    if (answer.status === "ok") return void (await accept(messageId));
    const error = hostError(answer.reason);
    await keeper().dispatch(record.id, { type: "prompt-refused", run, prompt: prompt.number, error });
  }

  /** A later run is a run of the same child; the note on its session must let a lost record be rebuilt. */
  async function renewLink(record: ForkRecord, childSessionId: string): Promise<void> {
    const answer = await sessions.setNote(childSessionId, forkMetadata(record));
    if (answer.status === "failed")
      context.notify.log("warn", `fork ${record.number} could not note its new run`, { ...answer });
  }

  /** A full child needs the system prompt that the parent's turn brought along, if it did. */
  async function systemOf({ inherited }: ForkRecord): Promise<Pick<TurnSettings, "system">> {
    if (inherited.mode !== "full" || inherited.snapshotId === undefined) return {};
    const inheritedRequest = await requests.get(inherited.snapshotId);
    const system =
      inheritedRequest.status === "found" ? host.format.turnOf(inheritedRequest.messages).system : undefined;
    return system === undefined ? {} : { system };
  }

  async function checkChild(record: ForkRecord, action: ActionOf<"check-child">): Promise<void> {
    const { childSessionId } = record;
    if (childSessionId === undefined) return;
    const status = await sessions.status(childSessionId);
    const stored = await sessions.read(childSessionId);
    if (status === undefined) return;
    if (stored.status === "failed" && stored.code !== "missing") return;
    const { run, messageId, key } = action;
    const finding =
      stored.status === "failed"
        ? ({ type: "missing" } as const)
        : inspectChild(host, { stored: stored.value, status, messageId, key });
    const isBehind = stored.status === "ok" && isAdopted(record);
    if (isBehind) await countSpending(record, childSessionId);
    const calls = isBehind ? countCalls(host, messagesOfRun(host, stored.value.messages, key)) : 0;
    await keeper().dispatch(record.id, { type: "child-checked", run, finding, calls });
  }

  /** The program that ran the child may not have stored its last counts. */
  async function countSpending({ id, spent }: ForkRecord, childSessionId: string): Promise<void> {
    const facts = await sessions.get(childSessionId);
    if (facts.status === "failed") return;
    const { costUSD, tokens } = facts.value;
    await keeper().dispatch(id, { type: "spent", costUSD, tokens, steps: spent.steps });
  }

  async function abortChild(record: ForkRecord, run: number): Promise<void> {
    const { childSessionId } = record;
    if (childSessionId === undefined) return;
    // While the agent has not stopped it, it goes on: a later tick asks again.
    orThrowUnlessGone(await sessions.stop(childSessionId));
    const stored = orThrowUnlessGone(await sessions.read(childSessionId));
    const key = promptKey(record, { run, number: 1 });
    const { lastText: text, changedFiles }: ChildReport =
      stored.status === "ok"
        ? lastReport(host, messagesOfRun(host, stored.value.messages, key))
        : { lastText: "", changedFiles: [] };
    await keeper().dispatch(record.id, { type: "child-stopped", run, text, changedFiles });
  }

  async function act(record: ForkRecord, action: ForkAction): Promise<void> {
    switch (action.type) {
      case "create-child":
        return createChild(record, action);
      case "send-prompt":
        return sendPrompt(record, action);
      case "look-at-status": {
        const status =
          record.childSessionId === undefined ? undefined : await sessions.status(record.childSessionId);
        if (status !== undefined) await keeper().dispatch(record.id, { type: "status", status });
        return;
      }
      case "check-child":
        return checkChild(record, action);
      case "abort-child":
        return abortChild(record, action.run);
      case "reject-permission":
        if (host.can.rejectAsks) orThrowUnlessGone(await sessions.rejectAsk(action));
        return;
      case "fill-slots":
        return setup.fillSlots(action.notBeforeMs);
      case "plan-delivery":
        return setup.planDelivery(action.parentSessionId);
      case "toast":
        return context.notify.toastOf(forkName(record), action.text, action.tone);
      default:
        action satisfies never;
    }
  }

  return {
    perform(record, action) {
      const name = singleFlightKey(record, action);
      if (underWay.has(name)) return;
      if (name !== "") underWay.add(name);
      act(record, action)
        .catch((cause: unknown) => {
          context.notify.log("error", `${action.type} of fork ${record.number} failed`, {
            cause: String(cause),
          });
        })
        .finally(() => underWay.delete(name));
    },
  };
}

function isAdopted(record: ForkRecord): boolean {
  const run = currentRun(record);
  return isLive(run) && run.adoption !== undefined;
}

type ActionOf<Type extends ForkAction["type"]> = Extract<ForkAction, { readonly type: Type }>;

/** What must not be done twice at the same time: on a slow machine it is asked for again before it is done. */
function singleFlightKey({ id }: ForkRecord, action: ForkAction): string {
  if (action.type === "create-child") return `${id} create`;
  return action.type === "send-prompt" ? action.key : "";
}

function hostError(reason: string): ForkError {
  return { kind: "host", message: reason.slice(0, 500) };
}

/** The answer; throws unless the call succeeded or its target no longer exists. */
function orThrowUnlessGone<Value>(answer: HostValue<Value>): HostValue<Value> {
  if (answer.status === "failed" && answer.code !== "missing") throw new Error(answer.reason);
  return answer;
}
