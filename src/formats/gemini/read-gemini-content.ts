import type { Block, CallBlock, ItemContent, ResultBlock } from "../blocks/block-adapter.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";
import { readFunctionResponse } from "./function-response.ts";
import type { GeminiContent } from "./gemini-wire.ts";
import { readGeminiFile } from "./read-gemini-file.ts";
import { partsOf } from "./read-gemini-wire.ts";

/** Reads one content. */
export function readGeminiContent(item: GeminiContent): ItemContent<Fields> {
  const { role } = fields(item);
  return {
    role: role === "model" ? "assistant" : role === "system" ? "system" : "user",
    blocks: partsOf(item).map((part) => readPart(fields(part))),
  };
}

function readPart(value: Fields): Block<Fields> {
  const { text, thought, functionCall, functionResponse, inlineData, fileData } = value;
  if (functionCall !== undefined) return readCall(value);
  if (functionResponse !== undefined) return readResponse(value);
  if (inlineData !== undefined || fileData !== undefined)
    return { type: "part", part: readGeminiFile(value), value };
  if (typeof text !== "string") {
    const name = Object.keys(value).find((field) => !BESIDE.includes(field)) ?? "unknown";
    return { type: "part", part: { type: "opaque", name }, value };
  }
  // A stream may end with an empty text that only carries the signature.
  const isThought = thought === true || (text === "" && value.thoughtSignature !== undefined);
  return { type: "part", part: { type: isThought ? "reasoning" : "text", text }, value };
}

const BESIDE: readonly string[] = ["thought", "thoughtSignature", "videoMetadata"];

function readCall(value: Fields): CallBlock<Fields> {
  const { id, name, args } = fields(value.functionCall);
  return compact({
    type: "call" as const,
    callId: stringField(id) || undefined,
    tool: stringField(name) ?? "unknown",
    input: args ?? {},
    value,
  }) as CallBlock<Fields>;
}

function readResponse(value: Fields): ResultBlock<Fields> {
  const response = fields(value.functionResponse);
  return compact({
    type: "result" as const,
    callId: stringField(response.id) || undefined,
    tool: stringField(response.name),
    outcome: readFunctionResponse(response),
    value,
  }) as ResultBlock<Fields>;
}
