import { anthropicAdapter } from "../anthropic/anthropic-adapter.ts";
import type { Piece } from "../transcript-file/piece.ts";

/** The pieces of a message's content, which is that of Anthropic's own messages. */
export function readBlocks(content: unknown): readonly Piece[] {
  return anthropicAdapter.read({ role: "", content }).blocks.map((block): Piece => {
    if (block.type === "part") return { half: "whole", part: block.part };
    if (block.callId === undefined) return { half: "whole", part: { type: "opaque", name: block.type } };
    const { callId } = block;
    if (block.type === "result") return { half: "result", callId, outcome: block.outcome };
    const { tool, input } = block;
    return { half: "call", part: { type: "tool", callId, tool, input, outcome: { status: "pending" } } };
  });
}
