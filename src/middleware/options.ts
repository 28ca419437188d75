import type { SessionHook } from "../compaction/ask-hooks.ts";
import { HOOKS_RULE } from "../compaction/ports/option-rules.ts";
import type { Clock } from "../compaction/ports/summarizer.ts";
import type { SessionEvent } from "../session/events.ts";
import type { SummaryUsage } from "../session/metered-summarizer.ts";
import { type SessionOptions, sessionShape } from "../session/options.ts";
import { callback, check, methods, type Problem, type Rule, rule, type Shape } from "../text/check.ts";
import { asObject } from "../text/unknown-value.ts";
import type { CarryoverTelemetry } from "./trace-summarizer.ts";

/** The options of every host of this room: those of a session that the host does not know itself, and these. Everything has a default. */
export interface ConversationOptions
  extends Omit<
    SessionOptions,
    "model" | "summarizer" | "systemChars" | "toolsChars" | "recallTool" | "autoContinue" | "onEvent"
  > {
  /**
   * Whether the agent is told to go on after an automatic compaction: loops do so by themselves, and not every model
   * takes a user's message behind a tool result.
   * @default `never`
   * @when your loop waits for a user's message after a compaction
   */
  readonly autoContinue?: SessionOptions["autoContinue"];
  /**
   * Called for every event, in order, with the id of a conversation that `for` gave, or of LangChain's thread. What
   * it throws is ignored.
   * @default none
   * @when you show what happens
   */
  readonly onEvent?: (event: SessionEvent, id?: string) => void;
  /**
   * Called with what each call for a summary used, which the usage of your own requests does not count.
   * @default none
   * @when you bill or watch tokens
   */
  readonly onUsage?: (used: SummaryUsage, id?: string) => void;
  /**
   * Makes an OpenTelemetry span of each call for a summary: `telemetry: { tracer }`.
   * @default none
   * @when you trace with OpenTelemetry
   */
  readonly telemetry?: CarryoverTelemetry;
  /** Hooks around a compaction, in order. @default none @from document 003 @when as for a session */
  readonly hooks?: readonly SessionHook[];
  /** The present time; the system's when unset. @default the system's @when in tests */
  readonly clock?: Clock;
}

/** Every problem of the options that a host was given; `own` has the rules of those that only it takes, or in a form of its own. */
export function findOptionProblems(
  options: unknown,
  own: Readonly<Record<string, Rule>>,
): readonly Problem[] {
  const { model: _, systemChars: __, toolsChars: ___, ...session } = sessionShape(options);
  return check({ ...session, ...CONVERSATION_SHAPE, ...own }, options);
}

/** The options above that a session does not have. */
const CONVERSATION_SHAPE: Shape<Pick<ConversationOptions, "onUsage" | "telemetry" | "hooks" | "clock">> = {
  onUsage: callback,
  telemetry: rule(
    "{ tracer } with a tracer of OpenTelemetry",
    (value) => methods("startSpan").find(asObject(value).tracer, []).length === 0,
  ),
  hooks: HOOKS_RULE,
  clock: methods("now", "sleep"),
};
