import type { ModelMessage, Tool } from "ai";
import type { SessionHook } from "../../compaction/ask.ts";
import type { Clock } from "../../compaction/ports/clock.ts";
import { HOOKS_RULE, SIGNAL_RULE } from "../../compaction/ports/option-rules.ts";
import { type ModelLimits, overflowOfEnvironment } from "../../compaction/trigger/overflow.ts";
import type { AiSdkWire } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { Journal } from "../../session/journal.ts";
import type { SessionEvent, WarningCode } from "../../session/log.ts";
import type { SummaryUsage } from "../../session/metered-summarizer.ts";
import {
  findConflicts,
  SESSION_SHAPE,
  type SessionOptions,
  type SessionPorts,
} from "../../session/options.ts";
import {
  createPersistJournal,
  findTwoJournals,
  PERSIST_RULE,
  type Persistence,
  type PersistJournal,
} from "../../session/persist.ts";
import { createSession, type Session } from "../../session/session.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import {
  callback,
  check,
  methods,
  type Problem,
  type Rule,
  rule,
  type Shape,
  show,
  text,
  throwProblems,
} from "../../text/check.ts";
import { asObject, isObject, omitUndefined } from "../../text/json.ts";
import type { SpillStore } from "../../tool-output/spill.ts";
import { type CompactResult, compactConversation } from "./compact.ts";
import type { CurrentRequest } from "./compaction-summarizer.ts";
import { createConversation, createPrepareStep, type PrepareStep } from "./conversation.ts";
import { type CompactedConversation, createHandOver, withoutSystem } from "./hand-over.ts";
import { asCallable, knownLimits, type LanguageModelLike } from "./language-model.ts";
import { type LanguageModelObject, resolveModel } from "./model-by-name.ts";
import { createRecallTool, type RecallInput, recallToolIn } from "./recall-tool.ts";
import { createRequestRecognizer, startOf } from "./recognize-request.ts";
import { serveOthers } from "./serve-others.ts";
import {
  modelRef,
  readSummarizer,
  type SummarizerCalls,
  type SummarizerOption,
  summarizerRule,
} from "./summarizer.ts";
import { type CarryoverTelemetry, traceSummarizer } from "./telemetry.ts";
import { wrapModel } from "./wrap-model.ts";

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
    const opened = others.get(id) ?? openConversation(base, { ...sharedOptions(options), ...own }, id);
    others.set(id, opened);
    return opened;
  }

  function openConversation(model: LanguageModelLike, all: CarryoverOptions, id?: string): OpenConversation {
    return { ...converse(model, all, id), for: forId };
  }

  return openConversation(base, options);
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

/** One conversation by options that were checked; `id` names it to listeners. */
function converse(
  base: LanguageModelLike | undefined,
  options: CarryoverOptions,
  id?: string,
): Omit<OpenConversation, "for"> {
  let sent: Omit<CurrentRequest, "prompt"> | undefined;
  let recallTool: string | undefined;
  const usageListeners = new Set<(used: SummaryUsage) => void>();
  const emit = (event: SessionEvent): void => callListener(() => options.onEvent?.(event, id));
  const warn = (code: WarningCode, message: string): void => emit({ type: "warning", code, message });
  const { session, clock, persisted } = openSession(base, options, {
    headers: () => sent?.call.headers,
    current: () => sent && { ...sent, prompt: conversation.currentWire() },
    recallTool: () => recallTool,
    onEvent(event) {
      if (event.type === "context_changed") handOver.edited();
      if (event.type === "summary_usage") tellUsage(event);
      emit(event);
    },
    onNotPersisted: (message) => warn("not-persisted", message),
  });

  function tellUsage({ type: _, ...usage }: Extract<SessionEvent, { type: "summary_usage" }>): void {
    for (const listen of usageListeners) listen(usage);
    callListener(() => options.onUsage?.(usage, id));
  }

  const conversation = createConversation(session, {
    clock,
    restore: options.restore,
    async onPrepared() {
      persisted?.retry();
      await handOver.now();
    },
    onWarning: warn,
  });
  const handOver = createHandOver({
    onCompact: options.onCompact,
    changed: () => ({
      state: session.toJSON(),
      messages: withoutSystem(conversation.currentWire()),
      ...omitUndefined({ id }),
    }),
    clock,
    onWarning: warn,
  });
  const called = asCallable(base ?? NO_MODEL);
  const own = wrapModel(called, {
    session,
    conversation,
    onCall(call, way) {
      sent = { call, way };
      recallTool = recallToolIn(call.tools);
    },
  });
  const recognizer = createRequestRecognizer(conversation.currentWire, startOf(options));
  const model = serveOthers(own, called, {
    recognizer,
    limitTokens: () => session.status().limitTokens ?? Number.POSITIVE_INFINITY,
    openOther: () => asCallable(converse(base, unlistened(options), id).model),
    onWarning: warn,
  });
  return {
    model: model as unknown as LanguageModelLike,
    tools: { recall: createRecallTool(session) },
    prepareStep: createPrepareStep(conversation, model),
    session,
    compact(messages, given = {}) {
      throwProblems(check(COMPACT_NOW_SHAPE, given));
      if (Array.isArray(messages)) recognizer.isOwn({ prompt: messages as unknown as AiSdkWire });
      return compactConversation({ session, conversation, usageListeners }, messages, given.signal);
    },
  };
}

/** What a listener throws is not the conversation's concern. */
function callListener(call: () => void): void {
  try {
    call();
  } catch {}
}

/** How a conversation is kept within its model's window; everything has a default. */
export interface CarryoverOptions
  extends Omit<
    SessionOptions,
    "model" | "summarizer" | "systemChars" | "toolsChars" | "recallTool" | "autoContinue" | "onEvent"
  > {
  /** Whether the agent is told to go on after an automatic compaction: loops of the AI SDK do so by themselves, and not every model takes a user's message behind a tool result. @default never */
  readonly autoContinue?: SessionOptions["autoContinue"];
  /** The name of the tool that recalls, for notices; where the model is wrapped the request says it. @default as the request says, else none */
  readonly recallTool?: SessionOptions["recallTool"];
  /** Who writes summaries: another model of the AI SDK, by object or by name, code of your own, or `{ model, system, instructions, way }` with what it is told, and how. @default the model itself */
  readonly summarizer?: SummarizerOption;
  /** Where long outputs and the record of what was done are kept; without it, in your messages and in `onCompact`. @default none */
  readonly store?: CarryoverStore;
  /** What `session.toJSON()` gave when these messages were last used. @default nothing */
  readonly restore?: unknown;
  /**
   * Keeps the state as a list of small values: `load` gives all of them, `append` keeps one more. Neither can hold up a
   * request for longer than `timeoutMs` (5,000), or make it fail.
   * @default none
   */
  readonly persist?: Persistence;
  /** Called with what to persist whenever the window was edited; awaited before the request is sent, for 10 seconds at most. @default none */
  readonly onCompact?: (changed: CompactedConversation) => void | Promise<void>;
  /** Called with what each call for a summary used, which the usage of your own requests does not count. @default none */
  readonly onUsage?: (used: SummaryUsage, id?: string) => void;
  /** Called for every event, in order, with the id of a conversation that `for` gave. What it throws is ignored. @default none */
  readonly onEvent?: (event: SessionEvent, id?: string) => void;
  /** Makes an OpenTelemetry span of each call for a summary: `telemetry: { tracer }`. @default none */
  readonly telemetry?: CarryoverTelemetry;
  /** Hooks around a compaction, in order. @default none */
  readonly hooks?: readonly SessionHook[];
  /** The present time; the system's when unset. @default the system's */
  readonly clock?: Clock;
}

/** Stores of a conversation, in memory, as files or in a database. */
export interface CarryoverStore {
  /** Keeps the whole text of outputs that are too long. @default none */
  readonly spills?: SpillStore;
  /** Keeps every edit, so that a restart goes on where it was. @default none */
  readonly journal?: Journal;
}

/** Throws one error that lists every problem. */
function checkOptions(options: unknown, others: readonly Problem[]): void {
  throwProblems([
    ...others,
    ...check(CARRYOVER_SHAPE, options),
    ...findConflicts(Object(options)),
    ...findTwoJournals(options),
  ]);
}

/** A session by options that were checked. */
function openSession(
  base: LanguageModelLike | undefined,
  options: CarryoverOptions,
  wiring: Wiring,
): OpenSession {
  const { summarizer, store, persist, restore: _, onCompact: __, onUsage: ___, ...more } = options;
  const { telemetry, hooks, ...rest } = more;
  const { clock = createSystemClock(), overflow, onEvent: ____, ...sessionOptions } = rest;
  const persisted = persist && createPersistJournal(persist, { clock, onFailure: wiring.onNotPersisted });
  const model = modelRef(base ?? NO_MODEL);
  const { summarizer: writer, model: asked = model, option } = readSummarizer(base, summarizer, wiring);
  const ports: SessionPorts = {
    clock,
    ...(writer && {
      summarizer: telemetry === undefined ? writer : traceSummarizer(writer, { telemetry, model: asked }),
    }),
    ...(hooks && { hooks }),
    ...omitUndefined({ spills: store?.spills, journal: persisted ?? store?.journal }),
  };
  const session = createSession(ports, {
    recallTool: wiring.recallTool,
    autoContinue: "never",
    ...omitUndefined(sessionOptions),
    limits: limitsOf(model.id, sessionOptions.limits),
    overflow: { ...overflowOfEnvironment(globalThis.process?.env ?? {}), ...omitUndefined(Object(overflow)) },
    model,
    summarizer: option,
    onEvent: wiring.onEvent,
  });
  return { session, clock, persisted };
}

/** The limits that were given, completed by what is known of the model. */
function limitsOf(modelId: string, given: CarryoverOptions["limits"]): Partial<ModelLimits> {
  const known = knownLimits(modelId);
  const limits = omitUndefined(Object(given) as Partial<ModelLimits>);
  // Whoever names a window means that one, and not the limit of the input that goes with another.
  return limits.contextTokens === undefined
    ? { ...known, ...limits }
    : { outputTokens: known.outputTokens, ...limits };
}

/** Stands where no model is asked: the summary is then made without one. */
const NO_MODEL: LanguageModelLike = {
  specificationVersion: "v3",
  provider: "none",
  modelId: "none",
  doGenerate: () => Promise.reject(new Error("There is no model.")),
  doStream: () => Promise.reject(new Error("There is no model.")),
};

const COMPACT_NOW_SHAPE: Shape<CompactNowOptions> = { signal: SIGNAL_RULE };

interface Wiring extends SummarizerCalls {
  /** The name of the recall tool in the newest request. */
  readonly recallTool: () => string | undefined;
  readonly onEvent: NonNullable<SessionOptions["onEvent"]>;
  readonly onNotPersisted: (message: string) => void;
}

interface OpenSession {
  readonly session: Session;
  readonly clock: Clock;
  readonly persisted: PersistJournal | undefined;
}

const languageModel: Rule = {
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

const STORE_SHAPE: Shape<CarryoverStore> = {
  spills: methods("put", "get"),
  journal: methods("append", "read"),
};

const { model: _, systemChars: __, toolsChars: ___, ...SHARED_SHAPE } = SESSION_SHAPE;

const CARRYOVER_SHAPE: Shape<CarryoverOptions> = {
  ...SHARED_SHAPE,
  summarizer: summarizerRule(languageModel),
  store: {
    expects: "an object",
    // Stores may have more than is used here.
    find: (value, path) => {
      const { spills, journal } = asObject(value);
      return check(STORE_SHAPE, isObject(value) ? { spills, journal } : value, path);
    },
  },
  persist: PERSIST_RULE,
  restore: rule("what session.toJSON() gave, parsed", (value) => value === null || typeof value === "object"),
  onCompact: callback,
  onUsage: callback,
  telemetry: rule(
    "{ tracer } with a tracer of OpenTelemetry",
    (value) => methods("startSpan").find(asObject(value).tracer, []).length === 0,
  ),
  hooks: HOOKS_RULE,
  clock: methods("now", "sleep"),
};
