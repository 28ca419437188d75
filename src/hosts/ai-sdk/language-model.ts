import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import type { AiSdkWire } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { GiveUp, GiveUpReason } from "../../session/action.ts";
import { methods, type Rule, show } from "../../text/check.ts";
import { asObject, asString } from "../../text/unknown-value.ts";
import { answerFacts } from "./conversation.ts";

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

/** A model that is called in another way and says of itself what this one says, at any time. */
export function likeModel(
  model: CallableModel,
  calls: Pick<CallableModel, "doGenerate" | "doStream">,
): CallableModel {
  return {
    get specificationVersion() {
      return model.specificationVersion;
    },
    get provider() {
      return model.provider;
    },
    get modelId() {
      return model.modelId;
    },
    get supportedUrls() {
      return model.supportedUrls;
    },
    ...calls,
  };
}

/** Stands where no model is asked: the summary is then made without one. */
export const NO_MODEL: LanguageModelLike = {
  specificationVersion: "v3",
  provider: "none",
  modelId: "none",
  doGenerate: () => Promise.reject(new Error("There is no model.")),
  doStream: () => Promise.reject(new Error("There is no model.")),
};

/** What a language model must be. */
export const languageModel: Rule = {
  expects: 'a language model of the AI SDK, such as openai("...") gives, or its name ("provider/model")',
  find(value, path) {
    if (typeof value === "string" && value.trim() !== "") return [];
    const missing = ["doGenerate", "doStream"].filter((name) => methods(name).find(value, []).length > 0);
    if (missing.length === 0) return [];
    const name = path.join(".");
    const what = missing.length === 2 ? `is ${show(value)}` : `has no function ${missing.join()}`;
    return [{ path, text: `${name} ${what}; give ${languageModel.expects}` }];
  },
};

/** A summarizer that asks a model of the AI SDK, without tools; streamed, so that a stalled answer is noticed. */
export function createModelSummarizer(
  model: LanguageModelLike,
  headers: () => ModelCall["headers"] = () => undefined,
): Summarizer {
  return {
    async summarize({ system, prompt, maxOutputTokens }, { signal, onProgress, onUsage }) {
      const sent = headers();
      const result = await asCallable(model).doStream({
        prompt: [
          { role: "system", content: system },
          { role: "user", content: [{ type: "text", text: prompt }] },
        ],
        maxOutputTokens,
        abortSignal: signal,
        ...(sent && { headers: sent }),
      });
      const { stream } = result as { readonly stream: ReadableStream<unknown> };
      const texts: string[] = [];
      for await (const value of stream) {
        const part = asObject(value);
        const text = part.type === "text-delta" ? asString(part.delta) : undefined;
        onProgress(text);
        if (part.type === "error") throw part.error;
        const { usage } = part.type === "finish" ? answerFacts(part) : {};
        if (usage !== undefined) onUsage?.(usage);
        if (text !== undefined) texts.push(text);
      }
      return texts.join("");
    },
  };
}

/** Thrown when a request cannot be made to fit; says what was tried and what to do. `cause` is the provider's first error. */
export class GiveUpError extends Error {
  readonly code = "CARRYOVER_GIVE_UP" as const;
  readonly reason: GiveUpReason;

  constructor({ message, reason, error }: GiveUp) {
    super(message, { cause: error });
    this.name = "GiveUpError";
    this.reason = reason;
  }
}
