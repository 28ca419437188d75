import type { ForkAction } from "../../../tasks/fork-action.ts";
import { type ForkError, type ForkRecord, promptKey } from "../../../tasks/fork-record.ts";
import type { ViewStore } from "../capture/view-store.ts";
import { sessionPath } from "../host-calls.ts";
import type { PluginContext } from "../plugin-context.ts";
import { answered, doneOrGone } from "./answered.ts";
import { childFinding, lastWords, promptKeyOf, runOf } from "./child-finding.ts";
import {
  lastTurn,
  promptSession,
  sessionMessages,
  sessionStatus,
  type TextInput,
  type TurnSettings,
} from "./child-session.ts";
import { humanLine } from "./directive.ts";
import { bondOfRecord, type ForkBonds } from "./fork-bonds.ts";
import type { ForkKeeper } from "./fork-keeper.ts";
import { createMessageId } from "./message-id.ts";
import { startChild } from "./start-child.ts";

/** Does in the host what a fork's life asks for, and tells the keeper what came of it. */
export function createForkActions(setup: ForkActionsSetup): ForkActions {
  const { context, keeper, views, bonds } = setup;
  const { calls, now } = context;
  const underWay = new Set<string>();

  async function createChild(record: ForkRecord, { run, attempt }: ActionOf<"create-child">): Promise<void> {
    const child = await startChild({ calls, views, bonds, now }, { record, attempt });
    await keeper().tell(
      record.id,
      child.status === "failed"
        ? { type: "child-refused", run, error: hostError(child.reason) }
        : { type: "child-created", run, childSessionId: child.value },
    );
  }

  async function sendPrompt(record: ForkRecord, action: ActionOf<"send-prompt">): Promise<void> {
    const { run, prompt, key, attempt } = action;
    const { childSessionId } = record;
    if (childSessionId === undefined) return;
    const accept = (messageId: string) =>
      keeper().tell(record.id, { type: "prompt-accepted", run, prompt: prompt.number, messageId });
    if (attempt > 1) {
      const stored = answered(await sessionMessages(calls, childSessionId));
      const found =
        stored.status === "ok"
          ? stored.value.find(({ parts }) => parts.some((part) => promptKeyOf(part) === key))
          : undefined;
      if (found?.info.id !== undefined) return void (await accept(found.info.id));
    }
    if (prompt.kind === "directive" && run > 1) await renewBond(record, childSessionId);
    const messageId = createMessageId(now());
    const prompted = await promptSession(calls, {
      sessionId: childSessionId,
      turn: { agent: record.agent, model: record.model, ...(await systemOf(record)) },
      messageId,
      parts: promptParts(record, action),
      reply: "wanted",
    });
    const answer = answered(prompted);
    if (answer.status === "ok") return void (await accept(messageId));
    const error = hostError(answer.reason);
    await keeper().tell(record.id, { type: "prompt-refused", run, prompt: prompt.number, error });
  }

  /** A later run is a run of the same child; its metadata must let a lost record be rebuilt. */
  async function renewBond(record: ForkRecord, childSessionId: string): Promise<void> {
    const metadata = { carryover: bondOfRecord(record) };
    const answer = await calls.call("PATCH", sessionPath(childSessionId), { metadata });
    if (answer.status === "failed")
      context.notify.log("warn", `fork ${record.number} could not note its new run`, { ...answer });
  }

  /** An exact child needs the system prompt that the parent's turn brought along, if it did. */
  async function systemOf({ inherited }: ForkRecord): Promise<Pick<TurnSettings, "system">> {
    if (inherited.way !== "exact" || inherited.snapshotId === undefined) return {};
    const view = await views.get(inherited.snapshotId);
    const system = view.status === "found" ? lastTurn(view.messages).system : undefined;
    return system === undefined ? {} : { system };
  }

  async function checkChild(record: ForkRecord, action: ActionOf<"check-child">): Promise<void> {
    const { childSessionId } = record;
    if (childSessionId === undefined) return;
    const status = await sessionStatus(calls, childSessionId);
    const messages = await sessionMessages(calls, childSessionId);
    if (status === undefined) return;
    const finding =
      messages.status === "failed"
        ? messages.code === 404
          ? ({ type: "missing" } as const)
          : undefined
        : childFinding({ messages: messages.value, status, messageId: action.messageId, key: action.key });
    if (finding !== undefined)
      await keeper().tell(record.id, { type: "child-checked", run: action.run, finding });
  }

  async function abortChild(record: ForkRecord, run: number): Promise<void> {
    const { childSessionId } = record;
    if (childSessionId === undefined) return;
    // While the host has not stopped it, it goes on: a later tick asks again.
    doneOrGone(await calls.call("POST", `${sessionPath(childSessionId)}/abort`, {}));
    const messages = doneOrGone(await sessionMessages(calls, childSessionId));
    const key = promptKey(record, { run, number: 1 });
    const last = messages.status === "ok" ? lastWords(runOf(messages.value, key)) : NO_WORDS;
    await keeper().tell(record.id, {
      type: "child-stopped",
      run,
      text: last.lastText,
      changedFiles: last.changedFiles,
    });
  }

  async function act(record: ForkRecord, action: ForkAction): Promise<void> {
    switch (action.type) {
      case "create-child":
        return createChild(record, action);
      case "send-prompt":
        return sendPrompt(record, action);
      case "look-at-status": {
        const status =
          record.childSessionId === undefined ? undefined : await sessionStatus(calls, record.childSessionId);
        if (status !== undefined) await keeper().tell(record.id, { type: "status", status });
        return;
      }
      case "check-child":
        return checkChild(record, action);
      case "abort-child":
        return abortChild(record, action.run);
      case "reject-permission": {
        const { askId, reason } = action;
        const path = `/permission/${encodeURIComponent(askId)}/reply`;
        doneOrGone(await calls.call("POST", path, { reply: "reject", message: reason }));
        return;
      }
      case "fill-slots":
        return setup.fillSlots(action.notBeforeMs);
      case "plan-delivery":
        return setup.planDelivery(action.parentSessionId);
      case "toast":
        context.notify.toast(action.text, action.tone);
        return;
      default:
        action satisfies never;
    }
  }

  return {
    perform(record, action) {
      const name = lonelyName(record, action);
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

export interface ForkActions {
  /** Returns at once; a lost action is asked for again by a later tick. */
  perform(record: ForkRecord, action: ForkAction): void;
}

export interface ForkActionsSetup {
  readonly context: PluginContext;
  readonly keeper: () => ForkKeeper;
  readonly views: ViewStore;
  readonly bonds: ForkBonds;
  readonly fillSlots: (notBeforeMs: number | undefined) => void;
  readonly planDelivery: (parentSessionId: string) => void;
}

type ActionOf<Type extends ForkAction["type"]> = Extract<ForkAction, { readonly type: Type }>;

/** What must not be done twice at the same time: on a slow machine it is asked for again before it is done. */
function lonelyName({ id }: ForkRecord, action: ForkAction): string {
  if (action.type === "create-child") return `${id} create`;
  return action.type === "send-prompt" ? action.key : "";
}

const NO_WORDS: ReturnType<typeof lastWords> = { lastText: "", changedFiles: [] };

function promptParts(
  record: ForkRecord,
  { prompt, key, run }: ActionOf<"send-prompt">,
): readonly TextInput[] {
  const metadata = { carryover: { prompt: key } };
  const isFirst = prompt.kind === "directive" && run === 1;
  const { inherited, number } = record;
  return [
    ...(isFirst ? [{ type: "text", text: humanLine({ number, ...inherited }), ignored: true } as const] : []),
    { type: "text", text: prompt.text, metadata },
  ];
}

function hostError(reason: string): ForkError {
  return { kind: "host", message: reason.slice(0, 500) };
}
