import type { CarriedFacts } from "../transcript/carried-facts.ts";
import type { Handle } from "../transcript/edit.ts";
import type { ContextEstimateOptions } from "../transcript/estimate-context-tokens.ts";
import type { MessageId, ModelRef, Transcript } from "../transcript/message.ts";
import type { FoldMaterial } from "./fold.ts";
import type { Pin } from "./pins.ts";
import type { KeepInput } from "./plan-compaction-keep.ts";
import type { SummaryRequest } from "./summarizer.ts";
import type { Redaction } from "./summary-clean-text.ts";
import type { FactsBudget } from "./summary-facts.ts";
import type { Representation } from "./summary-message.ts";
import type { SummaryMaterial } from "./summary-request.ts";

/** What a compaction is planned from. Everything but the transcript and the trigger has a default. */
export interface CompactionInput extends Partial<KeepInput> {
  /** All messages, hidden ones included. */
  readonly transcript: Transcript;
  /** All but `threshold` cut even when everything would fit. */
  readonly trigger: CompactionTrigger;
  /** The model that writes the summary; its window is that of `limits` when unset. */
  readonly summarizer?: SummarizerModel;
  /** Exactly what has to stay before the model; when unset, what the last compaction carried. */
  readonly pins?: readonly Pin[];
  /** How tokens are counted; usage is never used, since it describes a context that is going away. */
  readonly estimate?: Omit<ContextEstimateOptions, "epochStartIndex">;
  /** How secrets are found in what goes to the summarizer and into the summary. */
  readonly redaction?: Redaction;
  /** `never`: the agent is not told to go on after an automatic pivot. */
  readonly autoContinue?: "as-needed" | "never";
}

/** Why a compaction happens. Only a manual one was asked for by a person. */
export type CompactionTrigger = "threshold" | "overflow" | "context_limit_recovery" | "manual";

export interface SummarizerModel {
  readonly model?: ModelRef;
  /** 0 means unknown. */
  readonly windowTokens?: number;
  readonly outputTokens?: number;
}

/** Nothing was done, and why: no messages, nothing outside what stays, or too little of it to matter. */
export interface NothingToCompact {
  readonly status: "nothing";
  readonly reason: "empty" | "nothing-old" | "too-little";
  readonly tokensBefore: number;
  readonly transcript: Transcript;
  /** A marker that asked for this compaction. */
  readonly pendingMarkerId?: MessageId;
}

/** A compaction as data: what goes, what stays, what a model is asked, what is carried in any case. */
export interface CompactionPlan {
  readonly status: "planned";
  readonly transcript: Transcript;
  readonly trigger: CompactionTrigger;
  readonly representation: Representation;
  /** Every message that the summary stands for or makes superfluous; they are hidden, oldest first. */
  readonly foldedIds: readonly MessageId[];
  /** What stays word for word, oldest first. */
  readonly keptIds: readonly MessageId[];
  readonly firstKeptId?: MessageId;
  readonly splitTurn: "split" | "whole";
  readonly pendingMarkerId?: MessageId;
  readonly ids: InsertedIds;
  /** What the summarizer is asked when no hook changes it. */
  readonly request: SummaryRequest;
  /** How many messages the request had to leave out to fit. */
  readonly omittedMessages: number;
  readonly material: SummaryMaterial;
  readonly foldMaterial: FoldMaterial;
  readonly facts: CarriedFacts;
  readonly factsBudget: FactsBudget;
  /** Pins whose message stays as it is. */
  readonly pinsInPlace: readonly Handle[];
  /** Pins that lead nowhere. */
  readonly unknownPins: readonly Handle[];
  /** The user's last request; `folded` when its words are carried in the summary. */
  readonly lastRequest?: LastRequest;
  /** `replayed`: the request that did not fit stands behind the summary again, without its media. */
  readonly replay: "replayed" | "none";
  /** Whether the agent is told to go on, or why not. */
  readonly continuation: Continuation;
  readonly tokensBefore: number;
  readonly replacedTokens: number;
  readonly toolCallCutoff: number;
  readonly estimate: Omit<ContextEstimateOptions, "epochStartIndex">;
  readonly redaction: Redaction;
}

export interface LastRequest {
  readonly messageId: MessageId;
  readonly text: string;
  readonly place: "kept" | "folded";
}

/** The ids of messages that a compaction may insert, made from their neighbours. */
export interface InsertedIds {
  readonly marker: MessageId;
  readonly summary: MessageId;
  readonly digest: MessageId;
  readonly continuation: MessageId;
}

export type Continuation = "append" | "manual" | "off" | "user-is-waiting" | "finished" | "not-a-pivot";
