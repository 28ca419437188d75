import type { FileAccess } from "../../stages/supersede-file-access.ts";
import { estimateTokens } from "../../text/estimate-tokens.ts";
import type { TokenFamily } from "../../text/token-model-families.ts";
import type { Handle } from "../../transcript/edit.ts";
import { IMAGE_CHARS } from "../../transcript/estimate-message-tokens.ts";
import type { Transcript } from "../../transcript/message.ts";
import { handleOf } from "../../transcript/tool-results.ts";
import { isVisibleToModel } from "../../transcript/visibility.ts";
import { mediaIn, partTexts, type TextKind } from "../inspector/view/part-texts.ts";

/** One thing that takes room in a window. */
export interface Item {
  readonly kind: ItemKind;
  /** Where it is. */
  readonly handle: Handle;
  readonly chars: number;
  readonly tokens: number;
  readonly tool?: string;
  readonly failed?: true;
  /** What a call did to which file, where that can be told. */
  readonly access?: FileAccess;
}

export type ItemKind = TextKind;

/** Everything that takes room in a window, oldest first. A call gives two items, its input and its output. */
export function itemsOf(window: Transcript, family: TokenFamily): readonly Item[] {
  const items: Item[] = [];
  for (const message of window) {
    if (!isVisibleToModel(message)) continue;
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.agentVisible === false) continue;
      const handle = handleOf(message, partIndex);
      for (const { text, side: _, ...item } of partTexts(message, part, "shown")) {
        const tokens = estimateTokens(text, { estimator: "calibrated", family });
        if (text !== "") items.push({ ...item, handle, chars: text.length, tokens });
      }
      const media = mediaIn(part, "shown");
      if (media > 0) items.push({ kind: "media", handle, chars: 0, tokens: media * MEDIA_TOKENS });
    }
  }
  return items;
}

/** The characters of everything that takes room, reasoning included. */
export function charsIn(window: Transcript): number {
  let chars = 0;
  for (const message of window) {
    if (!isVisibleToModel(message)) continue;
    for (const part of message.parts)
      if (part.agentVisible !== false)
        for (const { text } of partTexts(message, part, "shown")) chars += text.length;
  }
  return chars;
}

const MEDIA_TOKENS = IMAGE_CHARS / 4;
