import type { LanguageModel } from "ai";
import { asObject, isObject, omitUndefined, type UnknownObject } from "../../text/json.ts";
import { asCallable, type CallableModel, type LanguageModelLike, type ModelCall } from "./language-model.ts";

/** A model of the AI SDK that is an object and no name. */
export type LanguageModelObject = Exclude<LanguageModel, string>;

/** The model itself, or the model of that name. */
export function resolveModel(model: LanguageModelLike | string): LanguageModelLike {
  return typeof model === "string" ? createModelByName(model) : model;
}

/**
 * The model that `generateText` would ask for this name: of the global default provider where one is set, else of the
 * gateway of `ai`, which is loaded with the first request.
 */
function createModelByName(name: string): LanguageModelLike {
  let known: { readonly provider: ProviderLike; readonly model: CallableModel } | undefined;

  function ofDefaultProvider(): CallableModel | undefined {
    const provider = (globalThis as { AI_SDK_DEFAULT_PROVIDER?: ProviderLike }).AI_SDK_DEFAULT_PROVIDER;
    if (provider === undefined || provider === null) return undefined;
    if (known?.provider !== provider) known = { provider, model: asCallable(provider.languageModel(name)) };
    return known.model;
  }

  async function resolve(): Promise<CallableModel> {
    return ofDefaultProvider() ?? asVersion3(asCallable((await loadGateway(name)).languageModel(name)));
  }

  const named: CallableModel = {
    get specificationVersion() {
      return ofDefaultProvider()?.specificationVersion ?? "v3";
    },
    get provider() {
      return ofDefaultProvider()?.provider ?? "gateway";
    },
    get modelId() {
      return ofDefaultProvider()?.modelId ?? name;
    },
    get supportedUrls() {
      return resolve().then(({ supportedUrls }) => supportedUrls);
    },
    doGenerate: async (call) => (await resolve()).doGenerate(call),
    doStream: async (call) => (await resolve()).doStream(call),
  };
  return named as unknown as LanguageModelLike;
}

interface ProviderLike {
  languageModel(name: string): LanguageModelLike;
}

async function loadGateway(name: string): Promise<ProviderLike> {
  try {
    return (await import("ai")).gateway as unknown as ProviderLike;
  } catch (error) {
    throw new Error(
      `The model ${JSON.stringify(name)} is a name, and the package ai, whose gateway would be asked, could not be loaded.`,
      { cause: error },
    );
  }
}

/**
 * A model of the interface's version 4 (`ai` 7) as one of version 3, which `ai` 6 and 7 both take: which of them asks is
 * not known before the gateway is loaded. The versions differ in how they write files.
 */
function asVersion3(model: CallableModel): CallableModel {
  if (model.specificationVersion !== "v4") return model;
  const sent = (call: ModelCall): ModelCall => ({ ...call, prompt: call.prompt.map(messageOfVersion4) });
  return {
    specificationVersion: "v3",
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    async doGenerate(call) {
      const result = asObject(await model.doGenerate(sent(call)));
      const content = Array.isArray(result.content) ? result.content.map(contentOfVersion3) : result.content;
      return { ...result, content };
    },
    async doStream(call) {
      const result = asObject(await model.doStream(sent(call)));
      const parts = new TransformStream<unknown, unknown>({
        transform: (part, controller) => controller.enqueue(contentOfVersion3(part)),
      });
      return { ...result, stream: (result.stream as ReadableStream<unknown>).pipeThrough(parts) };
    },
  };
}

function messageOfVersion4(message: ModelCall["prompt"][number]): ModelCall["prompt"][number] {
  if (!Array.isArray(message.content)) return message;
  return { ...message, content: message.content.map((part) => partOfVersion4(asObject(part))) };
}

function partOfVersion4(part: UnknownObject): UnknownObject {
  if (part.type === "file") return { ...part, data: fileOfVersion4(part.data) };
  const output = asObject(part.output);
  if (part.type !== "tool-result" || output.type !== "content" || !Array.isArray(output.value)) return part;
  return {
    ...part,
    output: { ...output, value: output.value.map((each) => resultOfVersion4(asObject(each))) },
  };
}

function fileOfVersion4(data: unknown): unknown {
  if (data instanceof URL) return { type: "url", url: data };
  // A reference or a text is the same in both.
  return isObject(data) && "type" in data ? data : { type: "data", data };
}

function resultOfVersion4(part: UnknownObject): UnknownObject {
  const { mediaType, filename, providerOptions } = part;
  const file = (data: UnknownObject): UnknownObject => ({
    type: "file",
    data,
    ...omitUndefined({ mediaType, filename, providerOptions }),
  });
  switch (part.type) {
    case "file-data":
      return file({ type: "data", data: part.data });
    case "file-url":
      return file({ type: "url", url: new URL(String(part.url)) });
    case "file-id":
      return file({ type: "reference", reference: part.fileId });
    default:
      return part;
  }
}

function contentOfVersion3(part: unknown): unknown {
  const { type, data } = asObject(part);
  const { type: kind, data: bytes } = asObject(data);
  return type === "file" && kind === "data" ? { ...asObject(part), data: bytes } : part;
}
