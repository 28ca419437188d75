import type { ForkAction } from "../../fork/life/events.ts";
import { type ForkError, type ForkRecord, promptKey } from "../../fork/life/record.ts";
import type { SessionPart } from "../../formats/wires/opencode/session-message.ts";
import { type HostAnswer, type HostCalls, sessionPath } from "../../hosts/opencode/calls.ts";
import {
  createChildSession,
  createMessageId,
  findChildSession,
  type HostValue,
  lastTurn,
  type PermissionRule,
  permissionRulesOf,
  promptSession,
  sessionMessages,
  sessionStatus,
  type TextInput,
  type TurnSettings,
} from "../../hosts/opencode/sessions.ts";
import { asObject } from "../../text/json.ts";
import type { PluginContext } from "../context/context.ts";
import type { ViewStore } from "../stores/views.ts";
import { inspectChild, lastReport, promptKeyOf, runOf } from "./child-report.ts";
import { humanLine } from "./inherit.ts";
import type { ForkKeeper } from "./keeper.ts";
import { type ForkLinks, forkLinkOf } from "./links.ts";

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
      const stored = orThrowUnanswered(await sessionMessages(calls, childSessionId));
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
    const answer = orThrowUnanswered(prompted);
    if (answer.status === "ok") return void (await accept(messageId));
    const error = hostError(answer.reason);
    await keeper().tell(record.id, { type: "prompt-refused", run, prompt: prompt.number, error });
  }

  /** A later run is a run of the same child; its metadata must let a lost record be rebuilt. */
  async function renewBond(record: ForkRecord, childSessionId: string): Promise<void> {
    const metadata = { carryover: forkLinkOf(record) };
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
        : inspectChild({ messages: messages.value, status, messageId: action.messageId, key: action.key });
    if (finding !== undefined)
      await keeper().tell(record.id, { type: "child-checked", run: action.run, finding });
  }

  async function abortChild(record: ForkRecord, run: number): Promise<void> {
    const { childSessionId } = record;
    if (childSessionId === undefined) return;
    // While the host has not stopped it, it goes on: a later tick asks again.
    orThrowUnlessGone(await calls.call("POST", `${sessionPath(childSessionId)}/abort`, {}));
    const messages = orThrowUnlessGone(await sessionMessages(calls, childSessionId));
    const key = promptKey(record, { run, number: 1 });
    const last = messages.status === "ok" ? lastReport(runOf(messages.value, key)) : NO_REPORT;
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
        orThrowUnlessGone(await calls.call("POST", path, { reply: "reject", message: reason }));
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

interface ForkActions {
  /** Returns at once; a lost action is asked for again by a later tick. */
  perform(record: ForkRecord, action: ForkAction): void;
}

interface ForkActionsSetup {
  readonly context: PluginContext;
  readonly keeper: () => ForkKeeper;
  readonly views: ViewStore;
  readonly bonds: ForkLinks;
  readonly fillSlots: (notBeforeMs: number | undefined) => void;
  readonly planDelivery: (parentSessionId: string) => void;
}

type ActionOf<Type extends ForkAction["type"]> = Extract<ForkAction, { readonly type: Type }>;

/** What must not be done twice at the same time: on a slow machine it is asked for again before it is done. */
function singleFlightKey({ id }: ForkRecord, action: ForkAction): string {
  if (action.type === "create-child") return `${id} create`;
  return action.type === "send-prompt" ? action.key : "";
}

const NO_REPORT: ReturnType<typeof lastReport> = { lastText: "", changedFiles: [] };

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

/**
 * The session of a fork's child, with what it inherits as text in it; from the second attempt on, what an earlier one left is
 * looked for. Throws where the host gave no answer, and nobody can say how far it got.
 */
async function startChild(
  setup: StartChildSetup,
  { record, attempt }: { readonly record: ForkRecord; readonly attempt: number },
): Promise<StartedChild> {
  if (attempt > 1) {
    const place = { root: record.rootSessionId, forkId: record.id };
    const left = orThrowUnanswered(await findChildSession(setup.calls, place));
    if (left.status === "failed") return left;
    if (left.value !== undefined) return storeInheritedTextOnce(setup, { record, sessionId: left.value });
  }
  const made = await makeChild(setup, record);
  return made.status === "failed" ? made : storeInheritedText(setup, { record, sessionId: made.value });
}

interface StartChildSetup {
  readonly calls: HostCalls;
  readonly views: ViewStore;
  readonly bonds: ForkLinks;
  readonly now: () => number;
}

type StartedChild =
  | { readonly status: "ok"; readonly value: string }
  | { readonly status: "failed"; readonly reason: string };

async function makeChild({ calls, bonds }: StartChildSetup, record: ForkRecord): Promise<StartedChild> {
  const rules = orThrowUnanswered(await permissionRulesOf(calls, record.parentSessionId));
  if (rules.status === "failed") return rules;
  const bond = forkLinkOf(record);
  const permission = [...rules.value, ...CHILD_RULES];
  const title = `Fork ${record.number}: ${record.title}`;
  const made = orThrowUnanswered(await createChildSession(calls, { bond, title, permission }));
  if (made.status === "ok") bonds.tie(made.value, bond);
  return made;
}

/** Refused at execution: hiding a tool would change the request, and with it lose the provider's cached prefix. */
const CHILD_RULES: readonly PermissionRule[] = [
  { permission: "question", pattern: "**", action: "deny" },
  { permission: "task", pattern: "**", action: "deny" },
];

interface ChildOf {
  readonly record: ForkRecord;
  readonly sessionId: string;
}

async function storeInheritedTextOnce(
  setup: StartChildSetup,
  { record, sessionId }: ChildOf,
): Promise<StartedChild> {
  const stored = orThrowUnanswered(await sessionMessages(setup.calls, sessionId));
  if (stored.status === "failed") return stored;
  const isThere = stored.value.some(({ parts }) => parts.some((part) => isInherited(part, record.id)));
  return isThere ? { status: "ok", value: sessionId } : storeInheritedText(setup, { record, sessionId });
}

/** Stores the inherited text of a text fork in the child's session; other forks are shown theirs. */
async function storeInheritedText(
  { calls, views, now }: StartChildSetup,
  { record, sessionId }: ChildOf,
): Promise<StartedChild> {
  const { way, snapshotId } = record.inherited;
  if (way !== "text" || snapshotId === undefined) return { status: "ok", value: sessionId };
  const view = await views.get(snapshotId);
  if (view.status === "failed")
    return { status: "failed", reason: `the inherited text is gone: ${view.reason}` };
  const text = asObject(view.messages[0]?.parts[0]).text;
  if (typeof text !== "string") return { status: "failed", reason: "the inherited text cannot be read" };
  const prompted = await promptSession(calls, {
    sessionId,
    turn: { agent: record.agent, model: record.model },
    messageId: createMessageId(now()),
    parts: [{ type: "text", text, synthetic: true, metadata: { carryover: { inherited: record.id } } }],
    reply: "none",
  });
  const answer = orThrowUnanswered(prompted);
  return answer.status === "failed" ? answer : { status: "ok", value: sessionId };
}

function isInherited(part: SessionPart, forkId: string): boolean {
  return asObject(asObject(part.metadata).carryover).inherited === forkId;
}

/** The answer; throws where none came: it may have been done all the same, and the next attempt looks first. */
function orThrowUnanswered<Answer extends HostAnswer | HostValue<unknown>>(answer: Answer): Answer {
  if (answer.status === "failed" && answer.code === "no-answer") throw new Error(answer.reason);
  return answer;
}

/** The answer; throws unless it was done, or there is nothing any more that it could be done to. */
function orThrowUnlessGone<Answer extends HostAnswer | HostValue<unknown>>(answer: Answer): Answer {
  if (answer.status === "failed" && answer.code !== 404) throw new Error(answer.reason);
  return answer;
}
