import { fields } from "../../../formats/fields.ts";
import type { SessionPart } from "../../../formats/opencode/session-message.ts";
import type { ForkRecord } from "../../../tasks/fork-record.ts";
import type { ViewStore } from "../capture/view-store.ts";
import type { HostCalls } from "../host-calls.ts";
import { answered } from "./answered.ts";
import {
  createChildSession,
  findChildSession,
  type PermissionRule,
  permissionRulesOf,
  promptSession,
  sessionMessages,
} from "./child-session.ts";
import { bondOfRecord, type ForkBonds } from "./fork-bonds.ts";
import { createMessageId } from "./message-id.ts";

/**
 * The session of a fork's child, with what it inherits as text in it; from the second attempt on, what an earlier one left is
 * looked for. Throws where the host gave no answer, and nobody can say how far it got.
 */
export async function startChild(
  setup: StartChildSetup,
  { record, attempt }: { readonly record: ForkRecord; readonly attempt: number },
): Promise<StartedChild> {
  if (attempt > 1) {
    const place = { root: record.rootSessionId, forkId: record.id };
    const left = answered(await findChildSession(setup.calls, place));
    if (left.status === "failed") return left;
    if (left.value !== undefined) return handOnce(setup, { record, sessionId: left.value });
  }
  const made = await makeChild(setup, record);
  return made.status === "failed" ? made : hand(setup, { record, sessionId: made.value });
}

export interface StartChildSetup {
  readonly calls: HostCalls;
  readonly views: ViewStore;
  readonly bonds: ForkBonds;
  readonly now: () => number;
}

export type StartedChild =
  | { readonly status: "ok"; readonly value: string }
  | { readonly status: "failed"; readonly reason: string };

async function makeChild({ calls, bonds }: StartChildSetup, record: ForkRecord): Promise<StartedChild> {
  const rules = answered(await permissionRulesOf(calls, record.parentSessionId));
  if (rules.status === "failed") return rules;
  const bond = bondOfRecord(record);
  const permission = [...rules.value, ...CHILD_RULES];
  const title = `Fork ${record.number}: ${record.title}`;
  const made = answered(await createChildSession(calls, { bond, title, permission }));
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

async function handOnce(setup: StartChildSetup, { record, sessionId }: ChildOf): Promise<StartedChild> {
  const stored = answered(await sessionMessages(setup.calls, sessionId));
  if (stored.status === "failed") return stored;
  const isThere = stored.value.some(({ parts }) => parts.some((part) => isInherited(part, record.id)));
  return isThere ? { status: "ok", value: sessionId } : hand(setup, { record, sessionId });
}

/** Stores the inherited text of a text fork in the child's session; other forks are shown theirs. */
async function hand(
  { calls, views, now }: StartChildSetup,
  { record, sessionId }: ChildOf,
): Promise<StartedChild> {
  const { way, snapshotId } = record.inherited;
  if (way !== "text" || snapshotId === undefined) return { status: "ok", value: sessionId };
  const view = await views.get(snapshotId);
  if (view.status === "failed")
    return { status: "failed", reason: `the inherited text is gone: ${view.reason}` };
  const text = fields(view.messages[0]?.parts[0]).text;
  if (typeof text !== "string") return { status: "failed", reason: "the inherited text cannot be read" };
  const prompted = await promptSession(calls, {
    sessionId,
    turn: { agent: record.agent, model: record.model },
    messageId: createMessageId(now()),
    parts: [{ type: "text", text, synthetic: true, metadata: { carryover: { inherited: record.id } } }],
    reply: "none",
  });
  const answer = answered(prompted);
  return answer.status === "failed" ? answer : { status: "ok", value: sessionId };
}

function isInherited(part: SessionPart, forkId: string): boolean {
  return fields(fields(part.metadata).carryover).inherited === forkId;
}
