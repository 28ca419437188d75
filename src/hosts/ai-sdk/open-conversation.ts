import { callListener } from "../../compaction/ports/call-within.ts";
import { HOOKS_RULE } from "../../compaction/ports/option-rules.ts";
import type { Clock } from "../../compaction/ports/summarizer.ts";
import { overflowOfEnvironment } from "../../compaction/trigger/overflow.ts";
import type { SessionEvent, WarningCode } from "../../session/events.ts";
import type { Journal } from "../../session/journal.ts";
import type { SummaryUsage } from "../../session/metered-summarizer.ts";
import {
  type SessionOptions,
  type SessionPorts,
  sessionShape,
  withEngineSettings,
} from "../../session/options.ts";
import {
  createPersistJournal,
  findTwoJournals,
  PERSIST_RULE,
  type Persistence,
} from "../../session/persist.ts";
import { createSession, type Session } from "../../session/session.ts";
import type { StoredState } from "../../session/stored-state.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import {
  callback,
  check,
  methods,
  type Problem,
  type Rule,
  rule,
  type Shape,
  throwProblems,
} from "../../text/check.ts";
import { textOrJson } from "../../text/json.ts";
import { asObject, isObject, omitUndefined } from "../../text/unknown-value.ts";
import type { SpillStore } from "../../tool-output/spill.ts";
import {
  type CompactedConversation,
  type Conversation,
  createConversation,
  createHandOver,
  withoutSystem,
} from "./conversation.ts";
import {
  asCallable,
  type CallableModel,
  type LanguageModelLike,
  languageModel,
  NO_MODEL,
} from "./language-model.ts";
import { recallToolIn } from "./recall-tool.ts";
import {
  type CurrentRequest,
  modelRef,
  readSummarizer,
  type SummarizerCalls,
  type SummarizerOption,
  summarizerRule,
} from "./summarizer.ts";
import { type ConversationOptions, type OwnConversationOptions, traceSummarizer } from "./telemetry.ts";
import { wrapModel } from "./wrap-model.ts";

/** A conversation and a model that serves it alone, by options that were checked; `id` names it to listeners. */
export function openConversation(
  base: LanguageModelLike | undefined,
  options: CarryoverOptions,
  { id, resolve }: { readonly id?: string; readonly resolve?: SummarizerCalls["resolve"] } = {},
): ManagedConversation {
  let sent: Omit<CurrentRequest, "prompt"> | undefined;
  let recallTool: string | undefined;
  const usageListeners = new Set<(used: SummaryUsage) => void>();
  const emit = (event: SessionEvent): void => callListener(() => options.onEvent?.(event, id));
  const warn = (code: WarningCode, message: string): void => emit({ type: "warning", code, message });
  const { session, clock } = openSession(base, options, {
    headers: () => sent?.call.headers,
    current: (edits) =>
      sent && { ...sent, prompt: edits ? conversation.wireWith(edits) : conversation.currentWire() },
    recallTool: () => recallTool,
    ...omitUndefined({ resolve }),
    onEvent(event) {
      if (event.type === "context_changed") handOver.edited();
      if (event.type === "summary_usage") tellUsage(event);
      emit(event);
    },
  });

  function tellUsage({ type: _, ...usage }: Extract<SessionEvent, { type: "summary_usage" }>): void {
    for (const listen of usageListeners) listen(usage);
    callListener(() => options.onUsage?.(usage, id));
  }

  const conversation = createConversation(session, {
    clock,
    restore: options.restore,
    onPrepared: () => handOver.now(),
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
  const model = wrapModel(asCallable(base ?? NO_MODEL), {
    session,
    conversation,
    onCall(call, way) {
      sent = { call, way };
      recallTool = recallToolIn(call.tools);
    },
    onWarning: warn,
  });
  return { session, conversation, model, usageListeners, warn };
}

interface ManagedConversation {
  readonly session: Session;
  readonly conversation: Conversation;
  readonly model: CallableModel;
  readonly usageListeners: Set<(used: SummaryUsage) => void>;
  readonly warn: (code: WarningCode, message: string) => void;
}

/**
 * Conversations whose state a host keeps beside their messages, where it may be taken back, copied or loaded elsewhere. The
 * number in it tells: a state with the newest number goes on in memory, any other is opened anew from what it holds.
 */
export function createKeptConversations<Opened extends { readonly session: Session }>(): {
  /** What a state belongs to, where that is in memory. */
  known(state: unknown): Opened | undefined;
  /** The same, opened where it is not, and what the host has to keep from now on; undefined when it has it already. */
  of(state: unknown, open: (restore: unknown) => Opened): [Opened, () => KeptState | undefined];
} {
  const live = new Map<string, { readonly opened: Opened; version: number; saved: string }>();

  function entryOf(state: unknown) {
    const { id, version } = asObject(state);
    const entry = live.get(textOrJson(id));
    return entry?.version === version ? entry : undefined;
  }

  return {
    known: (state) => entryOf(state)?.opened,

    of(state, open) {
      const { id: given, version = 0, session: restore } = asObject(state);
      const known = entryOf(state);
      // Where another has this id already, this is one more from here.
      const isFree = typeof given === "string" && (known !== undefined || !live.has(given));
      const id = isFree ? given : globalThis.crypto.randomUUID();
      const entry = known ?? { opened: open(restore), version: Number(version), saved: "" };
      live.delete(id);
      live.set(id, entry);
      for (const oldest of live.keys()) if (live.size > MAX_LIVE) live.delete(oldest);
      const { session } = entry.opened;
      function keep(): KeptState | undefined {
        const { batches, contextWindowTokens, epoch } = session.status();
        // An epoch also begins where thoughts were refused, which edits nothing.
        const current = [contextWindowTokens, epoch, ...batches.map((batch) => batch.id)].join();
        if (current === entry.saved) return undefined;
        entry.saved = current;
        entry.version++;
        return { id, version: entry.version, session: session.toJSON() };
      }
      return [entry.opened, keep];
    },
  };
}

interface KeptState {
  readonly id: string;
  readonly version: number;
  readonly session: StoredState;
}

/** Conversations that are in memory at once. */
const MAX_LIVE = 200;

/** How a conversation is kept within its model's window; everything has a default. */
export interface CarryoverOptions extends ConversationOptions {
  /** The name of the tool that recalls, for notices; where the model is wrapped the request says it. @default as the request says, else none */
  readonly recallTool?: SessionOptions["recallTool"];
  /** Who writes summaries: another model of the AI SDK, by object or by name, code of your own, or `{ model, system, instructions, way }` with what it is told, and how. @default the model itself */
  readonly summarizer?: SummarizerOption;
  /** Where long outputs and the record of what was done are kept; without it, in your messages and in `onCompact`. @default none */
  readonly store?: CarryoverStore;
  /** What `session.toJSON()` gave when these messages were last used. @default nothing */
  readonly restore?: unknown;
  /**
   * Keeps the state as a list of small values: `load` gives all of them, `append` keeps one more. What hangs
   * holds up one request in all, for `timeoutMs` (2,000), and makes none fail.
   * @default none
   */
  readonly persist?: Persistence;
  /** Called with what to persist whenever the window was edited; awaited before the request is sent; one that hangs holds up one request in all, for 2 seconds. @default none */
  readonly onCompact?: (changed: CompactedConversation) => void | Promise<void>;
}

/** Stores of a conversation, in memory, as files or in a database. */
export interface CarryoverStore {
  /** Keeps the whole text of outputs that are too long. @default none */
  readonly spills?: SpillStore;
  /** Keeps every edit, so that a restart goes on where it was. @default none */
  readonly journal?: Journal;
}

/** Throws one error that lists every problem; `own` says what is special to another host, where it is one. */
export function checkOptions(
  options: unknown,
  others: readonly Problem[],
  own: Readonly<Record<string, Rule>> = CARRYOVER_SHAPE,
): void {
  const { model: _, systemChars: __, toolsChars: ___, ...session } = sessionShape(options);
  throwProblems([
    ...others,
    ...check({ ...session, ...CONVERSATION_SHAPE, ...own }, options),
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
  const { clock = createSystemClock(), onEvent: ____, ...sessionOptions } = rest;
  const persisted = persist && createPersistJournal(persist, { clock });
  const model = modelRef(base ?? NO_MODEL);
  const {
    summarizer: writer,
    model: asked = model,
    option,
  } = readSummarizer(base, summarizer, {
    ...wiring,
    ...omitUndefined({ models: sessionOptions.models }),
  });
  const ports: SessionPorts = {
    clock,
    ...(writer && {
      summarizer: telemetry === undefined ? writer : traceSummarizer(writer, { telemetry, model: asked }),
    }),
    ...(hooks && { hooks }),
    ...omitUndefined({ spills: store?.spills, journal: persisted ?? store?.journal }),
  };
  const given: SessionOptions = {
    recallTool: wiring.recallTool,
    autoContinue: "never",
    ...omitUndefined(sessionOptions),
    model,
    summarizer: option,
    onEvent: wiring.onEvent,
  };
  const overflow = { ...overflowOfEnvironment(globalThis.process?.env ?? {}), ...options.overflow };
  const session = createSession(ports, withEngineSettings(given, { overflow }));
  return { session, clock };
}

interface Wiring extends SummarizerCalls {
  /** The name of the recall tool in the newest request. */
  readonly recallTool: () => string | undefined;
  readonly onEvent: NonNullable<SessionOptions["onEvent"]>;
}

interface OpenSession {
  readonly session: Session;
  readonly clock: Clock;
}

const STORE_SHAPE: Shape<CarryoverStore> = {
  spills: methods("put", "get"),
  journal: methods("append", "read"),
};

/** What conversations of every host take beside the options of a session. */
const CONVERSATION_SHAPE: Shape<OwnConversationOptions> = {
  onUsage: callback,
  telemetry: rule(
    "{ tracer } with a tracer of OpenTelemetry",
    (value) => methods("startSpan").find(asObject(value).tracer, []).length === 0,
  ),
  hooks: HOOKS_RULE,
  clock: methods("now", "sleep"),
};

/** What only the AI SDK takes, or takes in another form. */
export const CARRYOVER_SHAPE: Shape<
  Pick<CarryoverOptions, "summarizer" | "store" | "persist" | "restore" | "onCompact">
> = {
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
};
