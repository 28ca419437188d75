import { guardedHook } from "../../agents/guarded-hook.ts";
import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";

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
