import type { Answer } from "./step.ts";
import { type AnswerContext, callIdOf, routeOf, sealOf, usageOf, type Wire, type WireEvent } from "./wire.ts";

/** The Responses API as OpenAI streams it. */
export const openAiResponsesWire: Wire = {
  name: "openai-responses",
  route: routeOf("/v1/responses"),
  events(answer, context) {
    const items = itemsOf(answer, context).flatMap((item, index) => itemEvents(item, index));
    return numbered([created(context), ...items, ended(answer, context)]);
  },
  openingEvents(text, context) {
    const [item] = itemsOf({ type: "answer", text }, context);
    const opening = item === undefined ? [] : itemEvents(item, 0).slice(0, 2);
    return numbered([created(context), ...opening]);
  },
  errorEvents(error, context) {
    return numbered([created(context), { type: "error", error: { param: null, ...error } }]);
  },
  body(answer, context) {
    return { ...envelope(answer, context), output: itemsOf(answer, context) };
  },
};

type Fields = Readonly<Record<string, unknown>>;

function itemsOf(answer: Answer, context: AnswerContext): readonly Fields[] {
  const summary = answer.reasoning ? [{ type: "summary_text", text: answer.reasoning }] : [];
  const reasoning: readonly Fields[] =
    answer.reasoning === undefined
      ? []
      : [
          {
            type: "reasoning",
            id: `rs_${context.number}`,
            summary,
            encrypted_content: sealOf("openai", ...summary.map(({ text }) => text)),
          },
        ];
  // A search says nothing of what it found; a program that ran says what it printed.
  const searches = (answer.searches ?? []).map(({ query, found }, index): Fields => {
    const status = "completed";
    return found === ""
      ? {
          type: "web_search_call",
          id: `ws_${context.number}_${index}`,
          status,
          action: { type: "search", query },
        }
      : {
          type: "code_interpreter_call",
          id: `ci_${context.number}_${index}`,
          status,
          code: `search(${JSON.stringify(query)})`,
          container_id: "cntr_1",
          outputs: [{ type: "logs", logs: found }],
        };
  });
  const message: readonly Fields[] = answer.text
    ? [
        {
          type: "message",
          id: `msg_${context.number}`,
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: answer.text, annotations: [] }],
        },
      ]
    : [];
  const calls = (answer.calls ?? []).map((call, index) => ({
    type: "function_call",
    id: `fc_${context.number}_${index}`,
    call_id: callIdOf(index, call.id, context),
    name: call.tool,
    ...(call.namespace !== undefined && { namespace: call.namespace }),
    arguments: JSON.stringify(call.input),
    status: "completed",
  }));
  const items = [...reasoning, ...searches, ...message, ...calls];
  return context.sign?.(items) ?? items;
}

function itemEvents(item: Fields, index: number): readonly Fields[] {
  const place = { output_index: index };
  const done = { type: "response.output_item.done", ...place, item };
  const added = (fields: Fields): Fields => ({
    type: "response.output_item.added",
    ...place,
    item: { ...item, ...fields },
  });
  const delta = (type: string, fields: Fields): Fields => ({ type, item_id: item.id, ...place, ...fields });
  switch (item.type) {
    case "reasoning": {
      const summary = { summary_index: 0 };
      const opened = added({ summary: [], encrypted_content: "" });
      if (textIn(item.summary) === undefined) return [opened, done];
      return [
        opened,
        delta("response.reasoning_summary_part.added", summary),
        delta("response.reasoning_summary_text.delta", { ...summary, delta: textIn(item.summary) }),
        delta("response.reasoning_summary_part.done", summary),
        done,
      ];
    }
    case "message":
      return [
        added({ content: [], status: "in_progress" }),
        delta("response.output_text.delta", { content_index: 0, delta: textIn(item.content) }),
        done,
      ];
    case "web_search_call":
      return [added({ status: "in_progress" }), done];
    case "code_interpreter_call":
      return [
        added({ status: "in_progress", outputs: null }),
        delta("response.code_interpreter_call_code.delta", { delta: item.code }),
        delta("response.code_interpreter_call_code.done", { code: item.code }),
        done,
      ];
    default:
      return [
        added({ arguments: "", status: "in_progress" }),
        delta("response.function_call_arguments.delta", { delta: item.arguments }),
        done,
      ];
  }
}

function textIn(content: unknown): unknown {
  return Array.isArray(content) ? content[0]?.text : "";
}

function created(context: AnswerContext): Fields {
  return { type: "response.created", response: base(context) };
}

function ended(answer: Answer, context: AnswerContext): Fields {
  const response = envelope(answer, context);
  const type = response.incomplete_details === null ? "response.completed" : "response.incomplete";
  return { type, response: { ...response, output: itemsOf(answer, context) } };
}

function base(context: AnswerContext): Fields {
  return {
    id: `resp_${context.number}`,
    object: "response",
    created_at: Math.floor(context.atMs / 1000),
    model: context.model,
  };
}

/** A `finish` of the script is the reason why the response is incomplete. */
function envelope(answer: Answer, context: AnswerContext): Fields {
  const usage = usageOf(answer, context);
  return {
    ...base(context),
    status: answer.finish === undefined ? "completed" : "incomplete",
    incomplete_details: answer.finish === undefined ? null : { reason: answer.finish },
    usage: {
      input_tokens: usage.inputTokens,
      input_tokens_details: { cached_tokens: usage.cachedTokens },
      output_tokens: usage.outputTokens,
      output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
      total_tokens: usage.inputTokens + usage.outputTokens,
    },
  };
}

function numbered(events: readonly Fields[]): readonly WireEvent[] {
  return events.map((data, index) => ({
    event: String(data.type),
    data: { ...data, sequence_number: index },
  }));
}
