import { fields, stringField } from "../fields.ts";
import { jsonOrText } from "../json-or-text.ts";
import { contentBlocks } from "../wire-faults/wire-list.ts";
import type { WireBlock, WireMessage } from "../wire-faults/wire-message.ts";

/** The input items of a Responses request as the rules see them: what the model gave in one go is one message; total. */
export function readOpenAIResponsesWire(wire: unknown): readonly WireMessage[] {
  const messages: (WireMessage & { readonly blocks: WireBlock[] })[] = [];
  let joins: Joins;
  for (const [index, item] of responsesItems(wire).entries()) {
    const messageId = `input[${index}]`;
    const { side, joinsWith, isCutOff } = describe(item);
    const blocks = readItem(item, messageId);
    const last = messages.at(-1);
    if (last !== undefined && joinsWith !== undefined && joinsWith === joins) last.blocks.push(...blocks);
    else messages.push({ messageId, side, blocks: [...blocks], ...(isCutOff && { isCutOff }) });
    joins = joinsWith;
  }
  return messages;
}

/** The items of a request; a bare text counts as a user's message. */
export function responsesItems(wire: unknown): readonly unknown[] {
  const input = Array.isArray(wire) ? wire : fields(wire).input;
  if (Array.isArray(input)) return input;
  return typeof input === "string" ? [{ role: "user", content: input }] : [];
}

/** Neighbours of one kind are one message. */
type Joins = "turn" | "results" | undefined;

function describe(item: unknown): {
  readonly side: WireMessage["side"];
  readonly joinsWith: Joins;
  readonly isCutOff: true | undefined;
} {
  const { type, role, status } = fields(item);
  const isCutOff = status === "incomplete" || status === "failed" ? true : undefined;
  if (isOutput(type)) return { side: "user", joinsWith: "results", isCutOff: undefined };
  if (type === "message" || type === undefined) {
    if (role === "assistant") return { side: "assistant", joinsWith: "turn", isCutOff };
    const side = role === "system" || role === "developer" ? "system" : "user";
    return { side, joinsWith: undefined, isCutOff: undefined };
  }
  if (type === "compaction") return { side: "system", joinsWith: undefined, isCutOff: undefined };
  return { side: "assistant", joinsWith: "turn", isCutOff };
}

/** True for the type of an item that is the result of a call. */
export function isOutput(type: unknown): boolean {
  return typeof type === "string" && type.endsWith("_call_output");
}

/** True for the type of an item that calls a tool of the client and waits for a result. */
export function isCall(type: unknown): boolean {
  return CALLS.includes(type);
}

const CALLS: readonly unknown[] = [
  "function_call",
  "custom_tool_call",
  "computer_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
];

function readItem(item: unknown, messageId: string): readonly WireBlock[] {
  const { type, call_id: callId, name, arguments: input, input: text, output, content } = fields(item);
  const place = { messageId, wire: item };
  const id = stringField(callId) ?? "";
  if (isCall(type)) return [{ ...place, type: "call", callId: id, read: [name, jsonOrText(input), text] }];
  if (isOutput(type)) {
    const read = contentBlocks(output).map((block) => fields(block).text);
    return [{ ...place, type: "result", callId: id, read }];
  }
  if (type === "reasoning") return [{ ...place, type: "reasoning" }];
  if (type !== "message" && type !== undefined) return [{ ...place, type: "opaque" }];
  return contentBlocks(content).map((block, partIndex): WireBlock => {
    const { type: kind, text: words, refusal } = fields(block);
    const here = { messageId, partIndex, wire: block };
    if (TEXTS.includes(kind)) return { ...here, type: "text", read: words ?? refusal };
    return { ...here, type: MEDIA.includes(kind) ? "media" : "opaque" };
  });
}

const TEXTS: readonly unknown[] = ["text", "input_text", "output_text", "refusal"];
const MEDIA: readonly unknown[] = ["input_image", "input_file", "input_audio"];
