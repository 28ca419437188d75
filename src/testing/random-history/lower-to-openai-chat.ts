import { askedModel, type History, type Step } from "./history.ts";
import type { WireObject } from "./lower-to-anthropic.ts";

/** The request that a client sends to a chat completions API for a history; thinking makes it one that tells its reasoning. */
export function lowerToOpenAIChat(history: History): WireObject {
  const { system, steps, isThinking } = history;
  const messages: WireObject[] = system === undefined ? [] : [{ role: "system", content: system }];
  for (const step of steps) messages.push(...messagesOf(step, isThinking));
  return { model: `${isThinking ? "deepseek" : "gpt"}-${askedModel(history)}`, messages };
}

function messagesOf(step: Step, isThinking: boolean): readonly WireObject[] {
  switch (step.type) {
    case "user": {
      const [only = "", ...others] = step.texts;
      if (others.length === 0 && step.images.length === 0) return [{ role: "user", content: only }];
      const images = step.images.map((base64) => ({
        type: "image_url",
        image_url: { url: `data:image/png;base64,${base64}` },
      }));
      return [{ role: "user", content: [...step.texts.map((text) => ({ type: "text", text })), ...images] }];
    }
    case "results":
      return step.results.map(({ callId, text, isError }) => ({
        role: "tool",
        tool_call_id: callId,
        content: isError ? `Error: ${text}` : text,
      }));
    case "model": {
      const calls = step.calls.map(({ id, tool, input }) => ({
        id,
        type: "function",
        function: { name: tool, arguments: JSON.stringify(input) },
      }));
      return [
        {
          role: "assistant",
          content: step.text ?? null,
          ...(isThinking && { reasoning_content: step.thought?.text ?? "" }),
          ...(calls.length > 0 && { tool_calls: calls }),
        },
      ];
    }
    default:
      return step satisfies never;
  }
}
