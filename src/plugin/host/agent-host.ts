import type { ForbiddenTools } from "../../fork/life/child-rules.ts";
import type { ForkError, ForkModel } from "../../fork/life/record.ts";
import type { Cut } from "../../text/truncate.ts";
import type { ApplyOptions, Edit } from "../../transcript/edit.ts";
import type { ModelRef, Transcript } from "../../transcript/message.ts";
import type {
  AskingAgent,
  CompactedWindow,
  CompactionMoment,
  HostAbilities,
  HostAgent,
  HostCheckpoints,
  HostScreen,
  LimitedChild,
  ModelFacts,
  NewChild,
  RequestEntry,
  StartAnswer,
} from "./host-parts.ts";

/**
 * Port: the coding agent that the plugin runs in. The plugin knows nothing else of it: an adapter in `hosts/` implements
 * this interface and calls the handlers of `AgentPlugin`. No method throws; what can go wrong is a `HostValue`, and no call
 * takes longer than `HOST_CALL_MS`.
 */
export interface AgentHost {
  /** The folder that the agent works in. */
  readonly directory: string;
  /** Names the project in the stores. Forks of different projects, or of different agents in one project, never meet. */
  readonly project: string;
  /** Headless: nobody is there to answer a permission ask. */
  readonly attendance: "attended" | "headless";
  /** Folders beside whose packages an optional dependency may be installed. */
  readonly packageFolders: readonly string[];
  readonly can: HostAbilities;
  readonly format: HostFormat;
  readonly sessions: HostSessions;
  readonly tools: HostTools;
  readonly screen: HostScreen;
  /** The agents that there are, as they are to the one that asks; nobody is asked for a permission. */
  agents(asking: AskingAgent): Promise<HostValue<readonly HostAgent[]>>;
  /** Writes a line to the agent's log. Returns at once. */
  log(level: LogLevel, message: string, extra?: Readonly<Record<string, unknown>>): void;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

/** What no call of the agent takes longer than: what it has not done by then it will not do. */
export const HOST_CALL_MS = 120_000;

/** A message in the agent's own shape. Only the adapter's `HostFormat` looks into it. */
export type HostMessage = object;

/** The agent's own messages, read and written. Pure. */
export interface HostFormat {
  decode(messages: readonly HostMessage[]): Transcript;
  /** The messages with the edits in them; the same list when nothing changed. */
  apply(
    messages: readonly HostMessage[],
    edits: readonly Edit[],
    options: ApplyOptions,
  ): readonly HostMessage[];
  /** What the plugin noted on messages, in their order. */
  notesIn(messages: readonly HostMessage[]): readonly MessageNote[];
  /** Agent, model and system prompt of the newest user turn. */
  turnOf(messages: readonly HostMessage[]): TurnSettings;
  /** The messages without fork results that were added to tool outputs; the same messages where there are none. */
  withoutResults(messages: readonly HostMessage[]): readonly HostMessage[];
  /** A copy deep enough that changing it in place, as other plugins do, leaves the original alone. */
  copy(message: HostMessage): HostMessage;
  /** A user message that holds one text; with a place, as if it were stored there by a program. */
  textMessage(text: string, place?: { readonly sessionId: string; readonly id: string }): HostMessage;
  /** Unset where the agent takes no summary from a plugin. */
  readonly checkpoints?: HostCheckpoints;
}

/** A note that the plugin left on a message or one of its parts. */
export interface MessageNote {
  /** The message's place in the list. */
  readonly index: number;
  readonly messageId: string | undefined;
  /** The key of the prompt that the message is. */
  readonly promptKey?: string;
  /** The fork whose inherited text the message is. */
  readonly inheritedBy?: string;
  /** The handle under which the whole of a trimmed tool output is kept. */
  readonly handle?: string;
}

/** What a user turn fixes for the answer. */
export interface TurnSettings {
  readonly agent?: string;
  readonly model?: ForkModel;
  readonly system?: string;
}

/** The sessions of the agent. */
export interface HostSessions {
  get(sessionId: string): Promise<HostValue<SessionFacts>>;
  /** The sessions that were used since then. */
  list(since: { readonly sinceMs: number }): Promise<HostValue<readonly SessionFacts[]>>;
  /** The sessions right below another one. */
  children(sessionId: string): Promise<HostValue<readonly SessionFacts[]>>;
  /** Everything that is stored of a session. */
  read(sessionId: string): Promise<HostValue<StoredSession>>;
  /** What a session is doing; undefined where the agent did not say. */
  status(sessionId: string): Promise<SessionStatus | undefined>;
  /**
   * Makes a session for a child and gives its id. It may do at most what the agent that asks for it may there, and what the
   * child's own agent may as a sub-agent, and nothing of `forbiddenToForks`.
   */
  createChild(child: NewChild): Promise<HostValue<string>>;
  /** From now on the child may also do at most what this agent may; nothing is ever given back. */
  limitChild(child: LimitedChild): Promise<HostValue<void>>;
  /** Whether the rules of a child's session forbid a call that the agent itself would not refuse, though its tool is declared. */
  isForbidden(call: Pick<ToolCall, "sessionId" | "tool" | "input">): Promise<HostValue<boolean>>;
  /** Whether the model of a session is offered one of the plugin's tools; true where the agent does not say. */
  hasTool(sessionId: string, tool: string): Promise<boolean>;
  /** Replaces the note of a session. */
  setNote(sessionId: string, note: unknown): Promise<HostValue<void>>;
  /** A new id for a message, so that it is known before the agent stores it; where it `deliversOnce`, the same for the same key and time. */
  newMessageId(from?: { readonly key: string; readonly atMs: number }): string;
  /** Sends a message and resolves once it is stored. Refused as `reverted` where it would delete what the user may restore. */
  prompt(prompt: HostPrompt): Promise<HostValue<void>>;
  /** Stops what a session is doing. */
  stop(sessionId: string): Promise<HostValue<void>>;
  /** Rejects a permission ask; the model reads the reason. */
  rejectAsk(ask: { readonly askId: string; readonly reason: string }): Promise<HostValue<void>>;
}

/** `missing`: there is no such thing. `no-answer`: it may have been done all the same. `reverted`: see `revertedFrom`. */
export type HostValue<Value> =
  | { readonly status: "ok"; readonly value: Value }
  | {
      readonly status: "failed";
      readonly code: "missing" | "refused" | "no-answer" | "reverted";
      readonly reason: string;
    };

export type SessionStatus = "busy" | "retry" | "idle";

/** What the agent says of a session. */
export interface SessionFacts {
  readonly id: string;
  readonly parentId?: string;
  readonly title: string;
  readonly agent: string;
  readonly model?: ModelRef;
  readonly createdAtMs?: number;
  readonly updatedAtMs?: number;
  readonly costUSD: number;
  /** All tokens of all its requests. */
  readonly tokens: number;
  /** The user has taken back everything from this message on and may restore it; the next message deletes it for good. */
  readonly revertedFrom?: string;
  /** The user has put it away. */
  readonly isArchived?: true;
  /** What the plugin stored with the session; unset for a session that is not the plugin's. */
  readonly note?: unknown;
}

/** What is stored of a session. */
export interface StoredSession {
  /** What stands of the conversation. */
  readonly messages: readonly HostMessage[];
  /** What the user has taken back and may restore; unset where nothing is. */
  readonly undone?: readonly HostMessage[];
  /** The error with which the newest answer ended. */
  readonly lastError?: ForkError;
  /** The agent shows only what it would send now: neither what its summary stands for nor the answer that is being made. */
  readonly isPartial?: true;
}

/** A message of the plugin to a session. */
export interface HostPrompt {
  readonly sessionId: string;
  readonly messageId: string;
  readonly text: string;
  /** Program: written by the plugin, though the model reads it as the user's. */
  readonly from: "user" | "program";
  /** What `notesIn` finds on it; without a key it is only marked as the plugin's own. */
  readonly note: { readonly promptKey?: string; readonly inheritedBy?: string };
  /** A line for people above the message; never sent to the model. */
  readonly shownLine?: string;
  /** With which settings; `last-user-turn` takes those of the newest turn that a person began. */
  readonly turn: TurnSettings | "last-user-turn";
  /** None: the message is stored without asking the model. */
  readonly reply: "wanted" | "none";
  /** What the answer may cost, for an agent that holds a budget itself; unset for a message that costs nothing here. */
  readonly maxUSD?: number;
}

/** What the agent's own tools mean. */
export interface HostTools {
  /** The agent's own tools that a child must not use. */
  readonly forbiddenToForks: ForbiddenTools;
  /** The files that a call writes, as the call names them. */
  writtenFiles(tool: string, input: unknown): readonly string[];
}

/** Something that happened in the agent. */
export type HostSignal =
  /** The agent takes calls from now on; told once. */
  | { readonly type: "ready" }
  | { readonly type: SessionStatus; readonly sessionId: string }
  /** A turn ended with an error; of kind `aborted` when the user stopped it. */
  | { readonly type: "failed"; readonly sessionId: string; readonly error: ForkError }
  | { readonly type: "created" | "updated"; readonly session: SessionFacts }
  | { readonly type: "deleted"; readonly sessionId: string }
  /** A request is about to be sent to the model. */
  | { readonly type: "request"; readonly sessionId: string; readonly model: ModelFacts }
  /** A request was answered; may be told more than once. */
  | {
      readonly type: "answer";
      readonly sessionId: string;
      readonly isFinished: boolean;
      readonly request: RequestEntry;
    }
  /** `what` is for people, in a few words. */
  | {
      readonly type: "permission-asked";
      readonly sessionId: string;
      readonly askId: string;
      readonly what?: string;
    }
  | { readonly type: "permission-answered"; readonly sessionId: string; readonly askId: string }
  | { readonly type: "compacted"; readonly sessionId: string };

/** The messages of a request right before they are sent. */
export interface OutgoingRequest {
  readonly sessionId: string;
  /** The very list that the agent sends: other plugins change it in place after us, so it is kept by reference. */
  readonly messages: HostMessage[];
  readonly model: ModelRef;
  /** When the model last finished an answer. */
  readonly lastAnswerAtMs?: number;
  /**
   * What a request has beside its messages, where the agent shows it: such as its system prompt and tools. Only the
   * adapter looks into it; it is stored with a request, and set for a child that is to send the same.
   */
  promptHead?: unknown;
  /**
   * Names the system prompt and the tools that the model is sent: another name where they are not those of the request before.
   * Unset where the agent does not show them.
   */
  readonly head?: string;
}

/** The messages to send, and the prompt head to send them with. */
interface MessagesWithHead {
  readonly messages: readonly HostMessage[];
  readonly promptHead: unknown;
}

export interface ToolCall {
  readonly sessionId: string;
  readonly callId: string;
  readonly tool: string;
  readonly input: unknown;
}

/** A tool output before the model reads it. */
export interface FinishedTool {
  readonly sessionId: string;
  readonly callId: string;
  readonly tool: string;
  /** What the model would read now; undefined for an output that is no text. */
  readonly text: string | undefined;
  /** What the tool really said, also where the agent has cut it already. */
  whole(): Promise<WholeOutput>;
  /** How much longer than the text the output may become by what is said about it; 400 where unset. */
  readonly noticeChars?: number;
  /** The most bytes that the agent takes in its place; unset for any number. */
  readonly maxBytes?: number;
}

/** A tool output before anybody cut it. */
export interface WholeOutput {
  readonly text: string;
  /** Where the agent keeps it, if it does: a file that the model may read without asking. */
  readonly path?: string;
}

/** What becomes of a tool output. */
export type ToolOutputChange =
  | { readonly type: "replace"; readonly text: string; readonly saved?: SavedOutput }
  /** Fork results behind the output; `withoutResults` takes them out again. */
  | { readonly type: "append"; readonly text: string };

/** Stored with an output that was trimmed: `notesIn` finds its handle, `decode` reads its cut. */
interface SavedOutput {
  /** Under which the whole of it is kept; undefined where it could not be. */
  readonly handle: string | undefined;
  /** The limit that it was trimmed by. */
  readonly by: unknown;
  readonly cut?: Cut;
}

/** A message on its way into a session. */
interface UserMessage {
  readonly sessionId: string;
  readonly messageId: string | undefined;
  /** Plugin: it came from `sessions.prompt`. */
  readonly from: "user" | "plugin";
}

/** What the plugin decides at each moment of the agent. A handler changes nothing itself, so one that fails has no effect. */
export interface Handlers {
  onSignal(signal: HostSignal): Promise<void>;
  /** The list to send instead, with another prompt head where that is given, or undefined to leave it. */
  beforeRequest(request: OutgoingRequest): Promise<readonly HostMessage[] | MessagesWithHead | undefined>;
  /** Why the call must not be made, for the model to read. */
  beforeTool(call: ToolCall): Promise<string | undefined>;
  afterTool(finished: FinishedTool): Promise<ToolOutputChange | undefined>;
  /** Text to add to the agent's own request for a summary. */
  beforeCompaction(session: { readonly sessionId: string }): Promise<string | undefined>;
  /** What takes the place of the agent's own summary, which then needs no request. */
  compact(moment: CompactionMoment): Promise<CompactedWindow | undefined>;
  /** Text to add to the message. */
  onUserMessage(message: UserMessage): Promise<string | undefined>;
  /** The session whose provider cache the requests of a session should use. */
  cacheOwnerOf(sessionId: string): Promise<string | undefined>;
  /**
   * Whether a session is the child of a fork. Where `beforeRequest` or `beforeTool` fails or is late, a person's request or call
   * goes on as it is; a fork's does not, since it would lack what it inherits, or would be sent unchecked.
   */
  isFork(sessionId: string): Promise<boolean>;
  dispose(): Promise<void>;
}

/** The plugin as an adapter runs it. No handler throws, but `beforeRequest` and `beforeTool` for a fork that must not go on. */
export interface AgentPlugin
  extends Pick<Handlers, "onSignal" | "beforeTool" | "compact" | "cacheOwnerOf" | "isFork" | "dispose"> {
  /** Edits the list of the request in place. */
  beforeRequest(request: OutgoingRequest): Promise<void>;
  /** Calls `change` for each change, in order; `finished.text` must show the one before. */
  afterTool(finished: FinishedTool, change: (change: ToolOutputChange) => void): Promise<void>;
  beforeCompaction(session: { readonly sessionId: string }): Promise<readonly string[]>;
  onUserMessage(message: UserMessage): Promise<readonly string[]>;
  readonly tools: Readonly<Record<string, ModelTool>>;
  readonly commands: Readonly<Record<string, UserCommand>>;
}

/** A tool for the model. It checks its arguments itself and never throws. */
export interface ModelTool {
  readonly description: string;
  readonly parameters: Readonly<Record<string, ToolParameter>>;
  execute(args: unknown, call: RunningTool): Promise<string>;
}

/** One argument of a tool; the adapter writes it in the schema that its agent wants. */
export type ToolParameter = { readonly description?: string; readonly isRequired?: true } & (
  | {
      readonly type: "text";
      /** 1 where unset. */
      readonly minChars?: number;
      readonly maxChars?: number;
      readonly pattern?: RegExp;
      /** What the pattern wants, in words. */
      readonly expects?: string;
    }
  | { readonly type: "number" | "whole-number"; readonly least: number; readonly most?: number }
  | { readonly type: "word"; readonly words: readonly string[] }
);

/** What the agent tells a running tool. */
export interface RunningTool {
  readonly sessionId: string;
  /** The same for the same call. */
  readonly callId: string;
  /** The stored message that holds the call; unset where the agent does not say. */
  readonly messageId?: string;
  readonly agent: string;
  /** Aborted when the result of the tool is no longer wanted. */
  readonly signal: AbortSignal;
  readonly model?: ModelFacts;
  /**
   * Whether this call may start, or speak to, a sub-agent that runs as `agent`, by the rules of the agent's own tool for
   * that. Waits for a person where they want one to be asked.
   */
  mayStart(agent: string, title: string): Promise<StartAnswer>;
  /** Shows people what the tool is doing. */
  setTitle(title: string): void;
}

/** A command for the person: what it says goes to the model as a message, `$ARGUMENTS` replaced. */
export interface UserCommand {
  readonly description: string;
  readonly template: string;
}
