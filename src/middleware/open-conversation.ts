import { callListener } from "../compaction/ports/call-within.ts";
import { overflowOfEnvironment } from "../compaction/trigger/overflow.ts";
import type { SessionEvent, WarningCode } from "../session/events.ts";
import { type SessionOptions, type SessionPorts, withEngineSettings } from "../session/options.ts";
import { createSession, type Session } from "../session/session.ts";
import { createSystemClock } from "../stores/system-clock.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import type { CurrentRequest } from "./compaction-summarizer.ts";
import { type Conversation, createConversation } from "./conversation.ts";
import {
  asCallable,
  type CallableModel,
  type LanguageModelLike,
  modelRef,
  NO_MODEL,
} from "./language-model.ts";
import type { ConversationOptions } from "./options.ts";
import { recallToolIn } from "./recall-tool.ts";
import { readSummarizer, type SummarizerCalls, type SummarizerOption } from "./summarizer.ts";
import { traceSummarizer } from "./trace-summarizer.ts";
import { wrapModel } from "./wrap-model.ts";

/** Opens a conversation: a session, the messages that it is about, and a model that sends them as the session wants. Options were checked. */
export function openConversation(
  base: LanguageModelLike | undefined,
  options: OpenOptions,
  host: ConversationHost = {},
): OpenedConversation {
  const { clock = createSystemClock() } = options;
  const { id } = host;
  let sent: Omit<CurrentRequest, "prompt"> | undefined;
  let recallTool: string | undefined;
  const emit = (event: SessionEvent): void => callListener(() => options.onEvent?.(event, id));
  const warn = (code: WarningCode, message: string): void => emit({ type: "warning", code, message });
  const calls: SummarizerCalls = {
    headers: () => sent?.call.headers,
    current: (edits) =>
      sent && { ...sent, prompt: edits ? conversation.wireWith(edits) : conversation.currentWire() },
    resolve: host.resolve,
    models: options.models,
  };
  const session = openSession(base, { ...options, clock }, calls, {
    recallTool: () => recallTool,
    onEvent(event) {
      if (event.type === "context_changed") host.onEdited?.();
      if (event.type === "summary_usage") tellUsage(event);
      emit(event);
    },
  });

  function tellUsage({ type: _, ...usage }: Extract<SessionEvent, { type: "summary_usage" }>): void {
    callListener(() => options.onUsage?.(usage, id));
  }

  const conversation = createConversation(session, {
    clock,
    restore: options.restore,
    onPrepared: host.onPrepared ?? (async () => undefined),
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
  return { session, conversation, model, warn };
}

/** What a conversation is opened with: options that every host takes, and options that some hosts take in a form of their own. */
export interface OpenOptions extends ConversationOptions {
  readonly recallTool?: SessionOptions["recallTool"];
  readonly summarizer?: SummarizerOption;
  readonly store?: Pick<SessionPorts, "outputs" | "journal">;
  /** A state from `session.toJSON()`. */
  readonly restore?: unknown;
}

/** What a host adds that is no option. */
interface ConversationHost extends Pick<SummarizerCalls, "resolve"> {
  /** Names the conversation to listeners. */
  readonly id?: string | undefined;
  /** Called when the window was edited. */
  readonly onEdited?: () => void;
  /** Awaited before the messages are sent. */
  readonly onPrepared?: () => Promise<void>;
}

interface OpenedConversation {
  readonly session: Session;
  readonly conversation: Conversation;
  readonly model: CallableModel;
  readonly warn: (code: WarningCode, message: string) => void;
}

function openSession(
  base: LanguageModelLike | undefined,
  options: OpenOptions & Pick<SessionPorts, "clock">,
  calls: SummarizerCalls,
  own: Required<Pick<SessionOptions, "recallTool" | "onEvent">>,
): Session {
  const {
    summarizer,
    store,
    telemetry,
    hooks,
    clock,
    restore: _,
    onUsage: __,
    onEvent: ___,
    ...rest
  } = options;
  const model = modelRef(base ?? NO_MODEL);
  const { summarizer: writer, model: asked = model, option } = readSummarizer(base, summarizer, calls);
  const ports = omitUndefined({
    clock,
    summarizer: writer && telemetry ? traceSummarizer(writer, { telemetry, model: asked }) : writer,
    hooks,
    outputs: store?.outputs,
    journal: store?.journal,
  });
  const given: SessionOptions = {
    autoContinue: "never",
    recallTool: own.recallTool,
    ...omitUndefined(rest),
    model,
    summarizer: option,
    onEvent: own.onEvent,
  };
  const overflow = { ...overflowOfEnvironment(globalThis.process?.env ?? {}), ...options.overflow };
  return createSession(ports, withEngineSettings(given, { overflow }));
}
