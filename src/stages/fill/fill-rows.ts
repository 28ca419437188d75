import type { Message, Transcript } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { filePlaceholder } from "../../transcript/render.ts";
import { isVisibleToModel } from "../../transcript/visibility.ts";
import type { FillSource } from "./fill-source.ts";
import { type FillCall, readCall } from "./read-call.ts";
import { createRowDraft, type RowTable } from "./row-table.ts";
import { splitRows } from "./split-rows.ts";

/** A transcript by its rows: messages hold parts, parts hold segments, segments hold rows. */
export interface FillRows {
  readonly messages: readonly Message[];
  /** Oldest first, as are segments and rows. */
  readonly parts: readonly FillPart[];
  readonly segments: readonly FillSegment[];
  readonly rows: RowTable;
}

/** A part of a message with what must be written as soon as any of it is. */
export interface FillPart {
  readonly message: Message;
  readonly messageNumber: number;
  readonly partIndex: number;
  readonly part: Part;
  /** How many results are newer. */
  readonly callsSince: number;
  /** The file that the call is about. */
  readonly path: string | undefined;
  readonly call: FillCall | undefined;
  readonly headChars: number;
  /** How much it brings into a window. */
  readonly chars: number;
  readonly firstSegment: number;
  readonly endSegment: number;
}

/** One text of a part: a message's own, the head of a call, a long string of its input, its output. */
export interface FillSegment {
  readonly source: FillSource;
  readonly text: string;
  readonly partNumber: number;
  readonly firstRow: number;
  readonly endRow: number;
}

/** Reads the visible part of a transcript into rows. */
export function fillRows(transcript: Transcript): FillRows {
  const messages = transcript.filter(isVisibleToModel);
  const parts: FillPart[] = [];
  const segments: FillSegment[] = [];
  const rows = createRowDraft();
  let callsSince = countResults(messages);
  for (const [messageNumber, message] of messages.entries()) {
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.agentVisible === false) continue;
      const call = part.type === "tool" ? readCall(part) : undefined;
      if (part.type === "tool" && part.outcome.status !== "pending") callsSince--;
      const firstSegment = segments.length;
      for (const { source, text } of call?.texts ?? ownTexts(part, message)) {
        const firstRow = rows.count();
        splitRows(text, rows);
        if (source === "call" && rows.count() > firstRow + 1) rows.cutTo(firstRow + 1);
        if (rows.count() === firstRow) continue;
        segments.push({ source, text, partNumber: parts.length, firstRow, endRow: rows.count() });
      }
      if (segments.length === firstSegment) continue;
      const { path, headChars } = call ?? { path: undefined, headChars: 0 };
      const chars = call?.chars ?? (part.type === "text" ? part.text.length : 0);
      const endSegment = segments.length;
      parts.push({
        message,
        messageNumber,
        partIndex,
        part,
        callsSince,
        path,
        call,
        headChars,
        chars,
        firstSegment,
        endSegment,
      });
    }
  }
  return { messages, parts, segments, rows: rows.table() };
}

function countResults(messages: Transcript): number {
  let results = 0;
  for (const { parts } of messages) {
    for (const part of parts)
      if (part.type === "tool" && part.agentVisible !== false && part.outcome.status !== "pending") results++;
  }
  return results;
}

/** Nobody types more at once: a longer text of a user was pasted, or printed by a program that the user ran. */
const MAX_SAID_CHARS = 8_000;

interface SourcedText {
  readonly source: FillSource;
  readonly text: string;
}

function ownTexts(part: Part, { role }: Message): readonly SourcedText[] {
  const source = role === "assistant" ? "agent" : "user";
  if (part.type === "file") return [{ source, text: filePlaceholder(part) }];
  if (part.type !== "text" || part.ignored || part.own) return [];
  const isPasted = source === "user" && part.text.length > MAX_SAID_CHARS;
  return [{ source: isPasted ? "output" : source, text: part.text }];
}
