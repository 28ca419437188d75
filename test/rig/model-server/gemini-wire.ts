import type { Answer } from "./step.ts";
import { type AnswerContext, callIdOf, sealOf, usageOf, type Wire, type WireEvent } from "./wire.ts";

/** `generateContent` and `streamGenerateContent` as Google's Gemini API answers them. */
export const geminiWire: Wire = {
  name: "gemini",
  route(path) {
    const [, model, method] =
      /^\/v1(?:beta)?\/models\/([^/]+):(generateContent|streamGenerateContent)$/.exec(path) ?? [];
    return model === undefined ? undefined : { model, streamed: method === "streamGenerateContent" };
  },
  events(answer, context) {
    const parts = partsOf(answer, context);
    const { usageMetadata } = tail(answer, context);
    return [
      ...parts.slice(0, -1).map((part) => chunk(context, { candidates: [candidate([part])], usageMetadata })),
      chunk(context, bodyOf(answer, context, parts.slice(-1))),
    ];
  },
  openingEvents(text, context) {
    return text === "" ? [] : [chunk(context, { candidates: [candidate([{ text }])] })];
  },
  errorEvents({ message }) {
    return [{ data: { error: { code: 400, message, status: "INVALID_ARGUMENT" } } }];
  },
  body(answer, context) {
    return { ...envelope(context), ...bodyOf(answer, context, partsOf(answer, context)) };
  },
};

type Part = Readonly<Record<string, unknown>>;

/** A thought, searches, text, calls. As Gemini does, the first call of a step carries the signature of the step's thought. */
function partsOf(answer: Answer, context: AnswerContext): readonly Part[] {
  const searches = (answer.searches ?? []).flatMap(({ query, found }, index) => {
    const tool = { toolType: "GOOGLE_SEARCH_WEB", id: `srv_${context.number}_${index}` };
    return [
      { toolCall: { ...tool, args: { queries: [query] } } },
      { toolResponse: { ...tool, response: { search_suggestions: found } } },
    ].map((part) => ({ ...part, thoughtSignature: sealOf(part) }));
  });
  const calls = (answer.calls ?? []).map(({ tool, input, id }, index) => {
    const functionCall = { id: callIdOf(index, id, context), name: tool, args: input };
    const isSigned = answer.reasoning !== undefined && index === 0;
    return { functionCall, ...(isSigned && { thoughtSignature: signatureOf(functionCall) }) };
  });
  return [
    ...(answer.reasoning ? [{ text: answer.reasoning, thought: true }] : []),
    ...searches,
    ...(answer.text ? [{ text: answer.text }] : []),
    ...calls,
  ];
}

/** The signature of a call; an id is not part of it, since some clients send none. */
export function signatureOf({ name, args }: Part): string {
  return sealOf("gemini", name, args);
}

function chunk(context: AnswerContext, fields: Part): WireEvent {
  return { data: { ...envelope(context), ...fields } };
}

function envelope({ number, model }: AnswerContext): Part {
  return { responseId: `gemini-${number}`, modelVersion: model };
}

function candidate(parts: readonly Part[]): Part {
  return { index: 0, content: { role: "model", parts } };
}

function bodyOf(answer: Answer, context: AnswerContext, parts: readonly Part[]): Part {
  const { finishReason, usageMetadata } = tail(answer, context);
  return { candidates: [{ ...candidate(parts), finishReason }], usageMetadata };
}

function tail(answer: Answer, context: AnswerContext) {
  const { inputTokens, outputTokens, cachedTokens, reasoningTokens } = usageOf(answer, context);
  return {
    finishReason: answer.finish ?? "STOP",
    usageMetadata: {
      promptTokenCount: inputTokens,
      candidatesTokenCount: outputTokens - reasoningTokens,
      thoughtsTokenCount: reasoningTokens,
      cachedContentTokenCount: cachedTokens,
      totalTokenCount: inputTokens + outputTokens,
    },
  };
}
