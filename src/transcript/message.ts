import type { CarriedFacts } from "./carried-facts.ts";
import type { MessageId } from "./ids.ts";
import type { Part } from "./part.ts";

export type { MessageId } from "./ids.ts";

/** One message of a conversation, whatever program recorded it. */
export interface Message {
  readonly id: MessageId;
  readonly role: Role;
  readonly parts: readonly Part[];
  /** Milliseconds since 1970, where the source knows it. */
  readonly createdAt?: number;
  /** True only on an assistant message that sums up everything before its compaction marker. */
  readonly summary?: true;
  /** Why generation ended, as the source says it. */
  readonly finish?: string;
  /** Set when the source would say how generation ended, and does not: it is still running, or was cut off. */
  readonly unfinished?: true;
  readonly error?: MessageError;
  readonly parentId?: MessageId;
  readonly usage?: Usage;
  readonly model?: ModelRef;
  readonly metadata?: MessageMetadata;
}

/** A role we do not know is kept as it is and shown capitalised. */
export type Role = "user" | "assistant" | "system" | (string & {});

export interface MessageError {
  readonly name: string;
  readonly text: string;
}

/** Tokens as the provider counted them. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly totalTokens?: number;
}

export interface ModelRef {
  readonly provider: string;
  readonly id: string;
}

/** Who may see a message, and what it is for. Unset means visible. */
export interface MessageMetadata {
  readonly agentVisible?: boolean;
  readonly userVisible?: boolean;
  readonly kind?: MessageKind;
  /** On a compaction's summary: what the next compaction carries further. Never read from text. */
  readonly carried?: CarriedFacts;
}

export type MessageKind =
  | "user"
  | "assistant"
  | "tool_result"
  | "tool_result_archived"
  | "tool_summary"
  | "compaction_summary"
  | "compaction_marker"
  | "continue"
  | "hint"
  | (string & {});

/** A conversation, oldest message first. Message ids are unique. */
export type Transcript = readonly Message[];
