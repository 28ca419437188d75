import { optionsCheck, required, rule, type Shape } from "../text/check.ts";
import { handleOf, type ToolCall, withArchivedKind } from "./content.ts";
import { charsOf, charsOfPart } from "./estimate-message.ts";
import { type Message, type Transcript, withMetadata } from "./message.ts";
import type { Handle, MessageId, Part, ToolPart } from "./part.ts";

export type { Handle } from "./part.ts";

/**
 * One change to a transcript, as data: what, where, why, and how much it leaves out.
 * Edits never delete. Part indexes are those of the unedited message and stay valid.
 */
export type Edit = HideMessage | HidePart | ReplacePart | InsertMessage | MoveMessage;

export interface HideMessage extends EditBase {
  readonly type: "hide-message";
  readonly messageId: MessageId;
}

/**
 * Hides a whole part, only the output of a call (the call stays with a placeholder), or a thought that may not be
 * sent. Of a call whose signature other calls of its step need, only the output is hidden, because the provider
 * refuses them without it.
 */
export interface HidePart extends EditBase {
  readonly type: "hide-part";
  readonly messageId: MessageId;
  readonly partIndex: number;
  readonly what: "part" | "output" | "thought";
}

export interface ReplacePart extends EditBase {
  readonly type: "replace-part";
  readonly messageId: MessageId;
  readonly partIndex: number;
  readonly part: Part;
}

export interface InsertMessage extends EditBase {
  readonly type: "insert-message";
  readonly message: Message;
  readonly after: Position;
}

export interface MoveMessage extends EditBase {
  readonly type: "move-message";
  readonly messageId: MessageId;
  readonly after: Position;
}

/** Behind this message, or before all of them. */
export type Position = MessageId | null;

interface EditBase {
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
  | "stale-thought"
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

/** An edit that hides a whole message, with how much that leaves out. */
export function hideMessage(message: Message, why: Pick<EditBase, "stage" | "reason">): Edit {
  const omitted = { chars: charsOf(message), handle: message.id };
  return { type: "hide-message", messageId: message.id, ...why, omitted };
}

/** Makes an edit that hides a part or a thought, with how much it leaves out. */
export function hidePart(
  place: { readonly message: Message; readonly partIndex: number; readonly part: Part },
  { what = "part", ...why }: HidePartOptions,
): Edit {
  const { message, partIndex, part } = place;
  const omitted = { chars: charsOfPart(part), handle: handleOf(message, partIndex) };
  return { type: "hide-part", messageId: message.id, partIndex, what, ...why, omitted };
}

interface HidePartOptions extends Pick<EditBase, "stage" | "reason"> {
  /** @default part */
  readonly what?: "part" | "thought";
}

/** An edit that replaces a call by a shorter one, with how much that leaves out. */
export function replaceCall(
  { message, partIndex, part }: ToolCall,
  shorter: ToolPart,
  why: Pick<EditBase, "stage" | "reason">,
): Edit {
  const chars = omittedChars(shorter) - omittedChars(part);
  const omitted = { chars, handle: handleOf(message, partIndex) };
  return { type: "replace-part", messageId: message.id, partIndex, part: shorter, ...why, omitted };
}

function omittedChars({ cut, inputCut }: ToolPart): number {
  return (cut?.omittedChars ?? 0) + (inputCut?.omittedChars ?? 0);
}

/** A function from a transcript to edits. It changes nothing itself. */
export type Stage = (transcript: readonly Message[]) => readonly Edit[];

/**
 * The transcript after some edits, in order; the only function that changes one.
 * Hidden things stay in it, marked. An edit whose target is not there changes nothing.
 */
export function applyEdits(
  transcript: Transcript,
  edits: readonly Edit[],
  options: ApplyOptions,
): Transcript {
  checkOptions(options);
  return applyBatches(transcript, [{ edits, at: options.at }]);
}

/** The same for edits that were made at several times, one after another. */
export function applyBatches(transcript: Transcript, batches: readonly DatedEdits[]): Transcript {
  if (batches.every(({ edits }) => edits.length === 0)) return transcript;
  const draft = createDraft(transcript);
  for (const { edits, at } of batches) for (const edit of edits) applyEdit(draft, edit, at);
  return draft.messages();
}

interface DatedEdits extends ApplyOptions {
  readonly edits: readonly Edit[];
}

function applyEdit(draft: Draft, edit: Edit, at: number): void {
  switch (edit.type) {
    case "hide-message":
      draft.change(edit.messageId, (message) => withMetadata(message, { agentVisible: false }));
      break;
    case "hide-part":
      draft.changePart(edit, (part, message) => hide(part, { edit, message, at }));
      break;
    case "replace-part":
      draft.changePart(edit, (part) => replace(part, edit.part));
      draft.change(edit.messageId, withArchivedKind);
      break;
    case "insert-message":
      draft.insert({ createdAt: at, ...edit.message }, edit.after);
      break;
    case "move-message":
      draft.move(edit.messageId, edit.after);
      break;
    default:
      edit satisfies never;
  }
}

/** When edits are applied. */
export interface ApplyOptions {
  /**
   * Milliseconds since 1970, stamped on outputs that are cleared and on new messages. The engine has no clock of its
   * own.
   * @unit milliseconds since 1970
   */
  readonly at: number;
}

const checkOptions = optionsCheck({
  at: required(rule("milliseconds since 1970", Number.isFinite)),
} satisfies Shape<ApplyOptions>);

function hide(part: Part, { edit, message, at }: Hiding): Part {
  if (edit.what === "part" && !isNeededBySiblings(part, message)) return { ...part, agentVisible: false };
  if (edit.what === "thought")
    return part.type === "reasoning" ? { ...part, agentVisible: false, stale: true } : part;
  return part.type === "tool" && part.clearedAt === undefined ? { ...part, clearedAt: at } : part;
}

interface Hiding {
  readonly edit: HidePart;
  /** The message that the part is in, after the edits before this one. */
  readonly message: Message;
  readonly at: number;
}

/** True for a call whose signature is needed by other visible calls of its step. */
function isNeededBySiblings(part: Part, { parts }: Message): boolean {
  if (part.type !== "tool" || !part.signed) return false;
  return parts.some((other) => other.type === "tool" && !other.signed && other.agentVisible !== false);
}

/** The new part. It inherits the signature, which edits stored by older versions lack. */
function replace(part: Part, by: Part): Part {
  const isSigned = part.type === "tool" && by.type === "tool" && part.signed === true;
  return isSigned && by.signed === undefined ? { ...by, signed: true } : by;
}

type Draft = ReturnType<typeof createDraft>;

function createDraft(transcript: Transcript) {
  const messages: Message[] = [...transcript];
  const indexById = new Map<MessageId, number>();
  for (let index = messages.length - 1; index >= 0; index--)
    indexById.set((messages[index] as Message).id, index);
  /** Messages whose list of parts was already copied and may be mutated. */
  const ownParts = new Set<number>();
  /** The order of messages as a linked list; created by the first edit that inserts or moves a message. */
  let order: Order | undefined;

  function indexOf(place: Position): number | undefined {
    return place === null ? START : indexById.get(place);
  }

  return {
    change(id: MessageId, change: (message: Message) => Message): void {
      const index = indexById.get(id);
      if (index !== undefined) messages[index] = change(messages[index] as Message);
    },

    changePart(
      { messageId, partIndex }: HidePart | ReplacePart,
      change: (part: Part, message: Message) => Part,
    ): void {
      const index = indexById.get(messageId);
      const message = index === undefined ? undefined : messages[index];
      const part = message?.parts[partIndex];
      if (index === undefined || message === undefined || part === undefined) return;
      const changed = change(part, message);
      if (changed === part) return;
      if (ownParts.has(index)) {
        (message.parts as Part[])[partIndex] = changed;
        return;
      }
      messages[index] = { ...message, parts: message.parts.with(partIndex, changed) };
      ownParts.add(index);
    },

    insert(message: Message, after: Position): void {
      const anchor = indexOf(after);
      if (anchor === undefined || indexById.has(message.id)) return;
      order ??= createOrder(messages.length);
      const index = messages.push(message) - 1;
      indexById.set(message.id, index);
      order.place(index, anchor);
    },

    move(id: MessageId, after: Position): void {
      const index = indexById.get(id);
      const anchor = indexOf(after);
      if (index === undefined || anchor === undefined || index === anchor) return;
      order ??= createOrder(messages.length);
      order.unlink(index);
      order.place(index, anchor);
    },

    messages(): Transcript {
      return order === undefined ? messages : order.indexes().map((index) => messages[index] as Message);
    },
  };
}

/** Stands before the first message. */
const START = -1;

interface Order {
  unlink(index: number): void;
  place(index: number, after: number): void;
  indexes(): readonly number[];
}

/** A linked list of indexes, so that inserting and moving take constant time. Slot 0 is the start. */
function createOrder(count: number): Order {
  const next = Array.from({ length: count + 1 }, (_, slot) => (slot === count ? 0 : slot + 1));
  const before = Array.from({ length: count + 1 }, (_, slot) => (slot === 0 ? count : slot - 1));

  function link(first: number, second: number): void {
    next[first] = second;
    before[second] = first;
  }

  return {
    unlink(index) {
      link(before[index + 1] ?? 0, next[index + 1] ?? 0);
    },
    place(index, after) {
      const follower = next[after + 1] ?? 0;
      link(after + 1, index + 1);
      link(index + 1, follower);
    },
    indexes() {
      const indexes: number[] = [];
      for (let slot = next[0] ?? 0; slot !== 0; slot = next[slot] ?? 0) indexes.push(slot - 1);
      return indexes;
    },
  };
}

/** Runs stages one after another, each on what the one before left, and gathers their edits. */
export function runStages(
  transcript: Transcript,
  stages: readonly Stage[],
  options: ApplyOptions = { at: 0 },
): StagesResult {
  let current = transcript;
  const edits: Edit[] = [];
  for (const stage of stages) {
    const next = stage(current);
    if (next.length === 0) continue;
    current = applyEdits(current, next, options);
    for (const edit of next) edits.push(edit);
  }
  return { transcript: current, edits };
}

export interface StagesResult {
  readonly transcript: Transcript;
  readonly edits: readonly Edit[];
}
