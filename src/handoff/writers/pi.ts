import type { Block, ResultBlock, SessionHead, Turn } from "./session-head.ts";

/** A session of pi: its head, then entries in a chain. It needs the usage of every answer. */
export function writePi(turns: readonly Turn[], { id, cwd, at }: SessionHead): readonly object[] {
  const timestamp = new Date(at).toISOString();
  const messages = turns.flatMap((turn) => (turn.role === "user" ? userMessages(turn) : [answerOf(turn)]));
  const entries = messages.map((message, index) => ({
    type: "message",
    id: entryId(index + 1),
    parentId: index === 0 ? null : entryId(index),
    timestamp,
    message: { ...message, timestamp: at },
  }));
  return [{ type: "session", version: 3, id, timestamp, cwd }, ...entries];
}

function entryId(number: number): string {
  return number.toString(16).padStart(8, "0");
}

/** Results are messages of their own, before what the user says. */
function userMessages({ blocks }: Turn): readonly object[] {
  const results = blocks.filter((block) => block.type === "result").map(resultOf);
  const said = blocks.filter((block) => block.type === "text" || block.type === "image").map(contentOf);
  return said.length === 0 ? results : [...results, { role: "user", content: said }];
}

function resultOf({ id, tool, text, images = [], isError }: ResultBlock): object {
  const content = [{ type: "text", text }, ...images.map(contentOf)];
  return { role: "toolResult", toolCallId: id, toolName: tool, content, isError };
}

function answerOf({ blocks }: Turn): object {
  const content = blocks.map(contentOf);
  const hasCalls = blocks.some(({ type }) => type === "call");
  return {
    role: "assistant",
    content,
    api: "carryover",
    provider: "carryover",
    model: "carryover",
    usage: NO_USAGE,
    stopReason: hasCalls ? "toolUse" : "stop",
  };
}

function contentOf(block: Block): object {
  if (block.type === "image") return { type: "image", data: block.base64, mimeType: block.mime };
  if (block.type !== "call") return block;
  return { type: "toolCall", id: block.id, name: block.tool, arguments: block.input };
}

const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: NO_COST };
