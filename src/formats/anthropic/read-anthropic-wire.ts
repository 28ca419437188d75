import { fields, stringField } from "../fields.ts";
import { contentBlocks, wireList } from "../wire-faults/wire-list.ts";
import type { WireBlock, WireMessage, WirePlace } from "../wire-faults/wire-message.ts";

/** The messages of an Anthropic request as the rules see them, the system text first; total. */
export function readAnthropicWire(wire: unknown): readonly WireMessage[] {
  const system = Array.isArray(wire) ? undefined : fields(wire).system;
  const messages = wireList(wire, "messages").map(readMessage);
  if (system === undefined || system === null) return messages;
  const place = { messageId: "system" };
  return [{ ...place, side: "system", blocks: contentBlocks(system).map(readBlock(place)) }, ...messages];
}

function readMessage(message: unknown, index: number): WireMessage {
  const { role, content } = fields(message);
  const place = { messageId: `messages[${index}]` };
  return {
    ...place,
    side: role === "assistant" ? "assistant" : role === "system" ? "system" : "user",
    blocks: contentBlocks(content).map(readBlock(place)),
  };
}

function readBlock({ messageId }: WirePlace): (block: unknown, partIndex: number) => WireBlock {
  return (block, partIndex) => {
    const { type, text, id, tool_use_id: resultOf, name, input, content } = fields(block);
    const place = { messageId, partIndex, wire: block };
    switch (type) {
      case "text":
        return { ...place, type: "text", read: text };
      case "thinking":
      case "redacted_thinking":
        return { ...place, type: "reasoning" };
      case "tool_use":
        return { ...place, type: "call", callId: stringField(id) ?? "", read: [name, input] };
      case "tool_result":
        return { ...place, type: "result", callId: stringField(resultOf) ?? "", read: resultTexts(content) };
      case "image":
      case "document":
        return { ...place, type: "media" };
      default:
        return { ...place, type: "opaque" };
    }
  };
}

/** The texts of a result, its images left out. */
function resultTexts(content: unknown): readonly unknown[] {
  return contentBlocks(content).map((block) => fields(block).text);
}
