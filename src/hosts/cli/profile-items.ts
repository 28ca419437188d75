import { type FileAccess, fileAccess } from "../../stages/supersede-file-access.ts";
import { estimateTokens } from "../../text/estimate-tokens.ts";
import { safeJson } from "../../text/safe-json.ts";
import type { TokenFamily } from "../../text/token-model-families.ts";
import type { Handle } from "../../transcript/edit.ts";
import { IMAGE_CHARS } from "../../transcript/estimate-message-tokens.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { outcomeText, type Part, type ToolPart } from "../../transcript/part.ts";
import { handleOf } from "../../transcript/tool-results.ts";
import { isVisibleToModel, shownOutcome } from "../../transcript/visibility.ts";

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

export type ItemKind =
  | "system"
  | "user"
  | "agent"
  | "summary"
  | "reasoning"
  | "tool input"
  | "tool output"
  | "media";

/** Everything that takes room in a window, oldest first. A call gives two items, its input and its output. */
export function itemsOf(window: Transcript, family: TokenFamily): readonly Item[] {
  const items: Item[] = [];
  for (const message of window) {
    if (!isVisibleToModel(message)) continue;
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.agentVisible === false) continue;
      const handle = handleOf(message, partIndex);
      for (const { text, ...item } of textsOf(message, part)) {
        const tokens = estimateTokens(text, { estimator: "calibrated", family });
        if (text !== "") items.push({ ...item, handle, chars: text.length, tokens });
      }
      const media = mediaIn(part);
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
      if (part.agentVisible !== false) for (const { text } of textsOf(message, part)) chars += text.length;
  }
  return chars;
}

const MEDIA_TOKENS = IMAGE_CHARS / 4;

type ItemText = Omit<Item, "handle" | "chars" | "tokens"> & { readonly text: string };

function textsOf(message: Message, part: Part): readonly ItemText[] {
  switch (part.type) {
    case "text":
      return part.ignored ? [] : [{ kind: kindOf(message), text: part.text }];
    case "reasoning":
      return [{ kind: "reasoning", text: part.text }];
    case "tool":
      return textsOfCall(part);
    case "file":
    case "compaction":
    case "opaque":
      return [];
    default:
      return part satisfies never;
  }
}

function textsOfCall(part: ToolPart): readonly ItemText[] {
  const { tool } = part;
  const access = fileAccess(part);
  const about = { tool, ...(access && { access }) };
  const input = part.input === undefined ? "{}" : safeJson(part.input);
  const output = outcomeText(shownOutcome(part));
  return [
    { kind: "tool input", text: input, ...about },
    {
      kind: "tool output",
      text: output,
      ...about,
      ...(part.outcome.status === "failed" && { failed: true as const }),
    },
  ];
}

function kindOf({ role, summary, metadata }: Message): ItemKind {
  if (summary || metadata?.kind === "compaction_summary") return "summary";
  if (role === "assistant") return "agent";
  return role === "user" ? "user" : "system";
}

function mediaIn(part: Part): number {
  const files = part.type === "tool" && part.outcome.status === "done" ? part.outcome.attachments : [part];
  return files.filter((file) => file.type === "file" && !/^text\/|x-directory$/.test(file.mime)).length;
}
