import { readTokens, type SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import type { AgentPlugin, HostSignal, ToolCall } from "../../plugin/host/agent-host.ts";
import { clipLine } from "../../text/clip.ts";
import { textOrJson } from "../../text/json.ts";
import { asArray, asNumber, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import { inTime, readError, readSession, requestTokens } from "./sessions.ts";

/** What OpenCode gives to a plugin when it loads it; only what we use is named. */
export interface PluginInput {
  readonly client: unknown;
  readonly project?: { readonly id?: string };
  readonly directory: string;
  readonly worktree: string;
}

/** The hooks of OpenCode 1.18 that we use; each changes its output in place, and a throw reaches the user. */
export interface Hooks {
  dispose?: () => Promise<void>;
  event?: (input: { readonly event: HostEvent }) => Promise<void>;
  config?: (config: HostConfig) => Promise<void>;
  tool?: Record<string, ToolDefinition>;
  "command.execute.before"?: (input: CommandInput, output: CommandOutput) => Promise<void>;
  "chat.message"?: (input: ChatMessageInput, output: ChatMessageOutput) => Promise<void>;
  "chat.params"?: (input: ChatInput, output: ChatParams) => Promise<void>;
  "chat.headers"?: (input: ChatInput, output: ChatHeaders) => Promise<void>;
  "tool.execute.before"?: (input: ToolCallInput, output: ToolArguments) => Promise<void>;
  "tool.execute.after"?: (input: ToolDoneInput, output: ToolOutput) => Promise<void>;
  "experimental.chat.messages.transform"?: (input: object, output: MessageList) => Promise<void>;
  "experimental.session.compacting"?: (input: SessionInput, output: CompactingOutput) => Promise<void>;
}

/** An event of OpenCode; the properties depend on the type. */
export interface HostEvent {
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** OpenCode's configuration while it loads; a plugin may add to it. */
interface HostConfig {
  command?: Record<string, unknown>;
  readonly [key: string]: unknown;
}

interface SessionInput {
  readonly sessionID: string;
}

interface CommandInput extends SessionInput {
  readonly command: string;
  readonly arguments: string;
}

/** The very list that is sent: another one would be ignored. */
interface CommandOutput {
  readonly parts: Record<string, unknown>[];
}

interface ChatMessageInput extends SessionInput {
  readonly agent?: string;
  readonly model?: HostModelChoice;
  readonly messageID?: string;
  readonly variant?: string;
}

interface ChatMessageOutput {
  readonly message: Readonly<Record<string, unknown>>;
  parts: Record<string, unknown>[];
}

interface ChatInput extends SessionInput {
  readonly agent: string;
  readonly model: HostModel;
  readonly provider?: unknown;
  readonly message: Readonly<Record<string, unknown>>;
}

interface ChatParams {
  options: Record<string, unknown>;
  [field: string]: unknown;
}

interface ChatHeaders {
  headers: Record<string, string>;
}

interface ToolCallInput extends SessionInput {
  readonly tool: string;
  readonly callID: string;
}

interface ToolArguments {
  args: unknown;
}

export interface ToolDoneInput extends ToolCallInput {
  readonly args: unknown;
}

export interface ToolOutput {
  title: string;
  output: string;
  metadata: unknown;
}

interface MessageList {
  messages: SessionMessage[];
}

interface CompactingOutput {
  context: string[];
  prompt?: string;
}

interface HostModelChoice {
  readonly providerID: string;
  readonly modelID: string;
}

/** A model as OpenCode describes it to a hook; `readModel` reads more of it. */
export interface HostModel {
  readonly id: string;
  readonly providerID: string;
  readonly limit?: { readonly context?: number; readonly input?: number; readonly output?: number };
  readonly cost?: unknown;
}

/** A tool for the model. OpenCode does not check the arguments. */
export interface ToolDefinition {
  readonly description: string;
  /** A zod shape: plain JSON schema would make every parameter required. */
  readonly args: Readonly<Record<string, unknown>>;
  execute(args: unknown, context: ToolContext): Promise<ToolAnswer>;
}

type ToolAnswer =
  | string
  | {
      readonly title?: string;
      readonly output: string;
      readonly metadata?: Readonly<Record<string, unknown>>;
    };

/** What OpenCode passes to a running tool. */
export interface ToolContext extends SessionInput {
  readonly messageID: string;
  readonly agent: string;
  readonly abort: AbortSignal;
  readonly callID?: string;
  /** Not in the host's types: the model of this step, with its limits and prices. */
  readonly extra?: { readonly model?: HostModel };
  /** Decides by the rules of agent and session, asks a person where they say so, and throws where it is refused. */
  ask?(input: PermissionQuestion): Promise<void>;
  metadata(input: { readonly title?: string; readonly metadata?: Readonly<Record<string, unknown>> }): void;
}

interface PermissionQuestion {
  readonly permission: string;
  /** What it is about; each must be allowed. */
  readonly patterns: readonly string[];
  /** What is allowed from then on when the person says so. */
  readonly always: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The most that a hook of ours may take: after that the agent goes on as if it had not been there. */
export const HOOK_MS = 10_000;

/**
 * A hook that never throws into the agent, where that would end the user's turn, and never holds it up: the agent has no time
 * limit of its own. `restore` puts back what a hook that failed or is late may have changed. A fork alone is stopped there:
 * its request would lack what it inherits.
 */
export function guardedHook<Given extends readonly unknown[]>(
  { name, run, restore, forkOf, limitMs = HOOK_MS }: GuardedHook<Given>,
  onFailure: (hook: string, cause: unknown) => void,
): (...given: Given) => Promise<void> {
  return async (...given) => {
    let undo: (() => void) | undefined;
    try {
      undo = restore?.(...given);
      const change = await inTime(run(...given), limitMs);
      change?.();
    } catch (cause) {
      undo?.();
      onFailure(name, cause);
      if (await isYes(forkOf?.(...given)))
        throw new Error(`The request was not sent: what this fork inherits is not in it (${String(cause)}).`);
    }
  };
}

interface GuardedHook<Given extends readonly unknown[]> {
  readonly name: string;
  /** What it gives back is done if it came in time. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook that changes something itself gives nothing
  run(...given: Given): Promise<(() => void) | undefined | void>;
  /** Remembers what was given as it is, and gives what makes it so again. */
  restore?(...given: Given): () => void;
  /** Whether it is about the request of a fork. */
  forkOf?(...given: Given): Promise<boolean>;
  readonly limitMs?: number;
}

/** The hooks as OpenCode calls them: a failure of ours stays ours. */
export function guardedHooks(hooks: DecidingHooks, onFailure: (hook: string, cause: unknown) => void): Hooks {
  const entries = Object.entries(hooks).map(([name, run]) => [
    name,
    guardedHook({ name, run: run as (...given: unknown[]) => Promise<undefined> }, onFailure),
  ]);
  return Object.fromEntries(entries) as Hooks;
}

/** The hooks, each giving back what is to be changed, if anything. */
export type DecidingHooks = {
  [Name in keyof Omit<Hooks, "tool">]: Hooks[Name] extends ((...given: infer Given) => unknown) | undefined
    ? (...given: Given) => Promise<unknown>
    : never;
};

/** Why a call must not be made. When our check fails, a person's call goes on; a fork's does not, since the check is what holds it. */
export async function refusalOf(
  readCall: () => ToolCall,
  plugin: Pick<AgentPlugin, "beforeTool" | "isFork">,
  onFailure: (cause: unknown) => void,
): Promise<string | undefined> {
  let sessionId: string | undefined;
  try {
    const call = readCall();
    sessionId = call.sessionId;
    return await inTime(plugin.beforeTool(call), HOOK_MS);
  } catch (cause) {
    onFailure(cause);
    return sessionId !== undefined && (await isYes(plugin.isFork(sessionId))) ? UNCHECKED : undefined;
  }
}

const UNCHECKED = "Not done: whether a fork may do this could not be checked. Try once more.";

async function isYes(answer: Promise<boolean> | undefined): Promise<boolean> {
  return answer === undefined ? false : inTime(answer, ANSWER_MS).catch(() => false);
}

/** How long the plugin may take to say whether a session is a fork; after that it counts as none. */
const ANSWER_MS = 1_000;

/** What an event of OpenCode means to the plugin; undefined for an event that it does not care about. */
export function readSignal({ type, properties }: HostEvent): HostSignal | undefined {
  const info = asObject(properties.info);
  switch (type) {
    case "session.created":
    case "session.updated": {
      const session = readSession(info);
      return session && { type: type === "session.created" ? "created" : "updated", session };
    }
    case "session.deleted": {
      const sessionId = asString(info.id) ?? asString(properties.sessionID);
      return sessionId === undefined ? undefined : { type: "deleted", sessionId };
    }
    case "message.updated":
      return readAnswer(info);
  }
  const sessionId = asString(properties.sessionID);
  if (sessionId === undefined) return undefined;
  switch (type) {
    case "session.idle":
      return { type: "idle", sessionId };
    case "session.status": {
      const status = asObject(properties.status).type;
      return status === "busy" || status === "retry" ? { type: status, sessionId } : undefined;
    }
    case "session.compacted":
      return { type: "compacted", sessionId };
    case "session.error": {
      const error = readError(properties.error);
      return error && { type: "failed", sessionId, error };
    }
    case "permission.asked": {
      const askId = asString(properties.id);
      const what = askText(properties.permission, properties.patterns);
      return askId === undefined ? undefined : { type: "permission-asked", sessionId, askId, what };
    }
    case "permission.replied": {
      const askId = asString(properties.requestID);
      return askId === undefined ? undefined : { type: "permission-answered", sessionId, askId };
    }
  }
  return undefined;
}

/** What is asked for: the kind, and the command or the path. */
export function askText(kind: unknown, about: unknown): string {
  const [first = ""] = asArray(about).map(textOrJson);
  return clipLine(`${asString(kind) ?? "a tool"} ${first}`, MAX_ASK_CHARS);
}

const MAX_ASK_CHARS = 80;

/** An assistant message that is complete, as the request that it answers. */
function readAnswer(info: UnknownObject): HostSignal | undefined {
  const messageId = asString(info.id);
  const sessionId = asString(info.sessionID);
  const isComplete = asNumber(asObject(info.time).completed) !== undefined;
  if (info.role !== "assistant" || !isComplete || messageId === undefined || sessionId === undefined)
    return undefined;
  return {
    type: "answer",
    sessionId,
    isFinished: info.finish !== undefined,
    request: {
      type: "request",
      messageId,
      model: `${asString(info.providerID) ?? "?"}/${asString(info.modelID) ?? "?"}`,
      ...requestTokens(readTokens(info.tokens)),
      costUSD: asNumber(info.cost) ?? 0,
      ...(info.summary === true && { summary: true }),
      ...(info.error !== undefined && { error: asString(asObject(info.error).name) ?? "error" }),
    },
  };
}
