import { type Answer, textPieces } from "./step.ts";
import { type AnswerContext, callIdOf, routeOf, usageOf, type Wire, type WireEvent } from "./wire.ts";

/** Chat completions as OpenAI and its many imitators stream them. */
export const openAiChatWire: Wire = {
  name: "openai-chat",
  route: routeOf("/v1/chat/completions"),
  events(answer, context) {
    const deltas: Record<string, unknown>[] = [{ role: "assistant", content: "" }];
    if (answer.reasoning) deltas.push({ reasoning_content: answer.reasoning });
    for (const content of textPieces(answer)) deltas.push({ content });
    for (const [index, call] of toolCallsOf(answer, context).entries())
      deltas.push({ tool_calls: [{ index, ...call }] });
    return [
      ...deltas.map((delta) => chunk(context, { choices: [{ index: 0, delta, finish_reason: null }] })),
      chunk(context, { choices: [{ index: 0, delta: {}, finish_reason: finishOf(answer) }] }),
      chunk(context, { choices: [], usage: usageFields(answer, context) }),
      { data: "[DONE]" },
    ];
  },
  openingEvents(text, context) {
    return [{ role: "assistant", content: "" }, ...(text ? [{ content: text }] : [])].map((delta) =>
      chunk(context, { choices: [{ index: 0, delta, finish_reason: null }] }),
    );
  },
  errorEvents(error) {
    return [{ data: { error } }];
  },
  body(answer, context) {
    const calls = toolCallsOf(answer, context);
    const message = {
      role: "assistant",
      content: answer.text ?? null,
      ...(answer.reasoning ? { reasoning_content: answer.reasoning } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    };
    return {
      ...envelope(context, "chat.completion"),
      choices: [{ index: 0, message, finish_reason: finishOf(answer) }],
      usage: usageFields(answer, context),
    };
  },
};

function chunk(context: AnswerContext, fields: Record<string, unknown>): WireEvent {
  return { data: { ...envelope(context, "chat.completion.chunk"), ...fields } };
}

function envelope(context: AnswerContext, object: string): Record<string, unknown> {
  return {
    id: `chatcmpl-${context.number}`,
    object,
    created: Math.floor(context.atMs / 1000),
    model: context.model,
  };
}

function toolCallsOf(answer: Answer, context: AnswerContext): readonly Record<string, unknown>[] {
  return (answer.calls ?? []).map((call, index) => ({
    id: callIdOf(index, call.id, context),
    type: "function",
    function: { name: call.tool, arguments: JSON.stringify(call.input) },
  }));
}

function finishOf(answer: Answer): string {
  return answer.finish ?? (answer.calls?.length ? "tool_calls" : "stop");
}

function usageFields(answer: Answer, context: AnswerContext): Record<string, unknown> {
  const usage = usageOf(answer, context);
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}
