import type { ModelMessage } from "ai";
import type { Clock } from "../../compaction/clock.ts";
import type { SessionHook } from "../../compaction/session-hooks.ts";
import type { Summarizer } from "../../compaction/summarizer.ts";
import { fields } from "../../formats/fields.ts";
import { createSession, type Session } from "../../session/create-session.ts";
import type { Journal } from "../../session/journal.ts";
import type { SessionOptions } from "../../session/session-options.ts";
import type { SessionPorts } from "../../session/session-ports.ts";
import type { SessionState } from "../../session/session-state.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { ConfigurationError } from "../../text/configuration-error.ts";
import type { SpillStore } from "../../tool-output/spill-store.ts";
import { createModelSummarizer } from "./base-summarizer.ts";
import { knownLimits } from "./known-limits.ts";
import { type CallableModel, callable, type LanguageModelLike, type ModelCall } from "./language-model.ts";

/** How a conversation is kept within its model's window; everything has a default. */
export interface CarryoverOptions
  extends Omit<SessionOptions, "model" | "summarizer" | "systemChars" | "toolsChars"> {
  /** Who writes summaries: another model of the AI SDK, or code of your own; the model itself when unset. */
  readonly summarizer?: LanguageModelLike | Summarizer;
  /** Where long outputs and the record of what was done are kept; without it, in your messages and in `onCompact`. */
  readonly store?: CarryoverStore;
  /** What `session.toJSON()` gave when these messages were last used. */
  readonly restore?: unknown;
  /** Called with what to persist whenever the window was edited; awaited before the request is sent. */
  readonly onCompact?: (changed: CompactedConversation) => void | Promise<void>;
  readonly hooks?: readonly SessionHook[];
  readonly clock?: Clock;
}

export interface CarryoverStore {
  readonly spills?: SpillStore;
  readonly journal?: Journal;
}

/** What to persist: either beside all messages, the state, or in place of all messages, those that are left. */
export interface CompactedConversation {
  readonly state: SessionState;
  readonly messages: readonly ModelMessage[];
}

/** A session by these options; what cannot be used is thrown, every problem at once. */
export function openSession(base: LanguageModelLike, options: CarryoverOptions, wiring: Wiring): OpenSession {
  const problems = [...modelProblems("the model", base), ...optionProblems(options)];
  const {
    summarizer,
    store,
    restore: _,
    onCompact: __,
    hooks,
    clock = createSystemClock(),
    ...rest
  } = options;
  const ports: SessionPorts = {
    clock,
    summarizer: summarizerOf(summarizer ?? base, wiring.headers),
    ...(hooks && { hooks }),
    ...store,
  };
  const model = { provider: String(base?.provider), id: String(base?.modelId) };
  try {
    const session = createSession(ports, {
      limits: knownLimits(model.id),
      ...LOOP_SETTINGS,
      ...rest,
      compaction: { ...LOOP_SETTINGS.compaction, ...rest.compaction },
      model,
      ...summarizerLimits(summarizer),
      onEvent: wiring.onEvent,
    });
    if (problems.length === 0) return { session, clock };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    problems.push(...error.problems);
  }
  throw new ConfigurationError(problems);
}

/**
 * An agent's loop is one turn of the user, so old outputs may go within it; and summing up a few results at a time
 * would break the provider's cache every few steps.
 */
const LOOP_SETTINGS = {
  prune: { protectTurns: 0 },
  compaction: { toolSummaryStrategy: "off" },
} as const satisfies SessionOptions;

export interface Wiring {
  readonly headers: () => ModelCall["headers"];
  readonly onEvent: NonNullable<SessionOptions["onEvent"]>;
}

export interface OpenSession {
  readonly session: Session;
  readonly clock: Clock;
}

function summarizerOf(given: LanguageModelLike | Summarizer, headers: Wiring["headers"]): Summarizer {
  return "summarize" in Object(given)
    ? (given as Summarizer)
    : createModelSummarizer(callable(given as LanguageModelLike), headers);
}

function summarizerLimits(given: CarryoverOptions["summarizer"]): Pick<SessionOptions, "summarizer"> {
  if (given === undefined || !("modelId" in Object(given))) return {};
  const { provider, modelId } = given as CallableModel;
  const { contextTokens, outputTokens } = knownLimits(String(modelId));
  const model = { provider: String(provider), id: String(modelId) };
  return { summarizer: { model, windowTokens: contextTokens, outputTokens } };
}

function optionProblems(options: CarryoverOptions): readonly string[] {
  const { summarizer, store, limits, restore } = options;
  const isSummarizer = typeof fields(summarizer).summarize === "function";
  return [
    ...(summarizer === undefined || isSummarizer ? [] : modelProblems("summarizer", summarizer)),
    ...methodProblems("store.spills", store?.spills, ["put", "get"]),
    ...methodProblems("store.journal", store?.journal, ["append", "read"]),
    ...(["onCompact", "onEvent"] as const)
      .filter((name) => options[name] !== undefined && typeof options[name] !== "function")
      .map((name) => `${name} is ${typeof options[name]}; give a function`),
    ...Object.entries(limits ?? {})
      .filter(([, tokens]) => !(typeof tokens === "number" && tokens >= 0))
      .map(
        ([name, tokens]) => `limits.${name} is ${String(tokens)}; give a number of tokens, 0 when unknown`,
      ),
    ...(restore === undefined || restore === null || typeof restore === "object"
      ? []
      : [`restore is a ${typeof restore}; give what session.toJSON() gave, parsed`]),
  ];
}

function modelProblems(name: string, model: unknown): readonly string[] {
  const { doGenerate, doStream } = fields(model);
  if (typeof doGenerate === "function" && typeof doStream === "function") return [];
  return [
    `${name} is ${typeof model}; give a language model object of the AI SDK, such as openai("...") gives`,
  ];
}

function methodProblems(name: string, value: unknown, methods: readonly string[]): readonly string[] {
  if (value === undefined) return [];
  const missing = methods.filter((method) => typeof fields(value)[method] !== "function");
  return missing.map((method) => `${name} has no function ${method}`);
}
