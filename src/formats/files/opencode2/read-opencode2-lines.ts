import { jsonOrText } from "../../../text/json.ts";
import {
  asArray,
  asNumber,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import { createIdDeduplicator, type MessageError } from "../../../transcript/message.ts";
import type { FilePart, Part, ToolOutcome, ToolPart } from "../../../transcript/part.ts";
import { filePart, opaquePart } from "../../content/foreign-parts.ts";
import { type ResultShape, readResultContent } from "../../content/result-content.ts";
import { readCompactionLine } from "../../lines/compaction-lines.ts";
import {
  type LinePiece,
  type LineReading,
  type MessageHead,
  NO_READINGS,
  userHead,
} from "../../lines/line-format.ts";
import { splitTexts, syntheticText, wholePiece } from "../../lines/pieces.ts";
import { readTokens } from "../../wires/opencode/decode-messages.ts";

/** What each stored message gives to the conversation; a switch of agent, model or folder gives nothing. */
export function readOpencode2Lines(lines: readonly unknown[]): readonly (readonly LineReading[])[] {
  const name = createIdDeduplicator();
  return lines.map((line, index) => {
    const message = asObject(line);
    return readMessage(message, name(asString(message.id) ?? `message-${index + 1}`));
  });
}

function readMessage(message: UnknownObject, key: string): readonly LineReading[] {
  const createdAt = asNumber(asObject(message.time).created);
  const fromUser = (pieces: readonly LinePiece[]) =>
    pieces.length === 0 ? NO_READINGS : [{ key, head: userHead(createdAt), pieces }];
  switch (message.type) {
    case "user":
      return fromUser(readUser(message).map(({ piece }) => piece));
    case "synthetic":
    case "skill":
      return fromUser(textPieces(message, "text"));
    case "shell":
      return fromUser([syntheticText(shellText(message))]);
    case "system":
      return [{ key, head: systemHead(createdAt), pieces: textPieces(message, "text") }];
    case "assistant": {
      const pieces = asArray(message.content).map((each) => wholePiece(readContent(asObject(each))));
      return [{ key, head: assistantHead(message, createdAt), pieces }];
    }
    case "compaction":
      return readCompaction(message, key, createdAt);
    default:
      return NO_READINGS;
  }
}

function systemHead(createdAt: number | undefined): MessageHead {
  return omitUndefined({ role: "system", createdAt });
}

function shellText({ command, output }: UnknownObject): string {
  return `$ ${asString(command) ?? ""}\n${asString(asObject(output).output) ?? ""}`;
}

/** One field of a user's message that is a piece: a skill, the text or a stretch of it, a file. */
interface UserField {
  readonly from: "skills" | "text" | "files";
  /** Its place in that list, or among the stretches of the text. */
  readonly place: number;
  readonly piece: LinePiece;
}

/** The fields of a user's message, in the order in which the model reads them: skills, text, files. */
export function readUser(message: UnknownObject): readonly UserField[] {
  const skills = asArray(message.skills).map(
    (skill, place): UserField => ({
      from: "skills",
      place,
      piece: syntheticText(asString(asObject(skill).text) ?? ""),
    }),
  );
  const texts = splitTexts(message, "text").map(
    (text, place): UserField => ({ from: "text", place, piece: wholePiece({ type: "text", text }) }),
  );
  const files = asArray(message.files).map(
    (file, place): UserField => ({ from: "files", place, piece: wholePiece(readFile(file)) }),
  );
  return inNotedOrder(message, [...skills, ...texts, ...files]);
}

/** An edit may have put a text behind a file, for which the message has no place: the order is noted then. */
function inNotedOrder(message: UnknownObject, fields: readonly UserField[]): readonly UserField[] {
  const order = asArray(asObject(message.carryover).order);
  if (order.length !== fields.length) return fields;
  const noted = order.flatMap((index) => fields[asNumber(index) ?? -1] ?? []);
  return new Set(noted).size === fields.length ? noted : fields;
}

function textPieces(message: UnknownObject, field: string): readonly LinePiece[] {
  return splitTexts(message, field).map(syntheticText);
}

/** The host asks at the newest completed compaction: its summary, and the newest turns as a text. */
function readCompaction(
  message: UnknownObject,
  key: string,
  createdAt: number | undefined,
): readonly LineReading[] {
  const { status, reason, recent } = message;
  const isAsked = asString(asObject(message.carryover).markerId) !== undefined;
  // One that failed or still runs is not shown to the model, but for one that we wrote.
  if (status !== "completed" && !isAsked) return NO_READINGS;
  const trigger = reason === "manual" ? ("manual" as const) : ("auto" as const);
  const kept = asString(recent) ?? "";
  return readCompactionLine({ ...message, timestamp: createdAt }, key, {
    marker: { type: "compaction", trigger },
    summary: [
      ...textPieces(message, "summary").filter(isNotBlank),
      ...(kept.trim() === "" ? [] : [syntheticText(kept)]),
    ],
  });
}

function isNotBlank(piece: LinePiece): boolean {
  return piece.half === "whole" && piece.part.type === "text" && piece.part.text.trim() !== "";
}

function assistantHead(message: UnknownObject, createdAt: number | undefined): MessageHead {
  const { providerID, id } = asObject(message.model);
  const provider = asString(providerID);
  const modelId = asString(id);
  return omitUndefined({
    role: "assistant",
    createdAt,
    finish: asString(message.finish),
    error: readError(message.error),
    usage: message.tokens === undefined ? undefined : readTokens(message.tokens),
    model: provider === undefined || modelId === undefined ? undefined : { provider, id: modelId },
  });
}

function readError(error: unknown): MessageError | undefined {
  const { type, message } = asObject(error);
  return typeof message === "string" ? { name: asString(type) ?? "error", text: message } : undefined;
}

function readContent(content: UnknownObject): Part {
  const { type, text } = content;
  if (type === "text" && typeof text === "string") return { type, text };
  if (type === "reasoning" && typeof text === "string") return { type, text };
  // What the provider itself ran only the provider can read.
  return type === "tool" && content.executed !== true ? readTool(content) : opaquePart(type);
}

function readTool({ id, name, state }: UnknownObject): ToolPart {
  const { input } = asObject(state);
  return {
    type: "tool",
    callId: asString(id) ?? "",
    tool: asString(name) ?? "unknown",
    input: typeof input === "string" ? jsonOrText(input) : input,
    outcome: readOutcome(asObject(state)),
  };
}

function readOutcome({ status, content, error }: UnknownObject): ToolOutcome {
  if (status === "completed") return { status: "done", ...readResultContent(asArray(content), RESULT_SHAPE) };
  if (status !== "error") return { status: "pending" };
  const { output } = readResultContent(asArray(content), RESULT_SHAPE);
  const said = asString(asObject(error).message) ?? "";
  return { status: "failed", error: output === "" ? said : `${said}\n${output}` };
}

/** How a finished call holds what the tool gave. */
export const RESULT_SHAPE: ResultShape = { textType: "text", readFile };

/** A file of a user's message, or of a tool's result. */
function readFile(value: unknown): FilePart {
  const { mime, name, data, uri } = asObject(value);
  return filePart({
    mime: asString(mime),
    filename: asString(name),
    base64: asString(data),
    url: asString(uri),
  });
}
