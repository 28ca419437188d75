import { textOrJson } from "../../../text/json.ts";
import {
  asArray,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import { outcomeText } from "../../../transcript/content.ts";
import type { FilePart, ToolOutcome, ToolPart } from "../../../transcript/part.ts";
import type { Block, CallBlock, ItemContent, ResultBlock } from "../../blocks/block-adapter.ts";
import { createBlockFormat, type WireFormat } from "../../blocks/create-block-format.ts";
import { createFileFilter, filePart, opaquePart, textFor } from "../../blocks/message-content.ts";
import { isSigned, NO_SIGNATURE, NO_SIGNATURES } from "../../blocks/thought-signature.ts";
import { findGeminiFaults, isSigningModel, isUserText, partsOf } from "./find-faults.ts";

/**
 * Requests of Google's Gemini API, or their bare lists of contents. A content is a list of parts; the responses to
 * calls are in the content behind the calls.
 */
export const gemini: WireFormat<GeminiWire, GeminiRequest> = /* @__PURE__ */ createBlockFormat<
  GeminiWire,
  GeminiContent,
  UnknownObject,
  GeminiRequest
>(
  {
    name: "gemini",
    results: "together",
    system: "apart",
    merges: (role) => (role === "assistant" ? "always" : "never"),
    open: contentsOf,
    close: withContents,
    read: readGeminiContent,
    normalizeItems: signFirstCalls,
    encoding: { list: "contents", maxCallIdChars: 64, notInToolNames: /[^a-zA-Z0-9_.:-]/g },

    write: ({ role, base, blocks }) => [
      { ...base, role: role === "assistant" ? "model" : role, parts: blocks.map(({ value }) => value) },
    ],

    writePart(part, { value }) {
      const text = part.type === "reasoning" && value !== undefined ? part.text : textFor(part);
      if (text === undefined || text.trim() === "") return undefined;
      const isSameKind = value !== undefined && (part.type === "text" || part.type === "reasoning");
      return isSameKind ? { ...withoutSignature(value), text } : { text };
    },

    writeCall({ tool, input }, { value }) {
      const functionCall = { ...asObject(value?.functionCall), name: tool, args: input ?? {} };
      return value === undefined ? { functionCall } : { ...withoutOwnSignature(value), functionCall };
    },

    renameCall(value, id) {
      // Ids are optional here: a call that has none is found by its name and place.
      const name = value.functionCall === undefined ? "functionResponse" : "functionCall";
      if (!asObject(value[name]).id) return value;
      return { ...withoutOwnSignature(value), [name]: { ...asObject(value[name]), id } };
    },

    writeResult(part, { value, call }) {
      const id = asString(asObject(call?.functionCall).id);
      const old = value?.functionResponse ?? { ...(id !== undefined && { id }), name: part.tool };
      return { ...value, functionResponse: writeFunctionResponse(part, asObject(old)) };
    },
  },
  findGeminiFaults,
);

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
function contentsOf(wire: GeminiWire): readonly GeminiContent[] {
  if (Array.isArray(wire)) return wire;
  if (typeof wire !== "object" || wire === null) return [];
  const { contents, systemInstruction, system_instruction: snakeCase } = wire as GeminiRequest;
  if (!Array.isArray(contents)) return [];
  const system = systemInstruction ?? snakeCase;
  if (system === undefined || system === null) return contents;
  const parts = typeof system === "string" ? [{ text: system }] : (system as GeminiContent).parts;
  return [{ ...(typeof system === "object" && system), role: "system", parts }, ...contents];
}

/** The wire with other contents in it. */
function withContents(wire: GeminiWire, items: readonly GeminiContent[]): GeminiWire {
  if (Array.isArray(wire) || typeof wire !== "object" || wire === null) return items;
  const { systemInstruction, system_instruction: snakeCase, ...request } = wire as GeminiRequest;
  const contents = items.filter((item) => item?.role !== "system");
  const systems = items.filter((item) => item?.role === "system");
  if (systems.length === 0) return { ...request, contents };
  const old = systemInstruction ?? snakeCase;
  const parts = systems.flatMap(partsOf);
  const system = isSame(old, parts) ? old : { ...(typeof old === "object" && old), parts };
  const name =
    systemInstruction === undefined && snakeCase !== undefined ? "system_instruction" : "systemInstruction";
  return { ...request, [name]: system, contents };
}

function isSame(system: unknown, parts: readonly unknown[]): boolean {
  if (typeof system === "string")
    return parts.length === 1 && (parts[0] as { text?: unknown }).text === system;
  if (typeof system !== "object" || system === null) return false;
  const old = (system as GeminiContent).parts;
  return (
    Array.isArray(old) && old.length === parts.length && old.every((part, index) => part === parts[index])
  );
}

/** Reads one content. */
function readGeminiContent(item: GeminiContent): ItemContent<UnknownObject> {
  const { role } = asObject(item);
  return {
    role: role === "model" ? "assistant" : role === "system" ? "system" : "user",
    blocks: partsOf(item).map((part) => readPart(asObject(part))),
  };
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

/** The function response of an edited result; other fields beside the text are kept. */
function writeFunctionResponse(part: ToolPart, old: UnknownObject): UnknownObject {
  const text = outcomeText(part.outcome);
  const name = textName(old.response);
  const isFailed = part.outcome.status === "failed";
  const isKept = createFileFilter(part);
  const files = asArray(old.parts).filter((file) => isKept(readGeminiFile(file)));
  const response =
    name !== undefined && (name === "error") === isFailed
      ? { ...asObject(old.response), [name]: text }
      : { [isFailed ? "error" : "output"]: text };
  return omitUndefined({ ...old, response, parts: files.length === 0 ? undefined : files });
}

const TEXT_NAMES: readonly string[] = ["output", "result", "content", "error"];

/** The field that holds the text, if there is one and no other field is an object. */
function textName(response: unknown): string | undefined {
  const entries = Object.entries(asObject(response));
  const name = TEXT_NAMES.find((field) => typeof asObject(response)[field] === "string");
  const isPlain = entries.every(([, value]) => typeof value !== "object" || value === null);
  return isPlain ? name : undefined;
}

/** A file part of inline or stored data; total. */
function readGeminiFile(part: unknown): FilePart {
  const { inlineData, fileData } = asObject(part);
  const data = asObject(inlineData ?? fileData);
  return filePart({
    mime: asString(data.mimeType) ?? asString(data.mime_type),
    filename: asString(data.displayName) ?? asString(data.fileUri),
    base64: asString(data.data),
  });
}

/**
 * In the current turn the first call of each step is signed where the model signs at all, and only a signature of its
 * own may be on the calls beside it. The same reference when nothing changed.
 */
function signFirstCalls(items: readonly GeminiContent[], wire: GeminiWire): readonly GeminiContent[] {
  if (!usesSignatures(wire)) return items;
  const start = items.findLastIndex(
    (item) => asObject(item).role !== "model" && partsOf(item).some((part) => isUserText(asObject(part))),
  );
  let isChanged = false;
  const signed = items.map((item, index) => {
    const parts = index > start && asObject(item).role === "model" ? signParts(partsOf(item)) : undefined;
    if (parts === undefined) return item;
    isChanged = true;
    return { ...item, parts };
  });
  return isChanged ? signed : items;
}

function usesSignatures(wire: GeminiWire): boolean {
  return (
    isSigningModel(asString(asObject(wire).model) ?? "") ||
    contentsOf(wire).some((item) => partsOf(item).some((part) => isCall(part) && isSigned(part)))
  );
}

function isCall(part: unknown): boolean {
  return asObject(part).functionCall !== undefined;
}

function signParts(parts: readonly unknown[]): readonly unknown[] | undefined {
  const first = parts.findIndex(isCall);
  if (first === -1) return undefined;
  const firstSignature = asString(asObject(parts[first]).thoughtSignature);
  const isCopied = (part: unknown, index: number): boolean => {
    const signature = asString(asObject(part).thoughtSignature) ?? "";
    return (
      index !== first &&
      isCall(part) &&
      (NO_SIGNATURES.includes(signature) || (signature !== "" && signature === firstSignature))
    );
  };
  if (isSigned(parts[first]) && !parts.some(isCopied)) return undefined;
  return parts.map((part, index) => {
    if (index === first && !isSigned(part)) return { ...asObject(part), thoughtSignature: NO_SIGNATURE };
    return isCopied(part, index) ? withoutSignature(asObject(part)) : part;
  });
}

/** A signature covers the call as it was; where there was one, something has to stand for it. */
function withoutOwnSignature(part: UnknownObject): UnknownObject {
  return isSigned(part) ? { ...part, thoughtSignature: NO_SIGNATURE } : part;
}

/** A part without its signature, which is valid only for the original content. */
function withoutSignature(part: UnknownObject): UnknownObject {
  const { thoughtSignature: _, ...rest } = part;
  return rest;
}
