import type { AgentPlace } from "../../agents/places.ts";
import type { PiEntry } from "../../formats/files/pi/branch.ts";
import type { AgentHost } from "../../plugin/host/agent-host.ts";
import type { UnknownObject } from "../../text/unknown-value.ts";

/** What we use of pi's extension interface, as of 1.5.0. */
export interface PiApi {
  on<Event extends keyof PiEvents>(event: Event, handler: PiHandler<PiEvents[Event]>): unknown;
  registerTool(tool: UnknownObject & { execute(...call: PiCall): Promise<object> }): void;
  registerCommand(name: string, command: { description: string; handler: PiHandler<string> }): void;
  /** A message written by the extension, which the model reads as the user's. */
  sendMessage(message: object, options: { readonly triggerTurn: boolean; readonly deliverAs: "steer" }): void;
  sendUserMessage(text: string, options: { readonly deliverAs: "followUp" }): void;
  getActiveTools(): readonly string[];
  setActiveTools(names: readonly string[]): void;
  getThinkingLevel(): string;
  getSettings(): unknown;
}

export type PiHandler<Event> = (event: Event, ctx: PiContext) => Promise<unknown>;

type PiCall = [id: string, args: unknown, signal: AbortSignal | undefined, onUpdate: unknown, ctx: PiContext];

export interface PiContext {
  /** A person can be asked: in the terminal, and over RPC. */
  readonly hasUI: boolean;
  readonly model: PiModel | undefined;
  readonly modelRegistry: {
    complete(model: PiModel, context: UnknownObject, options: UnknownObject): Promise<unknown>;
  };
  readonly sessionManager: {
    getSessionId(): string;
    getSessionFile(): string | undefined;
    /** From the root to the newest entry. */
    getBranch(): readonly PiEntry[];
  };
  readonly ui: {
    notify(text: string, tone: "info" | "warning" | "error"): void;
    setStatus(key: string, text: string | undefined): void;
    setWidget(key: string, lines: readonly string[] | undefined): void;
  };
  isIdle(): boolean;
  abort(): void;
}

export interface PiModel {
  readonly id: string;
  readonly provider: string;
  readonly contextWindow: number;
  readonly maxTokens: number;
  /** What the model takes that others do not. */
  readonly compat?: unknown;
  /** For a million tokens. */
  readonly cost?: { readonly input: number; readonly cacheRead: number; readonly cacheWrite: number };
}

export interface PiEvents {
  session_start: unknown;
  session_shutdown: unknown;
  agent_start: unknown;
  agent_settled: { readonly aborted: boolean };
  before_agent_start: { readonly messageType: string; readonly message?: { readonly customType: string } };
  /** What is sent, system messages included, which stay where they are. */
  context_with_system: { readonly messages: readonly UnknownObject[] };
  /** The last moment at which entries are taken, and one more request can be asked for. */
  agent_before_settle: { readonly entries: readonly object[] };
  message_end: { readonly message: UnknownObject };
  /** With the entries that others want appended. */
  turn_end: { readonly entries: readonly object[] };
  tool_call: { readonly toolName: string; readonly toolCallId: string; readonly input: unknown };
  tool_result: {
    readonly toolName: string;
    readonly toolCallId: string;
    /** Set where another tool made the call, which reads the output itself. */
    readonly parentToolCallId?: string;
    readonly content: readonly unknown[];
    readonly details: unknown;
    readonly structuredContent?: unknown;
  };
  session_before_compact: {
    readonly preparation: { readonly tokensBefore: number };
    readonly customInstructions?: string;
    readonly signal: AbortSignal;
  };
  session_compact: unknown;
}

export interface PiHostSetup extends AgentPlace {
  readonly api: PiApi;
  readonly log: AgentHost["log"];
  /** Of the newest event; undefined before the first. */
  readonly current: () => PiContext | undefined;
}
