import { EXPECTED_FORK_STEPS } from "../../../fork/choose-fork-way.ts";
import type { FormatName } from "../../../formats/detect-format.ts";
import { filterCompacted } from "../../../stages/filter-compacted.ts";
import type { CacheProfile } from "../../../stages/provider-cache-profiles.ts";
import type { Transcript } from "../../../transcript/message.ts";
import { renderMessage } from "../../../transcript/render.ts";
import { isVisibleToModel } from "../../../transcript/visibility.ts";
import { cacheSum } from "./cache-sum.ts";
import { foldNow } from "./fold-now.ts";
import type { CompactionPreview, CompactionPreviewOptions } from "./types.ts";

/** What a compaction would leave if it were made now, with the summary that needs no model. */
export function previewCompactionOf(
  { recorded, format, windowTokens, profile, tokensOf }: CompactionSource,
  { keepTokens }: CompactionPreviewOptions,
): CompactionPreview {
  const folded = foldNow(recorded, { format, windowTokens, keepTokens });
  if (folded.status === "unchanged")
    return {
      status: "nothing",
      reason: WHY_NOT[folded.reason] ?? `Nothing was compacted: ${folded.reason}.`,
    };
  const { plan, summary, messages, tokensAfter } = folded;
  const { request, tokensBefore, foldedIds, keptIds, firstKeptId } = plan;
  const text = textOf(messages);
  const firstKeptIndex = recorded.findIndex(({ id }) => id === firstKeptId);
  return {
    status: "planned",
    summary,
    text,
    foldedMessages: foldedIds.length,
    keptMessages: keptIds.length,
    ...(firstKeptIndex !== -1 && { firstKeptIndex }),
    tokensBefore,
    tokensAfter,
    charsBefore: textOf(filterCompacted(recorded)).length,
    charsAfter: text.length,
    request: {
      system: request.system,
      prompt: request.prompt,
      tokens: tokensOf(request.system) + tokensOf(request.prompt),
    },
    cache: cacheSum({
      profile,
      unchangedTokens: tokensBefore,
      changedTokens: tokensAfter,
      sharedTokens: 0,
      steps: EXPECTED_FORK_STEPS,
    }),
  };
}

/** A conversation at the moment of a compaction. */
export interface CompactionSource {
  readonly recorded: Transcript;
  readonly format: FormatName;
  readonly windowTokens: number;
  readonly profile: CacheProfile;
  readonly tokensOf: (text: string) => number;
}

const WHY_NOT: Readonly<Record<string, string>> = {
  empty: "There is nothing to compact yet.",
  "nothing-old": "Everything is recent enough to stay word for word.",
  "too-little": "What is old is too little to be worth a summary.",
  "no-gain": "A summary would save less than a tenth, so nothing is done.",
  "lost-content": "Something that must stay would be lost, so nothing is done.",
};

function textOf(messages: Transcript): string {
  return messages.filter(isVisibleToModel).map(renderMessage).join("");
}
