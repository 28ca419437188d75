import type { AiSdkWire } from "../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { ModelRef } from "../transcript/message.ts";

/** A language model of the AI SDK, whatever version of the interface it implements. */
export interface LanguageModelLike {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: never): PromiseLike<unknown>;
  doStream(options: never): PromiseLike<unknown>;
}

/** The same model as it is called: the fields of a request that are read or changed here. */
export interface CallableModel extends Omit<LanguageModelLike, "doGenerate" | "doStream"> {
  readonly supportedUrls?: unknown;
  doGenerate(request: ModelCall): PromiseLike<unknown>;
  doStream(request: ModelCall): PromiseLike<unknown>;
}

/** One request to a model; everything else in it is passed on as it is. */
export interface ModelCall {
  readonly prompt: AiSdkWire;
  readonly tools?: readonly unknown[];
  readonly maxOutputTokens?: number;
  readonly abortSignal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly providerOptions?: unknown;
}

/** The model with the types of what it is called with. */
export function asCallable(model: LanguageModelLike): CallableModel {
  return model as unknown as CallableModel;
}

/**
 * A model that is called in another way and says of itself what this one says now. `wrapLanguageModel` of `ai` copies what
 * the model says when it wraps it, and in `ai` 6 it calls every model one of version 3, so that answers of a model of
 * version 2 are misread; LangChain and OpenClaw have no `ai` either.
 */
export function likeModel(
  current: () => CallableModel,
  calls: Pick<CallableModel, "doGenerate" | "doStream">,
): CallableModel {
  return {
    get specificationVersion() {
      return current().specificationVersion;
    },
    get provider() {
      return current().provider;
    },
    get modelId() {
      return current().modelId;
    },
    get supportedUrls() {
      return current().supportedUrls;
    },
    ...calls,
  };
}

/** Used where no model is given: summaries are then made mechanically. */
export const NO_MODEL: LanguageModelLike = {
  specificationVersion: "v3",
  provider: "none",
  modelId: "none",
  doGenerate: () => Promise.reject(new Error("There is no model.")),
  doStream: () => Promise.reject(new Error("There is no model.")),
};

/** A model as sessions name it. */
export function modelRef({ provider, modelId }: Pick<LanguageModelLike, "provider" | "modelId">): ModelRef {
  return { provider: String(provider), id: String(modelId) };
}
