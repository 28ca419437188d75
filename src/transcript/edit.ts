import type { Handle, MessageId } from "./ids.ts";
import type { Message } from "./message.ts";
import type { Part } from "./part.ts";

export type { Handle } from "./ids.ts";

/**
 * One change to a transcript, as data: what, where, why, and how much it leaves out.
 * Edits never delete. Part indexes are those of the unedited message and stay valid.
 */
export type Edit = HideMessage | HidePart | ReplacePart | InsertMessage | MoveMessage;

export interface HideMessage extends Why {
  readonly type: "hide-message";
  readonly messageId: MessageId;
}

/** Hides a whole part, or only the output of a tool part: its call then stays, with a placeholder. */
export interface HidePart extends Why {
  readonly type: "hide-part";
  readonly messageId: MessageId;
  readonly partIndex: number;
  readonly what: "part" | "output";
}

export interface ReplacePart extends Why {
  readonly type: "replace-part";
  readonly messageId: MessageId;
  readonly partIndex: number;
  readonly part: Part;
}

export interface InsertMessage extends Why {
  readonly type: "insert-message";
  readonly message: Message;
  readonly after: Place;
}

export interface MoveMessage extends Why {
  readonly type: "move-message";
  readonly messageId: MessageId;
  readonly after: Place;
}

/** Behind this message, or before all of them. */
export type Place = MessageId | null;

interface Why {
  readonly stage: string;
  readonly reason: EditReason;
  readonly omitted?: Omitted;
}

export interface Omitted {
  readonly chars: number;
  /** Where the whole text can be recalled. */
  readonly handle: Handle;
}

export type EditReason =
  | "before-compaction"
  | "retained-tail"
  | "reasoning"
  | "ignored"
  | "own-hint"
  | "in-flight"
  | "tier-2"
  | "tier-3"
  | "params"
  | "over-budget"
  | "oversize"
  | "missing-result"
  | "orphan-result"
  | "duplicate-call"
  | "empty"
  | "failed-turn"
  | "malformed-text"
  | "irregular"
  | "first-message"
  | "last-message"
  | "media"
  | "pruned"
  | "superseded"
  | "secret"
  | "summarized"
  | "archived"
  | "recovery"
  | (string & {});

/** Looks at a transcript and says what to change; changes nothing itself. */
export type Stage = (transcript: readonly Message[]) => readonly Edit[];
