import { fields } from "../../../formats/fields.ts";
import type { ForkAction } from "../../../tasks/fork-action.ts";
import { forkMetadata } from "../../../tasks/fork-metadata.ts";
import { type ForkError, type ForkRecord, promptKey } from "../../../tasks/fork-record.ts";
import type { ViewStore } from "../capture/view-store.ts";
import type { PluginContext } from "../plugin-context.ts";
import { childFinding, lastWords, promptKeyOf, runOf } from "./child-finding.ts";
import {
  createChildSession,
  findChildSession,
  lastTurn,
  type PermissionRule,
  permissionRulesOf,
  promptSession,
  sessionMessages,
  sessionStatus,
  type TextInput,
  type TurnSettings,
} from "./child-session.ts";
import { humanLine } from "./directive.ts";
import type { ForkBond, ForkBonds } from "./fork-bonds.ts";
import type { ForkKeeper } from "./fork-keeper.ts";
import { createMessageId } from "./message-id.ts";

/** Does in the host what a fork's life asks for, and tells the keeper what came of it. */
export function createForkActions(setup: ForkActionsSetup): ForkActions {
  const { context, keeper, views, bonds } = setup;
  const { calls, now } = context;

  async function createChild(record: ForkRecord, action: ActionOf<"create-child">): Promise<void> {
    const { run } = action;
    const refuse = (answer: { readonly reason: string }) =>
      keeper().tell(record.id, { type: "child-refused", run, error: hostError(answer.reason) });
    if (action.attempt > 1) {
      const found = await findChildSession(calls, { root: record.rootSessionId, forkId: record.id });
      if (found.status === "ok" && found.value !== undefined) {
        return childIsThere(record, run, found.value);
      }
    }
    const bond: ForkBond = { ...forkMetadata(record), way: record.inherited.way };
    const permission = [...(await permissionRulesOf(calls, record.parentSessionId)), ...CHILD_RULES];
    const title = `Fork ${record.number}: ${record.title}`;
    const made = await createChildSession(calls, { bond, title, permission });
    if (made.status === "failed") return void (await refuse(made));
    bonds.tie(made.value, bond);
    const failure = await hand(record, made.value);
    if (failure !== undefined) return void (await refuse({ reason: failure }));
    await childIsThere(record, run, made.value);
  }

  async function childIsThere(record: ForkRecord, run: number, childSessionId: string): Promise<void> {
    await keeper().tell(record.id, { type: "child-created", run, childSessionId });
  }

  /** Stores the inherited text of a text fork in the child's session; says why it could not. */
  async function hand(record: ForkRecord, childSessionId: string): Promise<string | undefined> {
    const { way, snapshotId } = record.inherited;
    if (way !== "text" || snapshotId === undefined) return undefined;
    const view = await views.get(snapshotId);
    if (view.status === "failed") return `the inherited text is gone: ${view.reason}`;
    const text = fields(view.messages[0]?.parts[0]).text;
    if (typeof text !== "string") return "the inherited text cannot be read";
    const answer = await promptSession(calls, {
      sessionId: childSessionId,
      turn: { agent: record.agent, model: record.model },
      messageId: createMessageId(now()),
      parts: [{ type: "text", text, synthetic: true, metadata: { carryover: { inherited: record.id } } }],
      reply: "none",
    });
    return answer.status === "failed" ? answer.reason : undefined;
  }

  async function sendPrompt(record: ForkRecord, action: ActionOf<"send-prompt">): Promise<void> {
    const { run, prompt, key, attempt } = action;
    const { childSessionId } = record;
    if (childSessionId === undefined) return;
    const accept = (messageId: string) =>
      keeper().tell(record.id, { type: "prompt-accepted", run, prompt: prompt.number, messageId });
    if (attempt > 1) {
      const stored = await sessionMessages(calls, childSessionId);
      const found =
        stored.status === "ok"
          ? stored.value.find(({ parts }) => parts.some((part) => promptKeyOf(part) === key))
          : undefined;
      if (found?.info.id !== undefined) return void (await accept(found.info.id));
    }
    // A later run is a run of the same child; its metadata must let a lost record be rebuilt.
    if (prompt.kind === "directive" && run > 1) {
      const carryover: ForkBond = { ...forkMetadata(record), way: record.inherited.way };
      await calls.call("PATCH", `/session/${encodeURIComponent(childSessionId)}`, {
        metadata: { carryover },
      });
    }
    const messageId = createMessageId(now());
    const answer = await promptSession(calls, {
      sessionId: childSessionId,
      turn: { agent: record.agent, model: record.model, ...(await systemOf(record)) },
      messageId,
      parts: promptParts(record, action),
      reply: "wanted",
    });
    if (answer.status === "ok") return void (await accept(messageId));
    const error = hostError(answer.reason);
    await keeper().tell(record.id, { type: "prompt-refused", run, prompt: prompt.number, error });
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
    await calls.call("POST", `/session/${encodeURIComponent(childSessionId)}/abort`, {});
    const messages = await sessionMessages(calls, childSessionId);
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
        await calls.call("POST", `/permission/${encodeURIComponent(askId)}/reply`, {
          reply: "reject",
          message: reason,
        });
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
      act(record, action).catch((cause: unknown) => {
        context.notify.log("error", `${action.type} of fork ${record.number} failed`, {
          cause: String(cause),
        });
      });
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

const NO_WORDS: ReturnType<typeof lastWords> = { lastText: "", changedFiles: [] };

/** Refused at execution: hiding a tool would change the request, and with it lose the provider's cached prefix. */
const CHILD_RULES: readonly PermissionRule[] = [
  { permission: "question", pattern: "**", action: "deny" },
  { permission: "task", pattern: "**", action: "deny" },
];

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
