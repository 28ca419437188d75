import { handleOf } from "../../transcript/content.ts";
import type { Transcript } from "../../transcript/message.ts";
import { partTexts } from "./part-texts.ts";
import type { SearchMatch } from "./types.ts";

/** Every item whose text contains the query, ignoring case; oldest first. */
export function searchItems(transcript: Transcript, query: string): readonly SearchMatch[] {
  const pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
  return transcript.flatMap((message, index) =>
    message.parts.flatMap((part, partIndex) =>
      partTexts(message, part, "recorded")
        // A tool's name is not part of its texts, but it is searched for too.
        .filter(({ text, side, tool = "" }) => pattern.test(text) || (side === "input" && pattern.test(tool)))
        .map(({ side }) => ({ index, key: `${handleOf(message, partIndex)}/${side}` })),
    ),
  );
}
