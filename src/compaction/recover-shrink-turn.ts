import type { Edit } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";
import { outcomeText } from "../transcript/part.ts";
import { handleOf, toolResults } from "../transcript/tool-results.ts";
import { cutOutput } from "./recover-cut-parts.ts";
import { findLastRequest } from "./recover-request.ts";

/** Edits that cut the outputs since the user's last request to a quarter of what an output may otherwise have. */
export function shrinkTurn(window: Transcript, outputMaxChars: number): readonly Edit[] {
  const maxChars = Math.floor(outputMaxChars * SHRUNKEN_SHARE);
  return toolResults(window.slice(findLastRequest(window) + 1)).flatMap(
    ({ message, partIndex, part, text }): Edit[] => {
      const cut = cutOutput(part, maxChars);
      if (cut === part) return [];
      const keptChars = outcomeText(cut.outcome).length;
      return [
        {
          type: "replace-part",
          messageId: message.id,
          partIndex,
          part: cut,
          stage: "recover-shrink-turn",
          reason: "recovery",
          omitted: { chars: Math.max(0, text.length - keptChars), handle: handleOf(message, partIndex) },
        },
      ];
    },
  );
}

const SHRUNKEN_SHARE = 0.25;
