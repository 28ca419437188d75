import { textOrJson } from "../../../text/json.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import type { FilePart, ToolOutcome } from "../../../transcript/part.ts";
import type { Block, CallBlock, ItemContent, ResultBlock } from "../../blocks/block-adapter.ts";
import { isSigned } from "../../blocks/thought-signature.ts";
import { filePart, opaquePart } from "../../content/foreign-parts.ts";

/** Reads one content. */
export function readGeminiContent(item: GeminiContent): ItemContent<UnknownObject> {
  const { role } = asObject(item);
  return {
    role: role === "model" ? "assistant" : role === "system" ? "system" : "user",
    blocks: partsOf(item).map((part) => readPart(asObject(part))),
  };
}

/** A content of Google's Gemini API. Parts and fields that are not known are kept as they are. */
export interface GeminiContent {
  readonly role?: string | undefined;
  readonly parts?: unknown;
}

/** A request of that API; `systemInstruction` and `model` are looked at, everything else is kept. */
export interface GeminiRequest {
  readonly contents: readonly GeminiContent[];
  readonly systemInstruction?: unknown;
  readonly system_instruction?: unknown;
}

/** What the Gemini format reads: a list of contents, or a whole request. */
export type GeminiWire = readonly GeminiContent[] | GeminiRequest;

/** The contents of a wire, its system instruction first. */
export function contentsOf(wire: GeminiWire): readonly GeminiContent[] {
  if (Array.isArray(wire)) return wire;
  if (typeof wire !== "object" || wire === null) return [];
  const { contents, systemInstruction, system_instruction: snakeCase } = wire as GeminiRequest;
  if (!Array.isArray(contents)) return [];
  const system = systemInstruction ?? snakeCase;
  if (system === undefined || system === null) return contents;
  const parts = typeof system === "string" ? [{ text: system }] : (system as GeminiContent).parts;
  return [{ ...(typeof system === "object" && system), role: "system", parts }, ...contents];
}

/** The parts of a content, however broken it is. */
export function partsOf(content: unknown): readonly unknown[] {
  return asArray(asObject(content).parts);
}

function readPart(value: UnknownObject): Block<UnknownObject> {
  const { text, thought, functionCall, functionResponse, inlineData, fileData } = value;
  if (functionCall !== undefined) return readCall(value);
  if (functionResponse !== undefined) return readResponse(value);
  if (inlineData !== undefined || fileData !== undefined)
    return { type: "part", part: readGeminiFile(value), value };
  if (typeof text !== "string") {
    const name = Object.keys(value).find((field) => !ANNOTATION_FIELDS.includes(field)) ?? "unknown";
    return { type: "part", part: opaquePart(name, value), value };
  }
  // A stream may end with an empty text that only carries the signature.
  const isThought = thought === true || (text === "" && value.thoughtSignature !== undefined);
  return { type: "part", part: { type: isThought ? "reasoning" : "text", text }, value };
}

const ANNOTATION_FIELDS: readonly string[] = ["thought", "thoughtSignature", "videoMetadata"];

function readCall(value: UnknownObject): CallBlock<UnknownObject> {
  const { id, name, args } = asObject(value.functionCall);
  return {
    type: "call",
    callId: asString(id) || undefined,
    tool: asString(name) ?? "unknown",
    input: args ?? {},
    isSigned: isSigned(value),
    value,
  };
}

function readResponse(value: UnknownObject): ResultBlock<UnknownObject> {
  const response = asObject(value.functionResponse);
  return {
    type: "result",
    callId: asString(response.id) || undefined,
    tool: asString(response.name),
    outcome: readFunctionResponse(response),
    value,
  };
}

/** The outcome in a function response: the text under its usual names, else the JSON of the whole. */
function readFunctionResponse(functionResponse: UnknownObject): ToolOutcome {
  const { response, parts } = functionResponse;
  const name = textName(response);
  const text =
    name === undefined ? textOrJson(response) : (asString(asObject(response)[name]) ?? textOrJson(response));
  if (name === "error") return { status: "failed", error: text };
  return { status: "done", output: text, attachments: asArray(parts).map(readGeminiFile) };
}

const TEXT_NAMES: readonly string[] = ["output", "result", "content", "error"];

/** The field that holds the text, if there is one and no other field is an object. */
export function textName(response: unknown): string | undefined {
  const entries = Object.entries(asObject(response));
  const name = TEXT_NAMES.find((field) => typeof asObject(response)[field] === "string");
  const isPlain = entries.every(([, value]) => typeof value !== "object" || value === null);
  return isPlain ? name : undefined;
}

/** A file part of inline or stored data; total. */
export function readGeminiFile(part: unknown): FilePart {
  const { inlineData, fileData } = asObject(part);
  const data = asObject(inlineData ?? fileData);
  return filePart({
    mime: asString(data.mimeType) ?? asString(data.mime_type),
    filename: asString(data.displayName) ?? asString(data.fileUri),
    base64: asString(data.data),
  });
}
