import { safeJson } from "../text/safe-json.ts";
import type { Handle } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { type FilePart, outcomeText, type Part } from "../transcript/part.ts";
import { handleOf, isCleared } from "../transcript/tool-results.ts";

/** What a handle names in a transcript: a part by `<messageId>/<partIndex>`, or a whole message by its id. */
export function textAt(
  handle: Handle,
  find: (id: MessageId) => Message | undefined,
): RecalledText | undefined {
  const message = find(handle);
  if (message !== undefined) return { text: messageText(message) };
  const slash = handle.lastIndexOf("/");
  const part = /^\d{1,9}$/.test(handle.slice(slash + 1))
    ? find(handle.slice(0, Math.max(0, slash)))?.parts[Number(handle.slice(slash + 1))]
    : undefined;
  if (part === undefined) return undefined;
  const text = partText(part) ?? "";
  return part.type === "tool" && part.input !== undefined ? { text, input: safeJson(part.input) } : { text };
}

export interface RecalledText {
  readonly text: string;
  /** What the tool was asked, for the part of a call. */
  readonly input?: string;
}

/** Everything that the owner's messages hold and the model does not see, newest message first, each text under its handle. */
export function* textsOutOfSight(
  base: Transcript,
  marked: ReadonlyMap<MessageId, Message>,
): Generator<{ readonly handle: Handle; readonly text: string }, void, undefined> {
  for (const message of base.toReversed()) {
    const shown = marked.get(message.id);
    for (const [partIndex, part] of message.parts.entries()) {
      const text = partText(part);
      if (text === undefined || text === "" || text === textInSight(shown?.parts[partIndex])) continue;
      yield { handle: handleOf(message, partIndex), text };
    }
  }
}

function textInSight(part: Part | undefined): string | undefined {
  if (part === undefined || part.agentVisible === false) return undefined;
  return part.type === "tool" && isCleared(part) ? undefined : partText(part);
}

function partText(part: Part): string | undefined {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool":
      return part.outcome.status === "pending" ? undefined : outcomeText(part.outcome);
    case "file":
      return fileLine(part);
    case "compaction":
    case "opaque":
      return undefined;
    default:
      part satisfies never;
      return undefined;
  }
}

function messageText({ parts }: Message): string {
  return parts
    .flatMap((part) => {
      const text = partText(part);
      const call =
        part.type === "tool"
          ? [`[Tool: ${part.tool}]${part.input === undefined ? "" : ` ${safeJson(part.input)}`}`]
          : [];
      return text === undefined ? call : [...call, text];
    })
    .join("\n");
}

function fileLine({ mime, filename }: FilePart): string {
  return `[File: ${filename === undefined ? mime : `${mime} ${filename}`}]`;
}
