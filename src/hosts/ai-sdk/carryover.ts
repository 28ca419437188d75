import type { ModelMessage, Tool } from "ai";
import { SIGNAL_RULE } from "../../compaction/ports/option-rules.ts";
import type { AiSdkWire } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { Session } from "../../session/session.ts";
import { check, type Shape, text, throwProblems } from "../../text/check.ts";
import { asObject, omitUndefined } from "../../text/json.ts";
import { type CompactResult, compactConversation } from "./compact.ts";
import { answerFacts, type Conversation } from "./conversation.ts";
import {
  asCallable,
  GiveUpError,
  type LanguageModelLike,
  languageModel,
  NO_MODEL,
} from "./language-model.ts";
import { type LanguageModelObject, resolveModel } from "./model-by-name.ts";
import { type CarryoverOptions, checkOptions, openConversation } from "./open-conversation.ts";
import { assumeManagement } from "./provider-management.ts";
import { createRecallTool, type RecallInput } from "./recall-tool.ts";
import { createRequestRecognizer, startOf } from "./recognize-request.ts";
import { serveOthers } from "./serve-others.ts";

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
export function carryover<Model extends LanguageModelLike>(
  model: Model,
  options?: CarryoverOptions,
): Carryover<Model>;
export function carryover(model: string, options?: CarryoverOptions): Carryover<LanguageModelObject>;
export function carryover(given: LanguageModelLike | string, options: CarryoverOptions = {}): unknown {
  checkOptions(options, languageModel.find(given, ["the model"]));
  const base = resolveModel(given);
  const others = new Map<string, OpenConversation>();

  function forId(id: string, own: CarryoverOptions = {}): OpenConversation {
    checkOptions(own, text.find(id, ["id"]));
    const opened = others.get(id) ?? openLines(base, { ...sharedOptions(options), ...own }, id);
    others.set(id, opened);
    return opened;
  }

  function openLines(model: LanguageModelLike, all: CarryoverOptions, id?: string): OpenConversation {
    return { ...converse(model, all, id), for: forId };
  }

  return openLines(base, options);
}

type OpenConversation = Carryover<LanguageModelLike>;

/** What another conversation has in common with this one. */
function sharedOptions({ restore: _, persist: __, store, ...shared }: CarryoverOptions): CarryoverOptions {
  return store?.spills === undefined ? shared : { ...shared, store: { spills: store.spills } };
}

/** The same for a conversation that nobody has asked for: what it uses is told, and nothing else. */
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

const COMPACT_NOW_SHAPE: Shape<CompactNowOptions> = { signal: SIGNAL_RULE };

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
