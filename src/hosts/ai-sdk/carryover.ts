import type { LanguageModel, ModelMessage, Tool } from "ai";
import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import { aiSdk } from "../../formats/wires/ai-sdk/ai-sdk.ts";
import type { AiSdkWire } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { WarningCode } from "../../session/events.ts";
import type { Session } from "../../session/session.ts";
import { abortSignal, check, type Shape, text, throwProblems } from "../../text/check.ts";
import { safeJson } from "../../text/json.ts";
import { asObject, isObject, omitUndefined, type UnknownObject } from "../../text/unknown-value.ts";
import { estimateContextTokens } from "../../transcript/estimate-context.ts";
import { type CompactResult, compactConversation } from "./compact.ts";
import { answerFacts, type Conversation } from "./conversation.ts";
import {
  asCallable,
  type CallableModel,
  GiveUpError,
  type LanguageModelLike,
  languageModel,
  likeModel,
  type ModelCall,
  NO_MODEL,
} from "./language-model.ts";
import { type CarryoverOptions, checkOptions, openConversation } from "./open-conversation.ts";
import { assumeManagement } from "./provider-management.ts";
import { createRecallTool, type RecallInput } from "./recall-tool.ts";
import { createRequestRecognizer, lineOf, type RequestRecognizer, startOf } from "./recognize-request.ts";

/** What one conversation needs to stay within its model's window. */
export interface Carryover<Model extends LanguageModelLike> {
  /** Use it in place of the model: it bounds, prunes, compacts and recovers by itself. */
  readonly model: Model;
  /** Give these to the model too, so that it can read again what left its window. */
  readonly tools: { readonly recall: Tool<RecallInput, string> };
  /** For those who do not wrap the model: the same but for recovering. With the wrapped model it does nothing. */
  readonly prepareStep: PrepareStep;
  /** The engine behind it: how full the window is, what was done and gained, undo, recall. */
  readonly session: Session;
  /** Compacts now: these messages, such as a request of a page brings them, or those of the last request. */
  compact(messages?: readonly ModelMessage[], options?: CompactNowOptions): Promise<CompactResult>;
  /**
   * A conversation of its own with the same model and options, such as a sub-agent or a title needs one. The same id gives
   * the same one as long as this object lives; other options count when it is first asked for. What persists the
   * conversation itself (`restore`, `persist`, `store.journal`) is not shared: give it here.
   */
  for(id: string, options?: CarryoverOptions): Carryover<Model>;
}

/** How a compaction is asked for. */
export interface CompactNowOptions {
  /** Ends it and leaves everything as it is. @default none */
  readonly signal?: AbortSignal;
}

/**
 * Puts a session in front of a model of the AI SDK, which may be a name as `generateText` takes it. One for each
 * conversation: it remembers what it has done.
 */
export function carryover<Model extends LanguageModelLike | string>(
  model: Model,
  options: CarryoverOptions = {},
): Carryover<ModelObject<Model>> {
  checkOptions(options, languageModel.find(model, ["the model"]));
  const base = resolveModel(model);
  const others = new Map<string, OpenConversation>();

  function forId(id: string, own: CarryoverOptions = {}): OpenConversation {
    const all = { ...sharedOptions(options), ...own };
    checkOptions(isObject(own) ? all : own, text.find(id, ["id"]));
    const opened = others.get(id) ?? openLines(all, id);
    others.set(id, opened);
    return opened;
  }

  function openLines(all: CarryoverOptions, id?: string): OpenConversation {
    return { ...converse(base, all, id), for: forId };
  }

  return openLines(options) as Carryover<ModelObject<Model>>;
}

/** A model as it was given; one that was given by name as the AI SDK finds it. */
type ModelObject<Model> = Model extends LanguageModelLike ? Model : Exclude<LanguageModel, string>;

type OpenConversation = Carryover<LanguageModelLike>;

/** What another conversation has in common with this one. */
function sharedOptions({ restore: _, persist: __, store, ...shared }: CarryoverOptions): CarryoverOptions {
  return store?.spills === undefined ? shared : { ...shared, store: { spills: store.spills } };
}

/** The same for a conversation that was not asked for: its usage is reported, and nothing else. */
function unlistened(options: CarryoverOptions): CarryoverOptions {
  const { onCompact: _, onEvent: __, ...rest } = sharedOptions(options);
  return rest;
}

/**
 * Compacts messages without a session, such as for a button in a route that forgets everything between two requests. The
 * model writes the summary and says how large the window is; without one the summary is made mechanically.
 */
export function compact(
  messages: readonly ModelMessage[],
  options: CompactMessagesOptions = {},
): Promise<CompactResult> {
  const { model, signal, ...rest } = Object(options) as CompactMessagesOptions;
  checkOptions(rest, model === undefined ? [] : languageModel.find(model, ["model"]));
  const opened = converse(model === undefined ? undefined : resolveModel(model), rest);
  return opened.compact(messages, omitUndefined({ signal }));
}

/** Options of `compact`: those of `carryover()`, and these. */
export interface CompactMessagesOptions extends CarryoverOptions, CompactNowOptions {
  /** The model of the conversation, by object or by name; it writes the summary unless `summarizer` says otherwise. @default none: a mechanical summary */
  readonly model?: LanguageModelLike | string;
}

/** One conversation, whose model also serves requests of others. */
function converse(
  base: LanguageModelLike | undefined,
  options: CarryoverOptions,
  id?: string,
): Omit<OpenConversation, "for"> {
  const opened = openConversation(base, options, { ...omitUndefined({ id }), resolve: resolveModel });
  const { session, conversation } = opened;
  const recognizer = createRequestRecognizer(conversation.currentWire, startOf(options));
  const model = serveOthers(opened.model, asCallable(base ?? NO_MODEL), {
    recognizer,
    limitTokens: () => session.status().limitTokens ?? Number.POSITIVE_INFINITY,
    openOther: () => asCallable(converse(base, unlistened(options), id).model),
    onWarning: opened.warn,
  });
  return {
    model: model as unknown as LanguageModelLike,
    tools: { recall: createRecallTool(session) },
    prepareStep: createPrepareStep(conversation, model),
    session,
    compact(messages, given = {}) {
      throwProblems(check(COMPACT_NOW_SHAPE, given));
      if (Array.isArray(messages)) recognizer.isOwn({ prompt: messages as unknown as AiSdkWire });
      return compactConversation(opened, messages, given.signal);
    },
  };
}

const COMPACT_NOW_SHAPE: Shape<CompactNowOptions> = { signal: abortSignal };

/** As `generateText`, `streamText` and agents call it before every step. */
export type PrepareStep = (step: StepToPrepare) => Promise<{ messages: ModelMessage[] } | undefined>;

/** What the AI SDK gives to `prepareStep`. */
export interface StepToPrepare {
  readonly model: unknown;
  readonly messages: readonly ModelMessage[];
  readonly steps: readonly unknown[];
}

/** Prepares the messages of each step, unless the step's model is the wrapped one, which does so itself. */
function createPrepareStep(conversation: Conversation, wrapped: unknown): PrepareStep {
  let given: AiSdkWire = [];
  let sent: AiSdkWire = [];
  return async ({ model, messages, steps }) => {
    if (model === wrapped) return undefined;
    const newest = steps.at(-1);
    if (newest !== undefined) conversation.recordAnswer(answerFacts(newest));
    given = wholeOf(messages as unknown as AiSdkWire);
    const management = assumeManagement(model, given, asObject(newest).providerMetadata);
    const { wire, action } = await conversation.prepare(given, { management });
    if (action.type === "give-up") throw new GiveUpError(action);
    sent = wire;
    return { messages: wire as unknown as ModelMessage[] };
  };

  /** AI SDK 7 continues with the messages that a step was given: the original ones are put back in their place. */
  function wholeOf(messages: AiSdkWire): AiSdkWire {
    const isContinued =
      sent.length > 0 && sent !== given && sent.every((message, index) => messages[index] === message);
    return isContinued ? [...given, ...messages.slice(sent.length)] : messages;
  }
}

/**
 * The model of a conversation that also serves requests of others: they are sent as they came and leave the conversation
 * alone. One that is too long for the window gets a session of its own.
 */
function serveOthers(own: CallableModel, base: CallableModel, options: OthersOptions): CallableModel {
  const { recognizer, limitTokens, openOther, onWarning } = options;
  let isTold = false;
  const managed = new Map<string, CallableModel>();

  async function send(call: ModelCall, method: "doGenerate" | "doStream"): Promise<unknown> {
    if (recognizer.isOwn(call)) return own[method](call);
    if (recognizer.isBegun()) tellOnce();
    const line = lineOf(call.prompt);
    if (!managed.has(line) && fits(call)) {
      try {
        return await base[method](call);
      } catch (error) {
        if (!classifyProviderError(error, { provider: base.provider }).isOverflow) throw error;
      }
    }
    return managedFor(line)[method](call);
  }

  function tellOnce(): void {
    if (isTold) return;
    isTold = true;
    onWarning(
      "other-conversation",
      "A request has nothing in common with this conversation and was sent as it came. Sub-agents and titles take for(id).",
    );
  }

  function fits({ prompt, tools = [] }: ModelCall): boolean {
    const toolsChars = safeJson(tools).length;
    const model = { provider: base.provider, id: base.modelId };
    const { tokens } = estimateContextTokens(aiSdk.decode(prompt), {
      estimator: "calibrated",
      toolsChars,
      model,
    });
    return tokens < limitTokens();
  }

  function managedFor(line: string): CallableModel {
    const known = managed.get(line) ?? openOther();
    managed.delete(line);
    managed.set(line, known);
    for (const oldest of managed.keys()) if (managed.size > MAX_MANAGED) managed.delete(oldest);
    return known;
  }

  return likeModel(own, {
    doGenerate: (call) => send(call, "doGenerate"),
    doStream: (call) => send(call, "doStream"),
  });
}

interface OthersOptions {
  readonly recognizer: RequestRecognizer;
  /** Where the window of the conversation is compacted. */
  readonly limitTokens: () => number;
  /** The model with a session of its own in front of it. */
  readonly openOther: () => CallableModel;
  readonly onWarning: (code: WarningCode, message: string) => void;
}

/** Long requests of others that are looked after at once. */
const MAX_MANAGED = 8;

/** The model itself, or the model of that name. */
function resolveModel(model: LanguageModelLike | string): LanguageModelLike {
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
