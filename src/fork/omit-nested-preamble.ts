import type { Edit } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";
import { CONTEXT_TAG } from "../transcript/render.ts";
import { handleOf } from "../transcript/tool-results.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { PREAMBLE_FIRST_LINE } from "./build-fork-preamble.ts";

/** Takes the preamble off a context that the parent itself had inherited: what it says is not true of the child. */
export function omitNestedPreamble(transcript: Transcript): readonly Edit[] {
  const edits: Edit[] = [];
  for (const message of transcript) {
    if (!isVisibleToModel(message)) continue;
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.type !== "text" || !part.text.startsWith(PREAMBLE_FIRST_LINE)) continue;
      const start = part.text.indexOf(`<${CONTEXT_TAG}`);
      if (start === -1) continue;
      edits.push({
        type: "replace-part",
        messageId: message.id,
        partIndex,
        part: { ...part, text: part.text.slice(start) },
        stage: "omit-nested-preamble",
        reason: "nested-preamble",
        omitted: { chars: start, handle: handleOf(message, partIndex) },
      });
    }
  }
  return edits;
}
