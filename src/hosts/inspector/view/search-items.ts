import type { Transcript } from "../../../transcript/message.ts";
import { handleOf } from "../../../transcript/tool-results.ts";
import { partTexts } from "./part-texts.ts";
import type { SearchMatch } from "./types.ts";

/** Every item whose text holds the query, whatever its case; oldest first. An empty query is nowhere. */
export function searchItems(transcript: Transcript, query: string): readonly SearchMatch[] {
  if (query.trim() === "") return [];
  const pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
  const matches: SearchMatch[] = [];
  for (const [index, message] of transcript.entries()) {
    for (const [partIndex, part] of message.parts.entries()) {
      for (const { text, side, tool = "" } of partTexts(message, part, "recorded")) {
        const found = countIn(text, pattern);
        // The name of a tool is no part of its texts, but people look for it.
        const isNamed = side === "input" && found.count === 0 && countIn(tool, pattern).count > 0;
        if (found.count === 0 && !isNamed) continue;
        matches.push({
          index,
          key: `${handleOf(message, partIndex)}/${side}`,
          place: { messageId: message.id, partIndex, side },
          count: Math.max(1, found.count),
          excerpt: excerptAt(text, found),
        });
      }
    }
  }
  return matches;
}

interface Found {
  readonly count: number;
  readonly first: number;
  readonly chars: number;
}

function countIn(text: string, pattern: RegExp): Found {
  let count = 0;
  let first = 0;
  let chars = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (count++ > 0) continue;
    first = match.index;
    chars = match[0].length;
  }
  return { count, first, chars };
}

const AROUND_CHARS = 40;

function excerptAt(text: string, { first, chars }: Found): string {
  const start = Math.max(0, first - AROUND_CHARS);
  const end = Math.min(text.length, first + chars + AROUND_CHARS);
  const shown = text.slice(start, end).replace(/\s+/g, " ").trim().toWellFormed();
  return `${start > 0 ? "…" : ""}${shown}${end < text.length ? "…" : ""}`;
}
