import { type Fields, fields, stringField } from "../fields.ts";
import { jsonOrText } from "../json-or-text.ts";
import { contentBlocks, wireList } from "../wire-faults/wire-list.ts";
import type { WireBlock, WireMessage, WirePlace } from "../wire-faults/wire-message.ts";

/** The messages of a chat completions request as the rules see them; total. */
export function readOpenAIChatWire(wire: unknown): readonly WireMessage[] {
  return wireList(wire, "messages").map((message, index) => {
    const read = fields(message);
    const place = { messageId: `messages[${index}]` };
    return { ...place, side: SIDES[String(read.role)] ?? "user", blocks: blocksOf(read, place) };
  });
}

const SIDES: Readonly<Record<string, WireMessage["side"]>> = {
  system: "system",
  developer: "system",
  assistant: "assistant",
};

function blocksOf(message: Fields, place: WirePlace): readonly WireBlock[] {
  const { role, content, tool_call_id: resultOf } = message;
  if (role === "tool" || role === "function") {
    const read = contentBlocks(content).map((block) => fields(block).text);
    return [{ ...place, type: "result", callId: stringField(resultOf) ?? "", read, wire: message }];
  }
  const { tool_calls: calls, refusal, reasoning_content: reasoning, audio } = message;
  const blocks: WireBlock[] = [];
  if (stringField(reasoning)) blocks.push({ ...place, type: "reasoning", wire: reasoning });
  const callBlocks = Array.isArray(calls) ? calls.map((call) => callBlock(call, place)) : [];
  // Clients write an empty text beside calls, and it is taken for none.
  const isNoText = content === "" && callBlocks.length > 0;
  if (!isNoText)
    blocks.push(...contentBlocks(content).map((block, index) => contentBlock(block, index, place)));
  if (stringField(refusal)) blocks.push({ ...place, type: "text", read: refusal, wire: refusal });
  if (audio !== undefined && audio !== null) blocks.push({ ...place, type: "media", wire: audio });
  return [...blocks, ...callBlocks];
}

function contentBlock(block: unknown, partIndex: number, { messageId }: WirePlace): WireBlock {
  const { type, text, refusal } = fields(block);
  const place = { messageId, partIndex, wire: block };
  if (type === "text" || type === "refusal") return { ...place, type: "text", read: text ?? refusal };
  return { ...place, type: MEDIA.includes(String(type)) ? "media" : "opaque" };
}

const MEDIA: readonly string[] = ["image_url", "input_audio", "file"];

function callBlock(call: unknown, place: WirePlace): WireBlock {
  const { id, function: called, custom } = fields(call);
  const { name, arguments: input } = fields(called ?? custom);
  return {
    ...place,
    type: "call",
    callId: stringField(id) ?? "",
    read: [name, jsonOrText(input)],
    wire: call,
  };
}
