import { asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import type { Message } from "../../transcript/message.ts";
import type { CompactionPart } from "../../transcript/part.ts";
import {
  type CreateContext,
  type LinePiece,
  type LineReading,
  summaryHead,
  timeOf,
  userHead,
} from "./line-format.ts";
import { noteOfMessage, visibleMessage, withNote } from "./line-note.ts";
import { wholePiece } from "./pieces.ts";

/** One line that is two messages: where a compaction was asked for, and its summary if there is one. */
export function readCompactionLine(
  line: UnknownObject,
  key: string,
  { marker, summary }: { readonly marker: CompactionPart; readonly summary: readonly LinePiece[] },
): readonly LineReading[] {
  const createdAt = timeOf(line.timestamp);
  const note = asObject(line.carryover);
  const markerKey = asString(note.markerId) ?? `${key}~marker`;
  const asked = { key: markerKey, head: userHead(createdAt), pieces: [wholePiece(marker)] };
  if (summary.length === 0) return [asked];
  const answer = { key, head: summaryHead(createdAt), pieces: summary };
  return note.marker === false ? [answer] : [asked, answer];
}

/** How a file in which a marker and the summary behind it are one line writes new messages. */
interface CompactionWriter {
  /** A line for a summary, of which only the texts are left, and its marker; unset for a summary without one. */
  compaction(marker: Message | undefined, summary: Message, context: CreateContext): UnknownObject;
  /** A line for a marker without a summary. */
  marker(message: Message, context: CreateContext): object;
  message(message: Message, context: CreateContext): readonly object[];
}

/** Lines for new messages, each marker together with the summary that answers it. */
export function writeCompactions(
  messages: readonly Message[],
  context: CreateContext,
  write: CompactionWriter,
): readonly object[] {
  const lines: object[] = [];
  let marker: Message | undefined;
  const writeBoth = (message: Message): void => {
    const summary = { ...message, parts: message.parts.filter((part) => part.type === "text") };
    const note = noteOfMessage(summary, marker === undefined ? 0 : 1);
    const asked = marker === undefined ? undefined : noteOfMessage(marker);
    const both = {
      heads: { ...asked?.heads, ...note.heads },
      parts: { ...asked?.parts, ...note.parts },
    };
    lines.push(withNote(write.compaction(marker, summary, context), both));
    marker = undefined;
  };
  const writeMarker = (): void => {
    if (marker !== undefined) lines.push(write.marker(marker, context));
    marker = undefined;
  };
  for (const message of messages.map(visibleMessage)) {
    const isMarker = markerPart(message) !== undefined;
    if (message.summary === true && (marker !== undefined || !isMarker)) {
      writeBoth(message);
      continue;
    }
    writeMarker();
    if (isMarker) marker = message;
    else lines.push(...write.message(message, context));
  }
  writeMarker();
  return lines;
}

/** What the line of a compaction notes of its marker. */
export function markerNote(marker: Message | undefined): UnknownObject {
  return marker === undefined ? { marker: false } : { markerId: marker.id };
}

/** The part of a message that is a marker and nothing else. */
export function markerPart(message: Message): CompactionPart | undefined {
  const [only] = message.parts;
  return message.parts.length === 1 && only?.type === "compaction" ? only : undefined;
}
