import type { LanguageModel, ModelMessage, Tool } from "ai";
import type { AiSdkWire } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import { asCallable, type LanguageModelLike, NO_MODEL } from "../../middleware/language-model.ts";
import { openConversation } from "../../middleware/open-conversation.ts";
import type { RecallInput } from "../../middleware/recall-tool.ts";
import type { SummaryUsage } from "../../session/metered-summarizer.ts";
import { createPersistJournal } from "../../session/persist.ts";
import type { Session } from "../../session/session.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { abortSignal, check, text, throwProblems } from "../../text/check.ts";
import { isObject, omitUndefined } from "../../text/unknown-value.ts";
import { type CompactResult, compactConversation } from "./compact.ts";
import { createHandOver, withoutSystem } from "./hand-over.ts";
import { resolveModel } from "./model-by-name.ts";
import { type CarryoverOptions, checkOptions, languageModel } from "./options.ts";
import { createPrepareStep, type PrepareStep } from "./prepare-step.ts";
import { createRecallTool } from "./recall-tool.ts";
import { createRequestRecognizer, startOf } from "./recognize-request.ts";
import { serveOthers } from "./serve-others.ts";

/** What one conversation needs to stay within its model's window. */
export interface Carryover<Model extends LanguageModelLike> {
  /** Use it in place of the model: it trims, prunes, compacts and recovers by itself. */
  readonly model: Model;
  /** Give these to the model too, so that it can read again what left its window. */
  readonly tools: { readonly recall: Tool<RecallInput, string> };
  /** For code that does not wrap the model: it does the same, but cannot recover from a refusal. With the wrapped model it does nothing. */
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
  /** Ends it and leaves everything as it is. @default none @when the user may cancel */
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
    const opened = others.get(id) ?? { ...converse(base, all, id), for: forId };
    others.set(id, opened);
    return opened;
  }

  return { ...converse(base, options), for: forId } as Carryover<ModelObject<Model>>;
}

/** The type of the model that was given; of a name, the type of any model. */
type ModelObject<Model> = Model extends LanguageModelLike ? Model : Exclude<LanguageModel, string>;

type OpenConversation = Carryover<LanguageModelLike>;

/** The options that another conversation takes over from this one. */
function sharedOptions({ restore: _, persist: __, store, ...shared }: CarryoverOptions): CarryoverOptions {
  return store?.outputs === undefined ? shared : { ...shared, store: { outputs: store.outputs } };
}

/** Options of a session that the app did not open: only its usage is reported. */
function unlistened(options: CarryoverOptions): CarryoverOptions {
  const { onCompact: _, onEvent: __, ...rest } = sharedOptions(options);
  return rest;
}

/**
 * Compacts messages without a session, such as for a button in a route that forgets everything between two requests.
 * The model writes the summary and says how large the window is; without one the summary is made without a model.
 */
export function compact(
  messages: readonly ModelMessage[],
  options: CompactMessagesOptions = {},
): Promise<CompactResult> {
  const { model, signal, ...rest } = Object(options) as CompactMessagesOptions;
  checkOptions(rest, model === undefined ? [] : languageModel.find(model, ["model"]));
  const opened = converse(model === undefined ? undefined : resolveModel(model), rest);
  return opened.compact(messages, signal && { signal });
}

/** Options of `compact`: those of `carryover()`, and these. */
export interface CompactMessagesOptions extends CarryoverOptions, CompactNowOptions {
  /**
   * The model of the conversation, by object or by name; it writes the summary unless `summarizer` says otherwise.
   * @default none: a summary without a model
   * @when a model shall write the summary
   */
  readonly model?: LanguageModelLike | string;
}

/** Opens one conversation. Its model also serves requests of others. */
function converse(
  base: LanguageModelLike | undefined,
  given: CarryoverOptions,
  id?: string,
): Omit<OpenConversation, "for"> {
  const { persist, onCompact, clock = createSystemClock(), ...options } = given;
  const { store, onUsage } = options;
  const journal = persist === undefined ? store?.journal : createPersistJournal(persist, { clock });
  const usageListeners = new Set<(used: SummaryUsage) => void>();
  const { session, conversation, warn, ...opened } = openConversation(
    base,
    {
      ...options,
      clock,
      store: omitUndefined({ outputs: store?.outputs, journal }),
      onUsage(used) {
        for (const listen of usageListeners) listen(used);
        return onUsage?.(used, id);
      },
    },
    {
      id,
      resolve: resolveModel,
      onEdited: () => handOver.edited(),
      onPrepared: () => handOver.now(),
    },
  );
  const handOver = createHandOver({
    onCompact,
    changed: () => ({
      state: session.toJSON(),
      messages: withoutSystem(conversation.currentWire()),
      ...omitUndefined({ id }),
    }),
    clock,
    onWarning: warn,
  });
  const recognizer = createRequestRecognizer(conversation.currentWire, startOf(given));
  const model = serveOthers(opened.model, asCallable(base ?? NO_MODEL), {
    recognizer,
    limitTokens: () => session.status().limitTokens ?? Number.POSITIVE_INFINITY,
    openOther: () => asCallable(converse(base, unlistened(given), id).model),
    onWarning: warn,
  });
  return {
    model,
    tools: { recall: createRecallTool(session) },
    prepareStep: createPrepareStep(conversation, model),
    session,
    compact(messages, options = {}) {
      throwProblems(check({ signal: abortSignal }, options));
      if (Array.isArray(messages)) recognizer.isOwn({ prompt: messages as unknown as AiSdkWire });
      return compactConversation({ session, conversation, usageListeners }, messages, options.signal);
    },
  };
}
