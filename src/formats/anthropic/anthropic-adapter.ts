import type { BlockAdapter } from "../blocks/block-adapter.ts";
import { writeResultContent } from "../blocks/result-content.ts";
import { safeCallId } from "../blocks/safe-call-id.ts";
import { writeText } from "../blocks/write-text.ts";
import { compact, type Fields, fields } from "../fields.ts";
import {
  type AnthropicMessage,
  type AnthropicWire,
  closeAnthropic,
  openAnthropic,
} from "./anthropic-wire.ts";
import { limitCacheMarks } from "./limit-cache-marks.ts";
import { ANTHROPIC_RESULT, readAnthropicMessage } from "./read-anthropic-message.ts";
import { settleAnthropicTurn } from "./settle-anthropic-turn.ts";

/** How Anthropic's Messages API writes a conversation: content blocks, results in the user's next message, roles that take turns. */
export const anthropicAdapter: BlockAdapter<AnthropicWire, AnthropicMessage, Fields> = {
  name: "anthropic",
  results: "together",
  system: "apart",
  merges: (role) => role !== "system",
  open: openAnthropic,
  close: closeAnthropic,
  read: readAnthropicMessage,
  settle: settleAnthropicTurn,
  finish: limitCacheMarks,

  write({ role, base, blocks }) {
    const values = blocks.map(({ value }) => value);
    const { content } = fields(base);
    const [only, ...others] = values;
    const isString = typeof content === "string" && others.length === 0 && isPlainText(only);
    return [{ role, ...base, content: isString ? only?.text : values }];
  },

  writePart(part, source) {
    // Thinking is signed: it can be sent as it came or not at all.
    return part.type === "reasoning" ? undefined : writeText(part, source, "text");
  },

  writeCall: ({ callId, tool, input }, { value }) => ({
    ...(value ?? { type: "tool_use", id: safeCallId(callId) }),
    name: tool,
    input: input ?? {},
  }),

  writeResult(part, { before, value }) {
    return compact({
      ...(value ?? { type: "tool_result", tool_use_id: safeCallId(part.callId) }),
      content: writeResultContent(part, { before, content: value?.content, shape: ANTHROPIC_RESULT }),
      is_error:
        part.outcome.status === "failed" ? true : value?.is_error === true ? undefined : value?.is_error,
    });
  },
};

function isPlainText(value: Fields | undefined): boolean {
  return value?.type === "text" && Object.keys(value).length === 2;
}
