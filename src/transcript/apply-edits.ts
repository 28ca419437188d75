import type { Edit, HidePart, Place, ReplacePart } from "./edit.ts";
import type { Message, MessageId, Transcript } from "./message.ts";
import type { Part } from "./part.ts";
import { withMetadata } from "./visibility.ts";

/**
 * The transcript after some edits, in order; the only function that changes one.
 * Hidden things stay in it, marked. An edit whose target is not there changes nothing.
 */
export function applyEdits(transcript: Transcript, edits: readonly Edit[], { at }: ApplyOptions): Transcript {
  if (edits.length === 0) return transcript;
  const line = createLine(transcript);
  for (const edit of edits) {
    switch (edit.type) {
      case "hide-message":
        line.change(edit.messageId, (message) => withMetadata(message, { agentVisible: false }));
        break;
      case "hide-part":
        line.changePart(edit, (part) => hide(part, edit, at));
        break;
      case "replace-part":
        line.changePart(edit, () => edit.part);
        break;
      case "insert-message":
        line.insert({ createdAt: at, ...edit.message }, edit.after);
        break;
      case "move-message":
        line.move(edit.messageId, edit.after);
        break;
      default:
        edit satisfies never;
    }
  }
  return line.messages();
}

export interface ApplyOptions {
  /** Milliseconds since 1970, stamped on outputs that are cleared and on new messages. The engine has no clock of its own. */
  readonly at: number;
}

function hide(part: Part, edit: HidePart, at: number): Part {
  if (edit.what === "part") return { ...part, agentVisible: false };
  return part.type === "tool" && part.clearedAt === undefined ? { ...part, clearedAt: at } : part;
}

/** A message with its neighbours, so that inserting and moving cost the same anywhere. */
interface Link {
  message: Message;
  /** True once `message.parts` is a copy of ours that may be written to. */
  ownParts: boolean;
  before: Link | undefined;
  next: Link | undefined;
}

function createLine(transcript: Transcript) {
  const byId = new Map<MessageId, Link>();
  let first: Link | undefined;
  let last: Link | undefined;
  for (const message of transcript) {
    const link: Link = { message, ownParts: false, before: last, next: undefined };
    if (last === undefined) first = link;
    else last.next = link;
    last = link;
    if (!byId.has(message.id)) byId.set(message.id, link);
  }

  function unlink(link: Link): void {
    if (link.before === undefined) first = link.next;
    else link.before.next = link.next;
    if (link.next === undefined) last = link.before;
    else link.next.before = link.before;
  }

  function place(link: Link, after: Link | undefined): void {
    link.before = after;
    link.next = after === undefined ? first : after.next;
    if (link.next === undefined) last = link;
    else link.next.before = link;
    if (after === undefined) first = link;
    else after.next = link;
  }

  return {
    change(id: MessageId, change: (message: Message) => Message): void {
      const link = byId.get(id);
      if (link !== undefined) link.message = change(link.message);
    },

    changePart({ messageId, partIndex }: HidePart | ReplacePart, change: (part: Part) => Part): void {
      const link = byId.get(messageId);
      const part = link?.message.parts[partIndex];
      if (link === undefined || part === undefined) return;
      const changed = change(part);
      if (changed === part) return;
      const parts = link.ownParts ? (link.message.parts as Part[]) : [...link.message.parts];
      parts[partIndex] = changed;
      if (!link.ownParts) {
        link.message = { ...link.message, parts };
        link.ownParts = true;
      }
    },

    insert(message: Message, after: Place): void {
      const anchor = after === null ? undefined : byId.get(after);
      if (after !== null && anchor === undefined) return;
      if (byId.has(message.id)) return;
      const link: Link = { message, ownParts: false, before: undefined, next: undefined };
      place(link, anchor);
      byId.set(message.id, link);
    },

    move(id: MessageId, after: Place): void {
      const link = byId.get(id);
      const anchor = after === null ? undefined : byId.get(after);
      if (link === undefined || link === anchor || (after !== null && anchor === undefined)) return;
      unlink(link);
      place(link, anchor);
    },

    messages(): Transcript {
      const messages: Message[] = [];
      for (let link = first; link !== undefined; link = link.next) messages.push(link.message);
      return messages;
    },
  };
}
