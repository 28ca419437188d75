import { type Answer, textPieces } from "./step.ts";
import { type AnswerContext, callIdOf, routeOf, sealOf, usageOf, type Wire, type WireEvent } from "./wire.ts";

/** Messages as Anthropic streams them. */
export const anthropicWire: Wire = {
  name: "anthropic",
  route: routeOf("/v1/messages"),
  events(answer, context) {
    const blocks = contentOf(answer, context).flatMap((content, index) => blockEvents(content, index));
    return [
      named("message_start", { message: envelope(answer, context, []) }),
      ...blocks,
      named("message_delta", {
        delta: { stop_reason: finishOf(answer), stop_sequence: null },
        usage: { output_tokens: usageOf(answer, context).outputTokens },
      }),
      named("message_stop", {}),
    ];
  },
  openingEvents(text, context) {
    const answer: Answer = { type: "answer", text };
    const [start, delta] = text ? blockEvents({ type: "text", text }, 0) : [];
    return [
      named("message_start", { message: envelope(answer, context, []) }),
      ...[start, delta].filter((event) => event !== undefined),
    ];
  },
  errorEvents({ type, message }) {
    return [named("error", { error: { type, message } })];
  },
  body(answer, context) {
    return { ...envelope(answer, context, contentOf(answer, context)), stop_reason: finishOf(answer) };
  },
};

type Content =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | SearchContent
  | { readonly type: "text"; readonly text: string; readonly paceMs?: number }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown };

/** A search that the provider ran, and what it found: sealed, to be sent again as it is. */
type SearchContent =
  | { readonly type: "server_tool_use"; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly type: "web_search_tool_result"; readonly tool_use_id: string; readonly content: unknown };

function contentOf(answer: Answer, context: AnswerContext): readonly Content[] {
  const { reasoning } = answer;
  const thinking: readonly Content[] =
    reasoning === undefined
      ? []
      : [{ type: "thinking", thinking: reasoning, signature: sealOf("anthropic", reasoning) }];
  const searches = (answer.searches ?? []).flatMap(({ query, found }, index): readonly Content[] => {
    const id = `srvtoolu_${context.number}_${index}`;
    const page = {
      type: "web_search_result",
      url: `https://example.com/${index}`,
      title: query,
      page_age: null,
    };
    const result = { ...page, encrypted_content: sealedText(found) };
    return [
      { type: "server_tool_use", id, name: "web_search", input: { query } },
      { type: "web_search_tool_result", tool_use_id: id, content: [result] },
    ];
  });
  const { text: words, paceMs } = answer;
  const text: readonly Content[] = words ? [{ type: "text", text: words, ...(paceMs && { paceMs }) }] : [];
  const calls = (answer.calls ?? []).map(
    (call, index): Content => ({
      type: "tool_use",
      id: callIdOf(index, call.id, context),
      name: call.tool,
      input: call.input,
    }),
  );
  const content = [...thinking, ...searches, ...text, ...calls];
  return context.sign?.(content) ?? content;
}

/** A text that the client can only send back; it is about as long as the text. */
function sealedText(text: string): string {
  return `${sealOf(text)}${Buffer.from(text).toString("base64")}`;
}

/** False for a sealed text that is not as the scripted model wrote it. */
export function isSealedText(sealed: string): boolean {
  return sealedText(Buffer.from(sealed.slice(32), "base64").toString("utf8")) === sealed;
}

function blockEvents(content: Content, index: number): readonly WireEvent[] {
  const start = (block: unknown): WireEvent => named("content_block_start", { index, content_block: block });
  const delta = (fields: unknown): WireEvent => named("content_block_delta", { index, delta: fields });
  const stop = named("content_block_stop", { index });
  switch (content.type) {
    case "thinking":
      return [
        start({ type: "thinking", thinking: "", signature: "" }),
        ...(content.thinking ? [delta({ type: "thinking_delta", thinking: content.thinking })] : []),
        delta({ type: "signature_delta", signature: content.signature }),
        stop,
      ];
    case "text":
      return [
        start({ type: "text", text: "" }),
        ...textPieces(content).map((text) => delta({ type: "text_delta", text })),
        stop,
      ];
    case "web_search_tool_result":
      return [start(content), stop];
    case "server_tool_use":
    case "tool_use":
      return [
        start({ type: content.type, id: content.id, name: content.name, input: {} }),
        delta({ type: "input_json_delta", partial_json: JSON.stringify(content.input) }),
        stop,
      ];
    default:
      return content satisfies never;
  }
}

function named(type: string, fields: Record<string, unknown>): WireEvent {
  return { event: type, data: { type, ...fields } };
}

function envelope(
  answer: Answer,
  context: AnswerContext,
  content: readonly Content[],
): Record<string, unknown> {
  const usage = usageOf(answer, context);
  const { inputTransformations } = context;
  return {
    id: `msg_${context.number}`,
    type: "message",
    role: "assistant",
    model: context.model,
    content,
    stop_reason: null,
    stop_sequence: null,
    usage: {
      // Anthropic counts cached tokens apart from the rest of the input.
      input_tokens: usage.inputTokens - usage.cachedTokens,
      cache_read_input_tokens: usage.cachedTokens,
      cache_creation_input_tokens: 0,
      output_tokens: usage.outputTokens,
    },
    ...(inputTransformations && { input_transformations: inputTransformations }),
  };
}

function finishOf(answer: Answer): string {
  return answer.finish ?? (answer.calls?.length ? "tool_use" : "end_turn");
}
