import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import type { ModelRef } from "../../transcript/message.ts";

/** A message in the agent's own shape, which only the adapter looks into. */
type AgentMessage = object;

/** The moment at which the agent is about to replace its conversation by a summary. */
export interface CompactionMoment {
  readonly sessionId: string;
  readonly model?: ModelRef;
  /** The whole window, as the agent would send it now. May fail. */
  messages(): Promise<readonly AgentMessage[]>;
  /** Asks the model of the session; unset where the agent lets nobody ask it now. */
  readonly summarizer?: Summarizer;
}

/** How the agent shows a summary at the beginning of its window. */
export interface HostCheckpoints {
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
