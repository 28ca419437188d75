import type { Cut } from "../text/truncate.ts";

/** Unique within a transcript; formats make it so on decode. */
export type MessageId = string;

/** Joins a call and its result, as the source names it. */
export type CallId = string;

/** Names content that can be recalled: `<messageId>/<partIndex>`, a message id, or what an output store returned. */
export type Handle = string;

/** One piece of a message. A part that no format understands is `opaque` and passes through untouched. */
export type Part = TextPart | ReasoningPart | ToolPart | FilePart | CompactionPart | OpaquePart;

interface PartBase {
  /** False: kept in the transcript, not sent to the model. */
  readonly agentVisible?: false;
  /** Set when the provider may refuse the part as recorded; an edit that replaces it writes it in a valid form. */
  readonly irregular?: true;
  /** Set on a provider's own compaction: the provider that made it and reads it in place of everything before it. */
  readonly providerBlock?: string;
}

export interface TextPart extends PartBase {
  readonly type: "text";
  readonly text: string;
  /** Written by a program on the user's behalf; still sent to the model. */
  readonly synthetic?: true;
  /** Shown to the user only; the host never sends it. */
  readonly ignored?: true;
  /** Written by Carryover itself (a delivery or a hint); not inherited by forks. */
  readonly own?: true;
  /** The block of a compaction on demand, which goes back to the provider unchanged. */
  readonly block?: ProviderBlock;
  /** With the block: what thoughts after it may be bound to. */
  readonly standsFor?: StandsFor;
  /** Set when an edit shortened the text. */
  readonly cut?: Cut;
}

/** A compaction as its provider gave it. Fields that are not known are kept. */
export interface ProviderBlock {
  readonly type: "compaction";
  readonly content: string;
  readonly signature: string;
  readonly [field: string]: unknown;
}

/** What a provider's block replaces, as hashes. */
export interface StandsFor {
  /** Hash of the system messages before it. With others, the block is not valid. */
  readonly head: number;
  /** Hashes of the summarized messages, one for each way they were sent. */
  readonly lines: readonly number[];
}

export interface ReasoningPart extends PartBase {
  readonly type: "reasoning";
  readonly text: string;
  /** Length of the encrypted thought, when that is sent beside the text or instead of it. */
  readonly sealedChars?: number;
  /** Set when only the beginning of a recorded text was read. */
  readonly cut?: Cut;
  /** Set when the thought is hidden because the provider would refuse it after an earlier edit. */
  readonly stale?: true;
}

/** A call together with its outcome, so that one can never be kept without the other. */
export interface ToolPart extends PartBase {
  readonly type: "tool";
  readonly callId: CallId;
  readonly tool: string;
  readonly input: unknown;
  readonly outcome: ToolOutcome;
  /** Set when this call carries the signature for all calls of its step. */
  readonly signed?: true;
  /** When the output was cleared from the model's view; the output itself is kept. */
  readonly clearedAt?: number;
  /** Set when a result was found for which there is no call (or a second result for one). */
  readonly callMissing?: true;
  /** Set when an edit shortened the output or the error. */
  readonly cut?: OutputCut;
  /** Set when an edit shortened the input. */
  readonly inputCut?: InputCut;
}

export type ToolOutcome =
  | { readonly status: "pending" }
  | { readonly status: "done"; readonly output: string; readonly attachments: readonly FilePart[] }
  | { readonly status: "failed"; readonly error: string };

/** What an edit left out of an output or an error. */
export interface OutputCut extends Cut {
  /** The message that sums the result up; set when the result was archived and only a line is left of it. */
  readonly archivedAs?: MessageId;
}

/** What an edit left out of a tool input, and how the input reads as text. */
export interface InputCut extends Cut {
  readonly preview: string;
}

export interface FilePart extends PartBase {
  readonly type: "file";
  readonly mime: string;
  readonly filename?: string;
  readonly sizeBytes?: number;
}

/** Marks the place where a compaction was asked for. */
export interface CompactionPart extends PartBase {
  readonly type: "compaction";
  readonly trigger: "auto" | "manual";
  readonly overflow?: true;
  /** The first message that the host keeps word for word behind the summary. */
  readonly tailStartId?: MessageId;
}

export interface OpaquePart extends PartBase {
  readonly type: "opaque";
  /** The type of the part in the source. */
  readonly name: string;
  /** The characters that it brings into a window, such as the result of a search that the provider ran itself. */
  readonly chars?: number;
  /** Set for records of the host that the model never sees and no other part refers to. */
  readonly bookkeeping?: true;
}

/** The text of a compaction marker for the model. */
export const COMPACTION_QUESTION = "What did we do so far?";

/** What the model reads in place of an output that was cleared. */
export const CLEARED_PLACEHOLDER = "[Old tool result content cleared]";
