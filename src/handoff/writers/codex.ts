import type { Block, SessionHead, Turn } from "./session-head.ts";

/**
 * A rollout of Codex: its metadata, then the items of the Responses API, which the model is sent, and behind each text
 * the event by which its terminal shows the conversation. It needs `originator` and `cli_version`.
 */
export function writeCodex(turns: readonly Turn[], { id, cwd, at }: SessionHead): readonly object[] {
  const timestamp = new Date(at).toISOString();
  const meta = { id, timestamp, cwd, originator: "carryover", cli_version: "0.0.0", source: "cli" };
  const records = turns.flatMap(({ role, blocks }) =>
    blocks.flatMap((block): readonly object[] => {
      const item = { timestamp, type: "response_item", payload: itemOf(role, block) };
      if (block.type !== "text") return [item];
      const type = role === "user" ? "user_message" : "agent_message";
      return [item, { timestamp, type: "event_msg", payload: { type, message: block.text } }];
    }),
  );
  return [{ timestamp, type: "session_meta", payload: meta }, ...records];
}

function itemOf(role: Turn["role"], block: Block): object {
  switch (block.type) {
    case "text": {
      const type = role === "user" ? "input_text" : "output_text";
      return { type: "message", role, content: [{ type, text: block.text }] };
    }
    case "call":
      return {
        type: "function_call",
        name: block.tool,
        arguments: JSON.stringify(block.input),
        call_id: block.id,
      };
    case "result":
      return { type: "function_call_output", call_id: block.id, output: block.text };
    default:
      return block satisfies never;
  }
}
