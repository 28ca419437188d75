import type { AiSdkWire } from "../../formats/ai-sdk/ai-sdk-message.ts";

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
}

/** The model with the types of what it is called with. */
export function callable(model: LanguageModelLike): CallableModel {
  return model as unknown as CallableModel;
}
