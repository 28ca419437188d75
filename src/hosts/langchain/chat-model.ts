import { AIMessage, type AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import type { ModelRequest } from "langchain";
import type { ModelLimits } from "../../compaction/trigger/overflow.ts";
import { contentOf } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { LanguageModelLike, ModelCall } from "../../middleware/language-model.ts";
import { modelFacts } from "../../models/model-facts.ts";
import type { SessionOptions } from "../../session/options.ts";
import { asNumber, asObject, asString, omitUndefined } from "../../text/unknown-value.ts";
import type { ModelRef } from "../../transcript/message.ts";
import { fromWire, toWire } from "./messages.ts";

/** A chat model of LangChain, as far as it is used here. */
export interface ChatModelLike {
  invoke(input: BaseMessage[], options?: object): Promise<unknown>;
  stream(input: BaseMessage[], options?: object): Promise<AsyncIterable<unknown>>;
}

/** One call of `wrapModelCall`, on its way through a session. */
export interface AgentCall extends ModelCall {
  readonly request: ModelRequest;
  readonly handler: (request: ModelRequest) => unknown;
}

/**
 * A chat model with the interface of the AI SDK's models, as sessions are joined to it: requests of the agent go through
 * the handler that came with them, and summaries are asked of the model itself.
 */
interface AdaptedModel extends LanguageModelLike {
  /** Names the model that is asked from now on: an agent may change it between two requests. */
  use(model: unknown): void;
}

/** An adapted model. */
export function adaptModel(given: unknown): AdaptedModel {
  let model = given;
  const adapted = {
    specificationVersion: "v3",
    get provider() {
      return modelName(model).provider;
    },
    get modelId() {
      return modelName(model).id;
    },
    use(next: unknown) {
      model = next;
    },
    async doGenerate({ request, handler, prompt, maxOutputTokens }: AgentCall) {
      const asked = withMaxTokens(request.model, maxOutputTokens) as ModelRequest["model"];
      const response = await handler({ ...request, model: asked, messages: fromWire(prompt) });
      return { response, ...readResponse(response) };
    },
    async doStream({ prompt, abortSignal }: ModelCall) {
      const chunks = await (model as ChatModelLike).stream(fromWire(prompt), {
        ...omitUndefined({ signal: abortSignal }),
        // A summary must not appear among the streamed messages of the agent.
        tags: ["langsmith:nostream", "nostream"],
        metadata: { lc_source: "carryover" },
      });
      return { stream: ReadableStream.from(partsOf(chunks)) };
    },
  };
  return adapted as unknown as AdaptedModel;
}

/** What is sent beside the messages, as a session measures it and finds the tool that recalls: tools and system prompt. */
export function describePromptHead({ tools, systemMessage }: ModelRequest): readonly unknown[] {
  return [...(tools ?? []).map(describe), { system: systemMessage?.text ?? "" }];
}

/** Each tool is described once. One that the provider runs is described by what is sent. */
function describe(tool: object): unknown {
  const known = described.get(tool);
  if (known !== undefined) return known;
  const isOwn = "invoke" in tool || "func" in tool;
  const { name, description, parameters } = isOwn ? convertToOpenAITool(tool as never).function : {};
  const made = isOwn ? { name, description, inputSchema: parameters } : tool;
  described.set(tool, made);
  return made;
}

const described = new WeakMap<object, unknown>();

/** Provider and name of a chat model, also of one that `initChatModel` gave. */
function modelName(model: unknown): ModelRef {
  const { model: name, modelName: oldName, _defaultConfig, getLsParams } = asObject(model);
  const config = asObject(_defaultConfig);
  const params = asObject(typeof getLsParams === "function" ? getLsParams.call(model, {}) : {});
  const provider = asString(config.modelProvider) ?? asString(params.ls_provider) ?? "langchain";
  const id = [name, oldName, config.model, params.ls_model_name].map(asString).find(Boolean) ?? "unknown";
  return { provider, id };
}

/** What a chat model accepts: what was given, else what its profile says; the session knows the rest by its name. */
export function modelLimits(
  model: unknown,
  { limits: given, models }: Pick<SessionOptions, "limits" | "models">,
): Partial<ModelLimits> {
  const { maxInputTokens, maxOutputTokens } = asObject(asObject(model).profile);
  const known = modelFacts(modelName(model), { rows: models });
  const contextTokens = asNumber(maxInputTokens);
  // Profiles have no limit of the input apart from the window; it counts where the window is the same.
  const inputTokens = contextTokens === known.contextTokens ? known.inputTokens : undefined;
  const limits = omitUndefined(Object(given) as Partial<ModelLimits>);
  const window = limits.contextTokens === undefined ? { contextTokens, inputTokens } : {};
  return omitUndefined({ ...window, outputTokens: asNumber(maxOutputTokens), ...limits });
}

/**
 * The same model with a smaller limit of its answer. LangChain has no option of a request for that, and each class keeps
 * it elsewhere; a model whose thoughts alone may be longer stays as it is.
 */
function withMaxTokens(model: unknown, maxTokens: number | undefined): unknown {
  const { fields, completions, responses, thinking, _defaultConfig } = asObject(model);
  const thoughtTokens = asNumber(asObject(thinking).budget_tokens) ?? 0;
  if (maxTokens === undefined || thoughtTokens >= maxTokens) return model;
  const value = (lowered: unknown): PropertyDescriptor => ({ value: lowered, writable: true });
  const limit = { maxTokens: value(maxTokens) };
  return Object.create(Object(model), {
    ...limit,
    ...(fields !== undefined && {
      fields: value({ ...Object(fields), maxTokens, maxCompletionTokens: undefined }),
    }),
    ...(completions !== undefined && { completions: value(Object.create(Object(completions), limit)) }),
    ...(responses !== undefined && { responses: value(Object.create(Object(responses), limit)) }),
    ...(_defaultConfig !== undefined && {
      _defaultConfig: value({ ..._defaultConfig, maxTokens }),
      _modelInstanceCache: value(new Map()),
    }),
  });
}

/** Content, usage and finish of an answer, as models of the AI SDK give them. */
function readResponse(response: unknown): object {
  const answer = AIMessage.isInstance(response) ? response : asObject(response).messages;
  const message = Array.isArray(answer) ? answer[0] : answer;
  if (!AIMessage.isInstance(message)) return { content: [{ type: "other" }] };
  const { invalid_tool_calls: invalid = [], response_metadata } = message;
  const { finish_reason, stop_reason, finishReason } = asObject(response_metadata);
  return {
    content: [...toWire([message]).flatMap(contentOf), ...invalid],
    usage: readUsage(message),
    finishReason: asString(finish_reason) ?? asString(stop_reason) ?? asString(finishReason),
  };
}

function readUsage(answer: Pick<AIMessage, "usage_metadata"> | undefined): unknown {
  if (answer?.usage_metadata === undefined) return undefined;
  const { input_tokens, output_tokens, input_token_details } = answer.usage_metadata;
  const { cache_read: cacheRead = 0, cache_creation: cacheWrite = 0 } = input_token_details ?? {};
  return {
    inputTokens: { total: input_tokens, cacheRead, cacheWrite },
    outputTokens: { total: output_tokens },
  };
}

async function* partsOf(chunks: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  let whole: AIMessageChunk | undefined;
  for await (const each of chunks) {
    const chunk = each as AIMessageChunk;
    whole = whole?.concat(chunk) ?? chunk;
    yield { type: "text-delta", delta: chunk.text };
  }
  yield { type: "finish", usage: readUsage(whole) };
}
