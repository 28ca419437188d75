import { type Message, project } from "../../transcript/message.ts";
import type { CompactionPart } from "../../transcript/part.ts";
import type { CreateContext } from "./line-format.ts";
import { type LineNote, type PartNote, partNote } from "./line-note.ts";

/** How a file writes new messages in which a marker and the summary behind it are one line. */
interface CompactionWriter {
  /** The marker is unset for a summary that stands alone. */
  compaction(marker: Message | undefined, summary: Message, context: CreateContext): object;
  /** A compaction that was asked for and not answered. */
  marker(message: Message, context: CreateContext): object;
  message(message: Message, context: CreateContext): readonly object[];
}

/** Lines for new messages, each marker together with the summary that answers it. */
export function joinCompactions(
  messages: readonly Message[],
  context: CreateContext,
  write: CompactionWriter,
): readonly object[] {
  const lines: object[] = [];
  let marker: Message | undefined;
  for (const message of messages.map(visibleMessage)) {
    if (marker !== undefined) {
      const isAnswer = message.summary === true;
      lines.push(isAnswer ? write.compaction(marker, message, context) : write.marker(marker, context));
      marker = undefined;
      if (isAnswer) continue;
    }
    if (markerPart(message) !== undefined) marker = message;
    else if (message.summary === true) lines.push(write.compaction(undefined, message, context));
    else lines.push(...write.message(message, context));
  }
  if (marker !== undefined) lines.push(write.marker(marker, context));
  return lines;
}

/** The part of a message that is a marker and nothing else. */
export function markerPart(message: Message): CompactionPart | undefined {
  const [only] = message.parts;
  return message.parts.length === 1 && only?.type === "compaction" ? only : undefined;
}

/** A message that an edit put in, as the model is to see it: without hidden parts, cleared outputs as their placeholder. */
export function visibleMessage(message: Message): Message {
  return project([message])[0] ?? message;
}

/** What a new line notes of its message: everything that its own fields may not say. */
export function noteOfMessage(message: Message, reading = 0): LineNote {
  const { id: _, parts, ...head } = message;
  const notes: Record<string, PartNote> = {};
  for (const [index, part] of parts.entries()) {
    const note = partNote(part);
    if (note !== undefined) notes[`${reading}/${index}`] = note;
  }
  return { heads: { [reading]: head }, parts: notes };
}

/** What a line notes that is two messages. */
export function mergeNotes(first: LineNote | undefined, second: LineNote): LineNote {
  return {
    heads: { ...first?.heads, ...second.heads },
    parts: { ...first?.parts, ...second.parts },
  };
}
