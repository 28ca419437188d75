import type { SessionHook } from "../../compaction/ask.ts";
import type { Clock, Summarizer } from "../../compaction/ports/summarizer.ts";
import type { SessionEvent } from "../../session/events.ts";
import type { SummaryUsage } from "../../session/metered-summarizer.ts";
import type { SessionOptions } from "../../session/options.ts";

/** What every conversation of a host may be told: as a session, but for what the host knows itself. */
export interface ConversationOptions
  extends Omit<
      SessionOptions,
      "model" | "summarizer" | "systemChars" | "toolsChars" | "recallTool" | "autoContinue" | "onEvent"
    >,
    OwnConversationOptions {
  /** Whether the agent is told to go on after an automatic compaction: loops do so by themselves, and not every model takes a user's message behind a tool result. @default never */
  readonly autoContinue?: SessionOptions["autoContinue"];
  /** Called for every event, in order, with the id of a conversation that `for` gave, or of LangChain's thread. What it throws is ignored. @default none */
  readonly onEvent?: (event: SessionEvent, id?: string) => void;
}

/** What only a host takes; everything has a default. */
export interface OwnConversationOptions {
  /** Called with what each call for a summary used, which the usage of your own requests does not count. @default none */
  readonly onUsage?: (used: SummaryUsage, id?: string) => void;
  /** Makes an OpenTelemetry span of each call for a summary: `telemetry: { tracer }`. @default none */
  readonly telemetry?: CarryoverTelemetry;
  /** Hooks around a compaction, in order. @default none */
  readonly hooks?: readonly SessionHook[];
  /** The present time; the system's when unset. @default the system's */
  readonly clock?: Clock;
}

/** Where spans of our own model calls go: OpenTelemetry's tracer, as `experimental_telemetry` of the AI SDK takes it. */
interface CarryoverTelemetry {
  /** Makes the spans; each is a child of the span that is active. */
  readonly tracer: TracerLike;
}

interface TracerLike {
  startSpan(name: string, options?: { readonly attributes?: SpanAttributes }): SpanLike;
}

interface SpanLike {
  setAttributes(attributes: SpanAttributes): unknown;
  recordException(error: Error): void;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

type SpanAttributes = Record<string, string | number>;

/** A summarizer each of whose calls is a span with its model and usage, named as OpenTelemetry names those of models. */
export function traceSummarizer(summarizer: Summarizer, { telemetry, model }: TraceOptions): Summarizer {
  return {
    ...summarizer,
    async summarize(request, options) {
      const { provider, id } = request.model ?? model;
      const span = telemetry.tracer.startSpan("carryover.summarize", {
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.provider.name": provider,
          "gen_ai.request.model": id,
          "gen_ai.request.max_tokens": request.maxOutputTokens,
        },
      });
      try {
        return await summarizer.summarize(request, {
          ...options,
          onUsage(usage) {
            span.setAttributes({
              "gen_ai.usage.input_tokens": usage.inputTokens,
              "gen_ai.usage.output_tokens": usage.outputTokens,
              "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens,
              "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
            });
            options.onUsage?.(usage);
          },
        });
      } catch (error) {
        span.recordException(error instanceof Error ? error : new Error(String(error)));
        span.setStatus({ code: ERROR_STATUS });
        throw error;
      } finally {
        span.end();
      }
    },
  };
}

interface TraceOptions {
  readonly telemetry: CarryoverTelemetry;
  /** The model that is asked where a request names none. */
  readonly model: { readonly provider: string; readonly id: string };
}

/** `SpanStatusCode.ERROR` of OpenTelemetry. */
const ERROR_STATUS = 2;
