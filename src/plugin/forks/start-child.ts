import { forkMetadata, readForkMetadata } from "../../fork/life/rebuild-record.ts";
import type { ForkRecord } from "../../fork/life/record.ts";
import type { PluginContext } from "../context/context.ts";
import type { HostValue } from "../host/agent-host.ts";
import type { NewChild } from "../host/host-parts.ts";
import type { RequestStore } from "../stores/requests.ts";

/**
 * The session of a fork's child, with what it inherits as text in it; from the second attempt on, what an earlier one left is
 * looked for. Throws where the agent gave no answer, since it may have been done all the same.
 */
export async function startChild(
  setup: ChildSetup,
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
  { context: { host }, requests }: ChildSetup,
  { inherited: { mode, snapshotId } }: ForkRecord,
): Promise<HostValue<Pick<NewChild, "inherited">>> {
  if (host.can.graftRequests || mode === "text" || snapshotId === undefined)
    return { status: "ok", value: {} };
  const inheritedRequest = await requests.get(snapshotId);
  if (inheritedRequest.status === "failed")
    return refused(`the inherited messages are gone: ${inheritedRequest.reason}`);
  return { status: "ok", value: { inherited: inheritedRequest.messages } };
}

interface ChildSetup {
  readonly context: PluginContext;
  readonly requests: RequestStore;
}

interface ChildStart {
  readonly record: ForkRecord;
  readonly attempt: number;
}

interface ChildOf {
  readonly record: ForkRecord;
  readonly sessionId: string;
}

async function storeInheritedTextOnce(setup: ChildSetup, child: ChildOf): Promise<HostValue<string>> {
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
  { context: { host }, requests }: ChildSetup,
  { record, sessionId }: ChildOf,
): Promise<HostValue<string>> {
  const { mode, snapshotId } = record.inherited;
  if (mode !== "text" || snapshotId === undefined) return { status: "ok", value: sessionId };
  const inheritedRequest = await requests.get(snapshotId);
  if (inheritedRequest.status === "failed")
    return refused(`the inherited text is gone: ${inheritedRequest.reason}`);
  const part = host.format.decode(inheritedRequest.messages)[0]?.parts[0];
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
export function orThrowUnanswered<Value>(answer: HostValue<Value>): HostValue<Value> {
  if (answer.status === "failed" && answer.code === "no-answer") throw new Error(answer.reason);
  return answer;
}
