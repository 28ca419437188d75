import type { ForkAction } from "../../fork/life/events.ts";
import { forkMetadata, readForkMetadata } from "../../fork/life/rebuild-record.ts";
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
import type { NewChild } from "../host/host-parts.ts";
import type { ViewStore } from "../stores/views.ts";
import { type ChildReport, countCalls, inspectChild, lastReport, messagesOfRun } from "./child.ts";
import { humanLine } from "./inherit.ts";
import type { ForkKeeper } from "./keeper.ts";

/** Does in the agent what a fork's life asks for, and dispatches what came of it. */
interface ForkActions {
  /** Returns at once; a lost action is asked for again by a later tick. */
  perform(record: ForkRecord, action: ForkAction): void;
}

interface ForkActionsSetup {
  readonly context: PluginContext;
  readonly keeper: () => ForkKeeper;
  readonly views: ViewStore;
  readonly fillSlots: (notBeforeMs: number | undefined) => void;
  readonly planDelivery: (parentSessionId: string) => void;
}

export function createForkActions(setup: ForkActionsSetup): ForkActions {
  const { context, keeper, views } = setup;
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
    const isDirective = prompt.kind === "directive";
    if (isDirective && run > 1) await renewLink(record, childSessionId);
    const messageId = sessions.newMessageId();
    const answer = orThrowUnanswered(
      await sessions.prompt({
        sessionId: childSessionId,
        messageId,
        text: prompt.text,
        from: "user",
        note: { promptKey: key },
        ...(isDirective && run === 1 && { shownLine: humanLine({ number, ...inherited }) }),
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

  /** An exact child needs the system prompt that the parent's turn brought along, if it did. */
  async function systemOf({ inherited }: ForkRecord): Promise<Pick<TurnSettings, "system">> {
    if (inherited.way !== "exact" || inherited.snapshotId === undefined) return {};
    const view = await views.get(inherited.snapshotId);
    const system = view.status === "found" ? host.format.turnOf(view.messages).system : undefined;
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

/**
 * The session of a fork's child, with what it inherits as text in it; from the second attempt on, what an earlier one left is
 * looked for. Throws where the agent gave no answer, since it may have been done all the same.
 */
async function startChild(
  setup: ForkActionsSetup,
  { record, attempt }: ChildStart,
): Promise<HostValue<string>> {
  const { sessions } = setup.context.host;
  if (attempt > 1) {
    const children = orThrowUnanswered(await sessions.children(record.rootSessionId));
    if (children.status === "failed") return children;
    const left = children.value.find(({ note }) => readForkMetadata(note)?.id === record.id);
    if (left !== undefined) return storeInheritedTextOnce(setup, { record, sessionId: left.id });
  }
  const { rootSessionId, parentSessionId, agent, caller = agent, model } = record;
  const note = forkMetadata(record);
  const title = `Fork ${record.number}: ${record.title}`;
  const inherited = await inheritedMessages(setup, record);
  if (inherited.status === "failed") return inherited;
  const child = { rootSessionId, parentSessionId, caller, agent, model, title, note, ...inherited.value };
  const made = orThrowUnanswered(await sessions.createChild(child));
  if (made.status === "failed") return made;
  setup.context.tree.learn({ id: made.value, parentId: rootSessionId, note });
  return storeInheritedText(setup, { record, sessionId: made.value });
}

/** What the child must be given, where it cannot be shown it with each request. */
async function inheritedMessages(
  { context: { host }, views }: ForkActionsSetup,
  { inherited: { way, snapshotId } }: ForkRecord,
): Promise<HostValue<Pick<NewChild, "inherited">>> {
  if (host.can.graftRequests || way === "text" || snapshotId === undefined)
    return { status: "ok", value: {} };
  const view = await views.get(snapshotId);
  if (view.status === "failed") return refused(`the inherited messages are gone: ${view.reason}`);
  return { status: "ok", value: { inherited: view.messages } };
}

interface ChildStart {
  readonly record: ForkRecord;
  readonly attempt: number;
}

interface ChildOf {
  readonly record: ForkRecord;
  readonly sessionId: string;
}

async function storeInheritedTextOnce(setup: ForkActionsSetup, child: ChildOf): Promise<HostValue<string>> {
  const { format, sessions } = setup.context.host;
  const stored = orThrowUnanswered(await sessions.read(child.sessionId));
  if (stored.status === "failed") return stored;
  const isThere = format
    .notesIn(stored.value.messages)
    .some(({ inheritedBy }) => inheritedBy === child.record.id);
  return isThere ? { status: "ok", value: child.sessionId } : storeInheritedText(setup, child);
}

/** Stores the inherited text of a text fork in the child's session; other forks are shown theirs with each request. */
async function storeInheritedText(
  { context: { host }, views }: ForkActionsSetup,
  { record, sessionId }: ChildOf,
): Promise<HostValue<string>> {
  const { way, snapshotId } = record.inherited;
  if (way !== "text" || snapshotId === undefined) return { status: "ok", value: sessionId };
  const view = await views.get(snapshotId);
  if (view.status === "failed") return refused(`the inherited text is gone: ${view.reason}`);
  const part = host.format.decode(view.messages)[0]?.parts[0];
  if (part?.type !== "text") return refused("the inherited text cannot be read");
  const answer = orThrowUnanswered(
    await host.sessions.prompt({
      sessionId,
      messageId: host.sessions.newMessageId(),
      text: part.text,
      from: "program",
      note: { inheritedBy: record.id },
      turn: { agent: record.agent, model: record.model },
      reply: "none",
    }),
  );
  return answer.status === "failed" ? answer : { status: "ok", value: sessionId };
}

function refused(reason: string): HostValue<never> {
  return { status: "failed", code: "refused", reason };
}

/** The answer; throws where none came: it may have been done all the same, and the next attempt looks first. */
function orThrowUnanswered<Value>(answer: HostValue<Value>): HostValue<Value> {
  if (answer.status === "failed" && answer.code === "no-answer") throw new Error(answer.reason);
  return answer;
}

/** The answer; throws unless the call succeeded or its target no longer exists. */
function orThrowUnlessGone<Value>(answer: HostValue<Value>): HostValue<Value> {
  if (answer.status === "failed" && answer.code !== "missing") throw new Error(answer.reason);
  return answer;
}
