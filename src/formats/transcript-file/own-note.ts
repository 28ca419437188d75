import type { Message } from "../../transcript/message.ts";
import { project } from "../../transcript/visibility.ts";
import { type LineNote, type PartNote, partNote } from "./note.ts";

/** A message that an edit put in, as the model is to see it: without hidden parts, cleared outputs as their placeholder. */
export function shownMessage(message: Message): Message {
  return project([message])[0] ?? message;
}

/** What a new line notes of its message: everything that its own fields may not say. */
export function ownNote(message: Message, reading = 0): LineNote {
  const { id: _, parts, ...head } = message;
  const notes: Record<string, PartNote> = {};
  for (const [index, part] of parts.entries()) {
    const note = partNote(part);
    if (note !== undefined) notes[`${reading}/${index}`] = note;
  }
  return { heads: { [reading]: head }, parts: notes };
}

/** What a line notes that is two messages. */
export function bothNotes(first: LineNote | undefined, second: LineNote): LineNote {
  return {
    heads: { ...first?.heads, ...second.heads },
    parts: { ...first?.parts, ...second.parts },
  };
}
