import { gateway } from "ai";
import {
  asCallable,
  type CallableModel,
  type LanguageModelLike,
  likeModel,
} from "../../middleware/language-model.ts";

/** The model itself, or the model that `generateText` would ask for this name now. */
export function resolveModel(model: LanguageModelLike | string): LanguageModelLike {
  return typeof model === "string" ? modelByName(model) : model;
}

/** As `ai` finds it, which exports no function for that: the default provider may be set later, and replaced. */
function modelByName(name: string): LanguageModelLike {
  let known: { readonly provider: object; readonly model: CallableModel } | undefined;

  function current(): CallableModel {
    const provider = globalThis.AI_SDK_DEFAULT_PROVIDER ?? gateway;
    if (known?.provider !== provider) known = { provider, model: asCallable(provider.languageModel(name)) };
    return known.model;
  }

  return likeModel(current, {
    doGenerate: async (call) => current().doGenerate(call),
    doStream: async (call) => current().doStream(call),
  });
}
