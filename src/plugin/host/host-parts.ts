import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import type { ForkModel } from "../../fork/life/record.ts";
import type { ModelRef } from "../../transcript/message.ts";

/** What the person in front of the agent sees. No method throws; where there is no screen, nothing happens. */
export interface HostScreen {
  /** Set where a conversation shows nothing of ours, and something else tells of forks: what matters is said in toasts. */
  readonly reach?: "toasts";
  /** Shows a short message for a while, in place of the one before. Returns at once. */
  toast(message: string, tone: ToastTone, options?: { readonly durationMs?: number }): void;
  /** Shows a piece in a conversation, or replaces the one with its key there. It is never sent to the model, nor shown while the user has messages taken back. */
  show(piece: ShownPiece): Promise<"shown" | "not-shown">;
  /** Brings a session to the screen. */
  open(sessionId: string): Promise<"opened" | "not-opened">;
}

export type ToastTone = "info" | "success" | "warning" | "error";

/** Something in a conversation that only people see. */
export type ShownPiece = ShownPlace & (ShownText | ShownLine | ShownChild);

interface ShownPlace {
  readonly sessionId: string;
  readonly key: string;
  /** The tool call that it stands below; unset for the newest answer. */
  readonly callId?: string;
}

/** A text of several lines, as Markdown. */
interface ShownText {
  readonly type: "text";
  readonly text: string;
}

/** One small line: what it is about, and what there is to say. */
interface ShownLine {
  readonly type: "line";
  readonly label: string;
  readonly text: string;
}

/** A child at work, shown as the agent shows sub-agents of its own: with its newest step, and a way to its session. */
interface ShownChild {
  readonly type: "child";
  readonly name: string;
  readonly text: string;
  readonly childSessionId?: string;
  readonly state: "running" | "ended" | "failed";
}

/** What not every agent can do, found out by the adapter at start. */
export interface HostAbilities {
  /** Text can be added to a finished tool output and to a message of the user, so that results need no turn of their own. */
  readonly carryResults: boolean;
  /** A permission ask of a session can be rejected with a reason. */
  readonly rejectAsks: boolean;
  /**
   * A message that `prompt` has taken reaches its session exactly once, also after a crash and while it is busy, and the same
   * id is the same message: a result is given to the agent and need not be looked for.
   */
  readonly deliversOnce: boolean;
  /** What a child inherits can be put in front of each of its requests; else `createChild` is given it and stores it. */
  readonly graftRequests: boolean;
  /** A session can be sent a message while it is idle; else results wait for a tool output or a message of the user. */
  readonly wakeParents: boolean;
}

/** An agent of the host: who speaks in a session, with which rules and model. */
export interface HostAgent {
  readonly name: string;
  /** Not offered to any agent. */
  readonly isHidden: boolean;
  /** Chosen by people only; sub-agents do not run as it. */
  readonly isPrimary: boolean;
  /** A rule denies the agent that asks to start it. */
  readonly isDenied?: true;
  /** The model that it always runs on; unset for the model of the session. */
  readonly model?: ForkModel;
}

/** Who wants to start a child. */
export interface AskingAgent {
  readonly sessionId: string;
  readonly agent: string;
}

/** A child that is to be made. */
export interface NewChild {
  readonly rootSessionId: string;
  readonly parentSessionId: string;
  /** The agent that asks for it. */
  readonly caller: string;
  /** The agent that it runs as. */
  readonly agent: string;
  readonly model: ForkModel;
  readonly title: string;
  /** Stored with the session where the agent can, and given back by `get`, `list` and `children`. */
  readonly note: unknown;
  /** The messages that it starts with, in an agent whose requests cannot get messages in front. */
  readonly inherited?: readonly object[];
}

/** A child, and the agent in its parent that has something to say to it. */
export interface LimitedChild extends Pick<NewChild, "parentSessionId" | "caller" | "agent"> {
  readonly childSessionId: string;
}

/** Whether a sub-agent may be started or spoken to; the reason is for the model. */
export type StartAnswer =
  | { readonly status: "allowed" }
  | { readonly status: "refused"; readonly reason: string };

/** A message in the agent's own shape, which only the adapter looks into. */
type AgentMessage = object;

/** The moment at which the agent is about to replace its conversation by a summary. */
export interface CompactionMoment {
  readonly sessionId: string;
  readonly model?: ModelRef;
  /** The whole window, as the agent would send it now. May fail. */
  messages(): Promise<readonly AgentMessage[]>;
  /** Asks the model of the session; unset where the agent does not allow that now. */
  readonly summarizer?: Summarizer;
}

/** What takes the place of a window. */
export interface CompactedWindow {
  readonly summary: string;
  /** The first message that stays as it is behind the summary; unset where none does. For an agent that `keepsTail`. */
  readonly firstKeptId?: string;
}

/** How the agent shows a summary at the beginning of its window. */
export interface HostCheckpoints {
  /** Set where the agent itself keeps messages behind a summary, so that nothing is restored in its requests. */
  readonly keepsTail?: true;
  /** The summaries among the messages of a request, oldest first. */
  find(messages: readonly AgentMessage[]): readonly HostCheckpoint[];
  /** The message of a checkpoint with this summary in it, and nothing else that the agent put there. */
  write(message: AgentMessage, summary: string): AgentMessage;
}

export interface HostCheckpoint {
  /** The message's place in the list. */
  readonly index: number;
  readonly summary: string;
}

/** A model as the agent describes it; what it does not know is unset. */
export interface ModelFacts extends ModelRef {
  readonly contextTokens?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** In one currency for the same number of tokens; input is above 0, and 0 says that a cache price is not known. */
  readonly prices?: { readonly input: number; readonly cacheRead: number; readonly cacheWrite: number };
}

/** What one request of the model used, as it is journalled. */
export interface RequestEntry {
  readonly type: "request";
  readonly messageId: string;
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly costUSD: number;
  /** Set for the request of a summary. */
  readonly summary?: true;
  readonly error?: string;
}
