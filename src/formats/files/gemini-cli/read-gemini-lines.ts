import { textOrJson } from "../../../text/json.ts";
import {
  asArray,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import type { Part, ToolOutcome, ToolPart } from "../../../transcript/part.ts";
import { filePart } from "../../content/foreign-parts.ts";
import { readUsage, type UsageNames } from "../../content/usage.ts";
import {
  type LinePiece,
  type LineReading,
  type MessageHead,
  NO_READINGS,
  timeOf,
  userHead,
} from "../../lines/line-format.ts";
import { wholePiece } from "../../lines/pieces.ts";

/** What each record of a session gives to the conversation; a record written again counts where it first stood. */
export function readGeminiLines(lines: readonly unknown[]): readonly (readonly LineReading[])[] {
  const isLive = liveLines(lines);
  const lastOf = new Map<string, number>();
  for (const [index, line] of lines.entries()) {
    const { id } = asObject(line);
    if (isLive[index] && typeof id === "string") lastOf.set(id, index);
  }
  return lines.map((line, index) => {
    const record = asObject(line);
    const key = asString(record.id);
    if (!isLive[index] || key === undefined || !isMessage(record)) return NO_READINGS;
    if (lastOf.get(key) !== index) return [{ key, head: headOf(record), pieces: [], repeats: true }];
    return [{ key, head: headOf(record), pieces: readPieces(record) }];
  });
}

/** For each record whether it counts: a rewind takes back the named one and everything behind it. */
function liveLines(lines: readonly unknown[]): readonly boolean[] {
  const isLive = lines.map(() => true);
  /** The lines of each record that counts, oldest record first. */
  const records: { readonly id: string; readonly at: number[] }[] = [];
  const placeOf = new Map<string, number>();
  for (const [index, line] of lines.entries()) {
    const { id, $rewindTo } = asObject(line);
    if (typeof $rewindTo === "string") {
      for (const record of records.splice(placeOf.get($rewindTo) ?? 0)) {
        placeOf.delete(record.id);
        for (const at of record.at) isLive[at] = false;
      }
    } else if (typeof id === "string") {
      const place = placeOf.get(id);
      if (place !== undefined) records[place]?.at.push(index);
      else {
        placeOf.set(id, records.length);
        records.push({ id, at: [index] });
      }
    }
  }
  return isLive;
}

/** Notices to the user (`info`, `warning`, `error`) are never sent. */
function isMessage({ type }: UnknownObject): boolean {
  return type === "user" || type === "gemini";
}

function headOf(record: UnknownObject): MessageHead {
  const createdAt = timeOf(record.timestamp);
  if (record.type === "user") return userHead(createdAt);
  const model = asString(record.model);
  return omitUndefined({
    role: "assistant",
    createdAt,
    usage: readUsage(record.tokens, USAGE),
    model: model === undefined ? undefined : { provider: "google", id: model },
  });
}

const USAGE: UsageNames = {
  input: "input",
  output: "output",
  reasoning: "thoughts",
  cacheRead: "cached",
  total: "total",
  inputIncludesCache: true,
};

/** Thoughts come before the text, calls behind it. */
function readPieces(record: UnknownObject): readonly LinePiece[] {
  const parts: Part[] = [
    ...asArray(record.thoughts).map(readThought),
    ...readContent(record.content),
    ...asArray(record.toolCalls).map(readCall),
  ];
  return parts.map(wholePiece);
}

/** The parts of a message's content: a text, one part, or a list of parts. */
export function readContent(content: unknown): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (Array.isArray(content)) return content.map(readPart);
  return content === undefined || content === null ? [] : [readPart(content)];
}

function readPart(value: unknown): Part {
  if (typeof value === "string") return { type: "text", text: value };
  const part = asObject(value);
  if (typeof part.text === "string") {
    return part.thought === true ? { type: "reasoning", text: part.text } : { type: "text", text: part.text };
  }
  const media = part.inlineData ?? part.fileData;
  if (media !== undefined) {
    const { mimeType, data } = asObject(media);
    return filePart({ mime: asString(mimeType), base64: asString(data) });
  }
  return { type: "opaque", name: Object.keys(part)[0] ?? "unknown" };
}

function readThought(value: unknown): Part {
  const { subject, description } = asObject(value);
  const text = [asString(subject), asString(description)].filter((each) => each !== undefined).join("\n");
  return { type: "reasoning", text };
}

function readCall(value: unknown): ToolPart {
  const call = asObject(value);
  return {
    type: "tool",
    callId: asString(call.id) ?? "",
    tool: asString(call.name) ?? "unknown",
    input: call.args,
    outcome: readOutcome(call),
  };
}

function readOutcome({ result, resultDisplay, status }: UnknownObject): ToolOutcome {
  const parts = Array.isArray(result) ? result : result === undefined || result === null ? [] : [result];
  const text = parts.map(resultText).join("\n") || (asString(resultDisplay) ?? "");
  if (status === "error" || status === "cancelled") return { status: "failed", error: text };
  if (status !== "success" && parts.length === 0) return { status: "pending" };
  const attachments = parts.map(readPart).filter((part) => part.type === "file");
  return { status: "done", output: text, attachments };
}

function resultText(value: unknown): string {
  if (typeof value === "string") return value;
  const part = asObject(value);
  if (part.functionResponse === undefined) return asString(part.text) ?? "";
  const { response } = asObject(part.functionResponse);
  const { output, error } = asObject(response);
  return textOrJson(output ?? error ?? response);
}
