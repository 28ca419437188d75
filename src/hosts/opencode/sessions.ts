import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ForkModel } from "../../fork/life/record.ts";
import type { SessionMessage } from "../../formats/wires/opencode/session-message.ts";
import { type ForkLink, readForkLink } from "../../plugin/forks/links.ts";
import { asObject, asString } from "../../text/json.ts";
import { type HostAnswer, type HostCalls, sessionPath } from "./calls.ts";

/** Makes a session under the root: the host hides permission asks of anything deeper. */
export async function createChildSession(calls: HostCalls, child: NewChild): Promise<HostValue<string>> {
  const { bond, title, permission } = child;
  const answer = await calls.call("POST", "/session", {
    parentID: bond.root,
    title,
    permission,
    metadata: { carryover: bond },
  });
  if (answer.status === "failed") return answer;
  const id = asString(asObject(answer.body).id);
  return id === undefined
    ? { status: "failed", code: "no-answer", reason: "the host named no session" }
    : { status: "ok", value: id };
}

interface NewChild {
  readonly bond: ForkLink;
  readonly title: string;
  readonly permission: readonly PermissionRule[];
}

export interface PermissionRule {
  readonly permission: string;
  readonly pattern: string;
  readonly action: "allow" | "deny" | "ask";
}

export type HostValue<Value> =
  | { readonly status: "ok"; readonly value: Value }
  | Extract<HostAnswer, { readonly status: "failed" }>;

/** The child session of a fork that the host may have made without our knowing. */
export async function findChildSession(
  calls: HostCalls,
  { root, forkId }: { readonly root: string; readonly forkId: string },
): Promise<HostValue<string | undefined>> {
  const answer = await calls.call("GET", `${sessionPath(root)}/children`);
  if (answer.status === "failed") return answer;
  const children = Array.isArray(answer.body) ? answer.body.map(asObject) : [];
  const found = children.find((session) => readForkLink(session)?.id === forkId);
  return { status: "ok", value: asString(found?.id) };
}

/** The permission rules of a session: a child gets those of its parent. */
export async function permissionRulesOf(
  calls: HostCalls,
  sessionId: string,
): Promise<HostValue<readonly PermissionRule[]>> {
  const answer = await calls.call("GET", sessionPath(sessionId));
  if (answer.status === "failed") return answer;
  const { permission } = asObject(answer.body);
  return { status: "ok", value: Array.isArray(permission) ? (permission as readonly PermissionRule[]) : [] };
}

export async function sessionMessages(
  calls: HostCalls,
  sessionId: string,
): Promise<HostValue<readonly SessionMessage[]>> {
  const answer = await calls.call("GET", `${sessionPath(sessionId)}/message`);
  if (answer.status === "failed") return answer;
  return {
    status: "ok",
    value: Array.isArray(answer.body) ? (answer.body as readonly SessionMessage[]) : [],
  };
}

/** What a session is doing; the host lists only those that are not idle. */
export async function sessionStatus(
  calls: HostCalls,
  sessionId: string,
): Promise<"busy" | "retry" | "idle" | undefined> {
  const answer = await calls.call("GET", "/session/status");
  if (answer.status === "failed") return undefined;
  const type = asObject(asObject(answer.body)[sessionId]).type;
  return type === "busy" || type === "retry" ? type : "idle";
}

/**
 * Sends a message to a session with the agent, model and variant given, so that nothing switches under anybody. Resolves
 * once the message is stored: the host takes a prompt before it has written it down.
 */
export async function promptSession(calls: HostCalls, prompt: SessionPrompt): Promise<HostAnswer> {
  const { sessionId, turn, messageId, parts, reply } = prompt;
  const path = sessionPath(sessionId);
  const body = {
    messageID: messageId,
    ...(turn.agent === undefined ? {} : { agent: turn.agent }),
    ...(turn.model === undefined
      ? {}
      : { model: { providerID: turn.model.providerId, modelID: turn.model.modelId } }),
    ...(turn.model?.variant === undefined ? {} : { variant: turn.model.variant }),
    ...(turn.system === undefined ? {} : { system: turn.system }),
    parts,
  };
  if (reply === "none") return calls.call("POST", `${path}/message`, { ...body, noReply: true });
  const answer = await calls.call("POST", `${path}/prompt_async`, body);
  if (answer.status === "failed") return answer;
  for (let look = 0; look < STORED_LOOKS; look++) {
    const stored = await calls.call("GET", `${path}/message/${messageId}`);
    if (stored.status === "ok") return answer;
    await sleep(STORED_LOOK_MS);
  }
  return { status: "failed", code: "no-answer", reason: "the host took the prompt and did not store it" };
}

const STORED_LOOKS = 60;
const STORED_LOOK_MS = 250;

interface SessionPrompt {
  readonly sessionId: string;
  readonly turn: TurnSettings;
  readonly messageId: string;
  readonly parts: readonly TextInput[];
  /** `none` stores the message and asks nobody. */
  readonly reply: "wanted" | "none";
}

/** What a user turn of the host fixes for the answer. */
export interface TurnSettings {
  readonly agent?: string;
  readonly model?: ForkModel;
  readonly system?: string;
}

export interface TextInput {
  readonly type: "text";
  readonly text: string;
  /** Written by a program; sent to the model. */
  readonly synthetic?: true;
  /** For people only; never sent. */
  readonly ignored?: true;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The settings of the newest user turn among some messages. */
export function lastTurn(messages: readonly SessionMessage[]): TurnSettings {
  const info = asObject(messages.findLast(({ info }) => info.role === "user")?.info);
  const model = asObject(info.model);
  const providerId = asString(model.providerID);
  const modelId = asString(model.modelID);
  const variant = asString(model.variant) ?? asString(info.variant);
  const agent = asString(info.agent);
  const system = asString(info.system);
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(providerId === undefined || modelId === undefined
      ? {}
      : { model: { providerId, modelId, ...(variant === undefined ? {} : { variant }) } }),
    ...(system === undefined ? {} : { system }),
  };
}

/** A new message id in the host's own form, which sorts by time: with it we know the name of a message before the host stores it. */
export function createMessageId(nowMs: number): string {
  counter = nowMs === lastMs ? counter + 1 : 1;
  lastMs = nowMs;
  const time = (BigInt(nowMs) * 0x1000n + BigInt(counter)) & 0xffff_ffff_ffffn;
  return `msg_${time.toString(16).padStart(12, "0")}${randomText(14)}`;
}

let lastMs = 0;
let counter = 0;

function randomText(length: number): string {
  return Array.from(randomBytes(length), (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
