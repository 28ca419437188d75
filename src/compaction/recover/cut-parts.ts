import { filterCompacted } from "../../stages/boundary.ts";
import { repairPairing } from "../../stages/repair.ts";
import { withoutMedia } from "../../stages/shrink.ts";
import { applyEdits, type Edit } from "../../transcript/edit.ts";
import {
  type ContextEstimate,
  type ContextEstimateOptions,
  estimateContextTokens,
} from "../../transcript/estimate-context.ts";
import { isVisibleToModel, type Message, type Transcript } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { handleOf } from "../../transcript/tool-results.ts";
import { findLastRequest } from "../plan/window.ts";

/**
 * Edits that put a line in the place of media, for a request with too many bytes: first all before the user's last
 * request, or the older half when there are none; `all` takes every one. Empty when there is no medium left.
 */
export function dropMedia(transcript: Transcript, which: "oldest" | "all"): readonly Edit[] {
  const window = wireOf(transcript);
  const media = mediaPlaces(window);
  if (which === "all") return media.map(dropMediaEdit);
  const requestIndex = findLastRequest(window);
  const older = media.filter(({ messageIndex }) => messageIndex < requestIndex);
  return (older.length > 0 ? older : media.slice(0, Math.ceil(media.length / 2))).map(dropMediaEdit);
}

interface MediaPlace {
  readonly message: Message;
  readonly messageIndex: number;
  readonly partIndex: number;
  readonly bare: Part;
}

function mediaPlaces(window: Transcript): readonly MediaPlace[] {
  return window.flatMap((message, messageIndex) =>
    message.parts.flatMap((part, partIndex): MediaPlace[] => {
      const isShown = isVisibleToModel(message) && part.agentVisible !== false;
      const bare = isShown ? withoutMedia(part, message) : part;
      return bare === part ? [] : [{ message, messageIndex, partIndex, bare }];
    }),
  );
}

function dropMediaEdit({ message, partIndex, bare }: MediaPlace): Edit {
  return {
    type: "replace-part",
    messageId: message.id,
    partIndex,
    part: bare,
    stage: "recover-drop-media",
    reason: "media",
    omitted: { chars: 0, handle: handleOf(message, partIndex) },
  };
}

/** What a provider would be sent of a transcript, with everything in it that is hidden still marked as such. */
export function wireOf(transcript: Transcript): Transcript {
  const window = filterCompacted(transcript);
  return applyEdits(window, repairPairing(window), { at: 0 });
}

/** How large the wire of a transcript is by estimate alone: a request that was refused has no usage to go by. */
export function estimateWire(transcript: Transcript, options: ContextEstimateOptions = {}): ContextEstimate {
  return estimateContextTokens(wireOf(transcript), {
    estimator: "calibrated",
    ...options,
    epochStartIndex: Number.POSITIVE_INFINITY,
  });
}

/** The same after some edits. */
export function estimateEdited(
  transcript: Transcript,
  edits: readonly Edit[],
  options: ContextEstimateOptions = {},
): ContextEstimate {
  return estimateWire(applyEdits(transcript, edits, { at: 0 }), options);
}
