import type { Edit } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { handleOf, isCleared } from "../transcript/tool-results.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { mediaText, withoutAttachments } from "./recover-cut-parts.ts";
import { findLastRequest } from "./recover-request.ts";
import { wireOf } from "./recover-wire.ts";

/**
 * Edits that put a line in the place of media, for a request with too many bytes: first all before the user's last
 * request, or the older half when there are none; `all` takes every one. Empty when there is no medium left.
 */
export function dropMedia(transcript: Transcript, which: "oldest" | "all"): readonly Edit[] {
  const window = wireOf(transcript);
  const media = mediaPlaces(window);
  if (which === "all") return media.map(drop);
  const requestIndex = findLastRequest(window);
  const older = media.filter(({ messageIndex }) => messageIndex < requestIndex);
  return (older.length > 0 ? older : media.slice(0, Math.ceil(media.length / 2))).map(drop);
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

function withoutMedia(part: Part, message: Message): Part {
  if (part.type === "file") return mediaText(part, message);
  return part.type === "tool" && !isCleared(part) ? withoutAttachments(part) : part;
}

function drop({ message, partIndex, bare }: MediaPlace): Edit {
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
