import {
  asArray,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import { outcomeText } from "../../../transcript/content.ts";
import type { ToolPart } from "../../../transcript/part.ts";
import { createBlockFormat, type WireFormat } from "../../blocks/create-block-format.ts";
import { isSigned, NO_SIGNATURE, NO_SIGNATURES } from "../../blocks/thought-signature.ts";
import { createFileFilter } from "../../content/result-content.ts";
import { textFor } from "../../content/text-blocks.ts";
import { findGeminiFaults, isSigningModel, isUserText } from "./find-faults.ts";
import {
  contentsOf,
  type GeminiContent,
  type GeminiRequest,
  type GeminiWire,
  partsOf,
  readGeminiContent,
  readGeminiFile,
  textName,
} from "./read-content.ts";

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
