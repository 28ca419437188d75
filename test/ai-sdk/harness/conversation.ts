import type { ModelMessage } from "ai";
import { toolText } from "./tool-texts.ts";

/** A conversation of some turns, each with a question, a call with an output of about this many bytes, and an answer. */
export function longConversation({ turns, outputBytes }: ConversationSize): ModelMessage[] {
  return Array.from({ length: turns }, (_, turn): ModelMessage[] => [
    { role: "user", content: `Question ${turn}: what does module ${turn} do?` },
    {
      role: "assistant",
      content: [
        { type: "text", text: `I read module ${turn}.` },
        { type: "tool-call", toolCallId: `old-${turn}`, toolName: "read", input: { path: `src/${turn}.ts` } },
      ],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: `old-${turn}`,
          toolName: "read",
          output: { type: "text", value: toolText(turn + 1, outputBytes) },
        },
      ],
    },
    { role: "assistant", content: `Module ${turn} is in order.` },
  ]).flat();
}

export interface ConversationSize {
  readonly turns: number;
  readonly outputBytes: number;
}
