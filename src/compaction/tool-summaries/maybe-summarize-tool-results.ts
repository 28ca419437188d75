import { applyEdits, type Edit } from "../../transcript/edit.ts";
import type { Transcript } from "../../transcript/message.ts";
import { type CallResult, callWithin } from "../ports/call-within.ts";
import type { Clock, Summarizer } from "../ports/summarizer.ts";
import type { ToolSummaryStrategy } from "../trigger/compaction-settings.ts";
import {
  type AnsweredBatch,
  digestEdits,
  type ToolSummaryAnswer,
  type ToolSummaryNote,
  toolSummaryEdits,
} from "./edits.ts";
import {
  batchToAsk,
  completeToolSummarySettings,
  handleOfRef,
  planToolSummaries,
  type ToolSummaryBatch,
  type ToolSummarySettings,
} from "./plan-tool-summaries.ts";

/**
 * Sums up the oldest tool results when more than the cutoff are visible, and gives the edits that archive them and insert
 * their summaries. `planToolSummaries` chooses the results and writes the requests, the summarizer answers them now or
 * while the agent goes on, `toolSummaryEdits` writes what has arrived. Call it after the tools of each turn have run, and
 * pass `pending` on to the next call.
 */
export async function maybeSummarizeToolResults(
  transcript: Transcript,
  options: MaybeSummarizeOptions,
): Promise<SummarizedToolResults> {
  const { settings, summarizer, clock, signal, waitMs = 0 } = options;
  const known = completeToolSummarySettings(settings);
  const stored = options.pending ?? [];
  if (known.strategy === "off") return { edits: [], notes: [], degraded: false, pending: stored };
  // What was asked for before a restart is asked for again.
  const pending = stored.flatMap((item): readonly PendingToolSummary[] => {
    if (item.answer !== undefined || item.batch.request !== undefined) return [item];
    const batch = batchToAsk(transcript, item.batch, known);
    return batch === undefined ? [] : [{ batch }];
  });

  let current = transcript;
  const edits: Edit[] = [];
  const notes: ToolSummaryNote[] = [];
  const apply = (more: readonly Edit[]): void => {
    for (const edit of more) edits.push(edit);
    current = applyEdits(current, more, { at: clock.now() });
  };
  const write = (answered: readonly AnsweredBatch[]): void => {
    const written = toolSummaryEdits(
      current,
      answered.filter((each) => !isAborted(each.answer)),
      known,
    );
    notes.push(...written.notes);
    apply(written.edits);
  };

  const answers = pending.flatMap(({ answer }) => answer ?? []);
  if (answers.length > 0 && waitMs > 0)
    await callWithin({ start: () => Promise.all(answers), limitMs: waitMs, clock, signal });
  const { settled, waiting } = await takeSettled(pending);
  write(settled);

  const ports = { summarizer, clock, signal, strategy: known.strategy };
  const isModelNeeded = known.strategy === "llm" && summarizer !== undefined;
  const plan = planToolSummaries(
    current,
    isModelNeeded ? settings : { ...settings, toolSummaryStrategy: "heuristic" },
    waiting.map(({ batch }) => batch),
  );
  let stillPending: readonly PendingToolSummary[];
  if (plan.timing === "now") {
    const awaited = await answerBatches(waiting, ports);
    const fresh = await answerBatches(
      plan.batches.map((batch) => ({ batch })),
      ports,
    );
    write([...awaited, ...fresh]);
    stillPending = awaited.filter(({ answer }) => isAborted(answer)).map(({ batch }) => ({ batch }));
    for (const { batch, answer } of fresh) {
      if (isAborted(answer)) notes.push({ reason: "aborted", handles: batch.results.map(handleOfRef) });
    }
  } else {
    const asked = plan.batches.filter((batch) => batch.request !== undefined);
    const others = plan.batches.filter((batch) => batch.request === undefined);
    write(others.map((batch) => ({ batch, answer: { status: "not-asked" } })));
    stillPending = [...waiting, ...asked.map((batch) => ({ batch }))].map((item) => startBatch(item, ports));
  }
  apply(digestEdits(current, known));
  const degraded = notes.some(({ reason }) => reason !== "gone" && reason !== "aborted");
  return { edits, notes, degraded, pending: stillPending };
}

/** The settings, ports and pending work of one call. */
export interface MaybeSummarizeOptions {
  /** When and how results are summed up; the settings of a compaction fit. */
  readonly settings: ToolSummarySettings;
  /** Without one the heuristic is used. @default none: the heuristic */
  readonly summarizer?: Summarizer | undefined;
  /** Bounds the time of model calls. */
  readonly clock: Clock;
  /** Ends model calls. What they were for is kept as pending or stays as it is. */
  readonly signal: AbortSignal;
  /** What the call before this one gave, or stored batches as `{ batch }`. @default none */
  readonly pending?: readonly PendingToolSummary[];
  /** How long to wait for pending summaries first, for the end of a loop; 0 takes only those that are there. @default 0 */
  readonly waitMs?: number;
}

/** The edits of one call, and the summaries that are still on their way. */
export interface SummarizedToolResults {
  /** Archived results and their summaries: to be applied and stored together, or not at all. */
  readonly edits: readonly Edit[];
  /** Results without a model's summary, and why. */
  readonly notes: readonly ToolSummaryNote[];
  /** True when the heuristic was used instead of the model. */
  readonly degraded: boolean;
  /** Summaries on their way: pass them to the next call. */
  readonly pending: readonly PendingToolSummary[];
}

/** A batch whose summary is on its way. `batch` is plain data and can be stored; without `answer` it is asked for again. */
export interface PendingToolSummary {
  readonly batch: ToolSummaryBatch;
  /** Never rejects. */
  readonly answer?: Promise<ToolSummaryAnswer>;
}

interface SummaryPorts {
  readonly summarizer: Summarizer | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly strategy: ToolSummaryStrategy;
}

/** The answers for some batches, a few calls at a time. After two failures the rest is not asked, since each could cost its time limit. */
async function answerBatches(
  items: readonly PendingToolSummary[],
  ports: SummaryPorts,
): Promise<readonly AnsweredBatch[]> {
  const answered: AnsweredBatch[] = [];
  let failedCalls = 0;
  for (let start = 0; start < items.length; start += CALLS_AT_ONCE) {
    const isGivenUp = failedCalls >= MAX_FAILED_CALLS;
    const answers = await Promise.all(
      items.slice(start, start + CALLS_AT_ONCE).map(async (item) => ({
        batch: item.batch,
        answer: await (item.answer ?? answerBatch(item.batch, { ...ports, isGivenUp })),
      })),
    );
    for (const each of answers) {
      answered.push(each);
      if (each.answer.status === "failed") failedCalls++;
    }
  }
  return answered;
}

/** The batch with its request started, unless it was before or the signal is aborted. */
function startBatch(item: PendingToolSummary, ports: SummaryPorts): PendingToolSummary {
  if (item.answer !== undefined || ports.signal.aborted) return item;
  return { batch: item.batch, answer: answerBatch(item.batch, ports) };
}

/** Separates the answers that have arrived from those that have not; an aborted one is asked for again. */
async function takeSettled(pending: readonly PendingToolSummary[]) {
  const settled: AnsweredBatch[] = [];
  const waiting: PendingToolSummary[] = [];
  for (const item of pending) {
    const answer = await Promise.race([item.answer, undefined]);
    if (answer === undefined) waiting.push(item);
    else if (isAborted(answer)) waiting.push({ batch: item.batch });
    else settled.push({ batch: item.batch, answer });
  }
  return { settled, waiting };
}

/** True when the call was aborted, which says nothing about its results. */
function isAborted(answer: ToolSummaryAnswer): boolean {
  return answer.status === "failed" && answer.reason === "aborted";
}

const CALLS_AT_ONCE = 4;
const MAX_FAILED_CALLS = 2;

/** A summarizer's answer within its time, or why there is none. Never rejects; a late answer is dropped. */
async function answerBatch(
  { request }: ToolSummaryBatch,
  { summarizer, clock, signal, strategy, isGivenUp = false }: SummaryPorts & { readonly isGivenUp?: boolean },
): Promise<ToolSummaryAnswer> {
  if (strategy !== "llm") return { status: "not-asked" };
  if (summarizer === undefined) return { status: "failed", reason: "no-summarizer" };
  if (request === undefined) return { status: "not-asked" };
  if (isGivenUp && !signal.aborted) return { status: "failed", reason: "given-up" };
  const result: CallResult<unknown> = await callWithin<unknown>({
    start: (options) => summarizer.summarize(request, options),
    limitMs: TOOL_SUMMARY_LIMIT_MS,
    clock,
    signal,
  });
  if (result.status === "done" && typeof result.value === "string")
    return { status: "answered", text: result.value };
  if (result.status === "aborted") return { status: "failed", reason: "aborted" };
  return { status: "failed", reason: result.status === "timeout" ? "timed-out" : "failed" };
}

/** How long one tool summary may take. */
const TOOL_SUMMARY_LIMIT_MS = 30_000;
