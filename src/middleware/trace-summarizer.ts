import type { Summarizer } from "../compaction/ports/summarizer.ts";

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

/** Where spans of our own model calls go: OpenTelemetry's tracer, as `experimental_telemetry` of the AI SDK takes it. */
export interface CarryoverTelemetry {
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
