import { filterCompacted } from "../stages/filter-compacted.ts";
import type { Place } from "../transcript/edit.ts";
import type { MessageId, Transcript } from "../transcript/message.ts";
import type { CallId } from "../transcript/part.ts";
import { handleOf, type ToolResult } from "../transcript/tool-results.ts";
import type { SummaryRequest } from "./summarizer.ts";
import { summaryPlace } from "./tool-summary-place.ts";
import { toolSummaryRequest } from "./tool-summary-prompt.ts";
import { countedResults } from "./tool-summary-results.ts";
import {
  type KnownToolSummarySettings,
  readToolSummarySettings,
  type ToolSummarySettings,
} from "./tool-summary-settings.ts";

/**
 * Which tool results to sum up next, oldest first, so that at most the cutoff stays visible. A result that the model
 * has not answered yet is never among them, nor one that is queued already.
 */
export function planToolSummaries(
  transcript: Transcript,
  settings: ToolSummarySettings,
  queued: readonly ToolSummaryBatch[] = [],
): ToolSummaryPlan {
  const known = readToolSummarySettings(settings);
  const { cutoffResults, strategy, mode } = known;
  const window = filterCompacted(transcript);
  const results = countedResults(window, known);
  const visibleResults = results.length;
  const place = summaryPlace(window);
  if (strategy === "off") return { visibleResults, neededResults: 0, timing: "now", batches: [], place };

  const queuedHandles = new Set(queued.flatMap((batch) => batch.results.map(handleOfRef)));
  const isQueued = ({ message, partIndex }: ToolResult) => queuedHandles.has(handleOf(message, partIndex));
  const neededResults = Math.max(0, visibleResults - cutoffResults - results.filter(isQueued).length);
  const timing =
    mode === "sync" || strategy === "heuristic" || visibleResults > cutoffResults * SYNC_FALLBACK_FACTOR
      ? "now"
      : "later";
  const freeBatches = timing === "now" ? Number.POSITIVE_INFINITY : MAX_PENDING_BATCHES - queued.length;
  const eligible = results.filter((result) => result.isSeen && !isQueued(result));
  const batches = inBatches(eligible.slice(0, neededResults), mode === "sync" ? 1 : MAX_BATCH_RESULTS)
    .slice(0, Math.max(0, freeBatches))
    .map((batch) => toBatch(batch, known));
  return { visibleResults, neededResults, timing, batches, place };
}

export interface ToolSummaryPlan {
  /** Results that count against the cutoff. */
  readonly visibleResults: number;
  /** How many more have to be archived than are queued; some of them may not have been seen yet. */
  readonly neededResults: number;
  /** `now`: await the summaries before going on. `later`: go on, and use them when they are there. */
  readonly timing: "now" | "later";
  /** Each becomes one summary. */
  readonly batches: readonly ToolSummaryBatch[];
  /** Where summaries go: behind the current tool results, before a user message that waits for its answer. */
  readonly place: Place;
}

/** Results that are summed up together: plain data that can be stored and taken up again. */
export interface ToolSummaryBatch {
  readonly results: readonly ToolResultRef[];
  /** What to ask the model; unset when none is needed. */
  readonly request?: SummaryRequest;
}

/** Names one result of a transcript. */
export interface ToolResultRef {
  readonly messageId: MessageId;
  readonly partIndex: number;
  readonly callId: CallId;
  readonly tool: string;
}

/** Where the result can be recalled. */
export function handleOfRef({ messageId, partIndex }: ToolResultRef): string {
  return `${messageId}/${partIndex}`;
}

export const MAX_BATCH_RESULTS = 4;
export const MAX_PENDING_BATCHES = 2;
/** Above this many times the cutoff summaries are awaited, or a fast agent would outrun them. */
export const SYNC_FALLBACK_FACTOR = 2;

function toBatch(results: readonly ToolResult[], settings: KnownToolSummarySettings): ToolSummaryBatch {
  const request = settings.strategy === "llm" ? toolSummaryRequest(results, settings) : undefined;
  return {
    results: results.map(({ message, partIndex, part: { callId, tool } }) => ({
      messageId: message.id,
      partIndex,
      callId,
      tool,
    })),
    ...(request !== undefined && { request }),
  };
}

function inBatches<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const batches: T[][] = [];
  for (let start = 0; start < items.length; start += size) batches.push(items.slice(start, start + size));
  return batches;
}
