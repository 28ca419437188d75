import type { FormatName } from "../../../src/formats/registry.ts";
import type { ConversationStep } from "../../../src/testing/random-conversation.ts";
import { type History, historyOf, modelSays, type Step, userSays } from "./history.ts";
import { lowerToClaudeCode, lowerToCodex, lowerToGeminiCli, lowerToPi } from "./lower-to-files.ts";
import { lowerToOpencode2 } from "./lower-to-opencode2.ts";
import {
  lowerToAnthropic,
  lowerToGemini,
  lowerToOpenAIChat,
  lowerToOpenAIResponses,
} from "./provider-cases.ts";
import { lowerToAiSdk, lowerToOpenCodeIds } from "./shared-call-ids.ts";

/** A history in every format, as its program writes it: a new format needs a line here for all tests of formats. */
export const HISTORY_WRITERS: Readonly<Record<FormatName, (history: History) => unknown>> = {
  opencode: lowerToOpenCodeIds,
  opencode2: lowerToOpencode2,
  "claude-code": lowerToClaudeCode,
  codex: lowerToCodex,
  pi: lowerToPi,
  "swe-agent": lowerToNamedCalls,
  "gemini-cli": lowerToGeminiCli,
  "ai-sdk": lowerToAiSdk,
  anthropic: lowerToAnthropic,
  "openai-chat": lowerToOpenAIChat,
  "openai-responses": lowerToOpenAIResponses,
  gemini: lowerToGemini,
};

/** Without the last question and answer, which `lowerToOpenCode` adds. */
function lowerToOpenCodeSession(history: History): unknown {
  const exported = lowerToOpenCodeIds(history);
  return { ...exported, messages: exported.messages.slice(0, -2) };
}

/** The conversations that `formatLaws` makes, in a format. */
export function conversationWriter(
  format: FormatName,
): (conversation: readonly ConversationStep[]) => unknown {
  const write = format === "opencode" ? lowerToOpenCodeSession : HISTORY_WRITERS[format];
  return (conversation) =>
    write(
      historyOf(
        conversation.flatMap((step): readonly Step[] => {
          if (step.by === "user") return [userSays(step.text)];
          const answer = modelSays(step.text === "" ? undefined : step.text, step.calls);
          const results = step.calls.map(({ id: callId, tool, output: text }) => ({
            callId,
            tool,
            text,
            isError: false,
            image: undefined,
          }));
          return results.length === 0 ? [answer] : [answer, { type: "results", results }];
        }),
      ),
    );
}

/** As SWE-agent writes a run of a model that calls tools; its histories without named calls have no ids to share. */
function lowerToNamedCalls({ steps }: History): unknown {
  const history = steps.flatMap((step): readonly object[] => {
    if (step.type === "user") return [{ role: "user", content: step.texts.join("\n") }];
    if (step.type === "results")
      return step.results.map(({ callId, text }) => ({
        role: "tool",
        content: text,
        tool_call_ids: [callId],
      }));
    if (step.type !== "model") return [];
    const tool_calls = step.calls.map(({ id, tool, input }) => ({
      id,
      type: "function",
      function: { name: tool, arguments: JSON.stringify(input) },
    }));
    return [
      {
        role: "assistant",
        content: step.text,
        thought: step.text,
        ...(tool_calls.length > 0 && { action: "look", tool_calls }),
      },
    ];
  });
  return { trajectory: [], history };
}
