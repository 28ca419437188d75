import type { BlockAdapter } from "../blocks/block-adapter.ts";
import { textFor } from "../blocks/write-text.ts";
import { type Fields, fields, stringField } from "../fields.ts";
import { writeFunctionResponse } from "./function-response.ts";
import { contentsOf, type GeminiContent, type GeminiWire, withContents } from "./gemini-wire.ts";
import { readGeminiContent } from "./read-gemini-content.ts";
import { NO_SIGNATURE, signFirstCalls, withoutSignature } from "./sign-first-calls.ts";

/** How Google's Gemini API writes a conversation: contents of parts, responses in the content behind their calls. */
export const geminiAdapter: BlockAdapter<GeminiWire, GeminiContent, Fields> = {
  name: "gemini",
  results: "together",
  system: "apart",
  merges: (role) => role === "assistant",
  open: contentsOf,
  close: withContents,
  read: readGeminiContent,
  finish: (items, wire) => signFirstCalls(items, wire),

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
    const functionCall = { ...fields(value?.functionCall), name: tool, args: input ?? {} };
    if (value === undefined) return { functionCall };
    // The signature was made for the call as it was.
    const isSigned = Boolean(stringField(value.thoughtSignature));
    return { ...value, functionCall, ...(isSigned && { thoughtSignature: NO_SIGNATURE }) };
  },

  writeResult(part, { value, call }) {
    const id = stringField(fields(call?.functionCall).id);
    const old = value?.functionResponse ?? { ...(id !== undefined && { id }), name: part.tool };
    return { ...value, functionResponse: writeFunctionResponse(part, fields(old)) };
  },
};
