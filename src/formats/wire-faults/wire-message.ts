import type { Fault, ProviderRule } from "../../transcript/find-faults.ts";

/** One message of a provider's wire, reduced to what the rules of providers speak of. */
export interface WireMessage extends WirePlace {
  readonly side: "system" | "user" | "assistant";
  readonly blocks: readonly WireBlock[];
  /** Set when the wire says that generation was broken off here. */
  readonly isCutOff?: true;
}

/** One piece of a message; several wire items of one turn are blocks of one message. */
export interface WireBlock extends WirePlace {
  readonly type: "text" | "reasoning" | "call" | "result" | "media" | "opaque";
  /** Joins a call and its result. */
  readonly callId?: string;
  /** What the model reads of it: texts, names, inputs, outputs. */
  readonly read?: unknown;
  /** The block as it stands in the wire. */
  readonly wire: unknown;
}

/** Where something stands in the wire, as a fault tells it. */
export interface WirePlace {
  readonly messageId: string;
  readonly partIndex?: number;
}

/** A fault of a rule at a place of the wire. */
export function faultAt(rule: ProviderRule, { messageId, partIndex }: WirePlace, text: string): Fault {
  return partIndex === undefined ? { rule, messageId, text } : { rule, messageId, partIndex, text };
}
