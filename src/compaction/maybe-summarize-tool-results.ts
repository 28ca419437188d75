import { applyEdits } from "../transcript/apply-edits.ts";
import type { Edit } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";
import type { Clock } from "./clock.ts";
import { handleOfRef, planToolSummaries } from "./plan-tool-summaries.ts";
import type { Summarizer } from "./summarizer.ts";
import { digestEdits } from "./tool-summary-digest.ts";
import { type AnsweredBatch, type ToolSummaryNote, toolSummaryEdits } from "./tool-summary-edits.ts";
import { readToolSummarySettings, type ToolSummarySettings } from "./tool-summary-settings.ts";
import {
  answerBatches,
  awaitPending,
  isAborted,
  type PendingToolSummary,
  startBatch,
  takeSettled,
} from "./tool-summary-work.ts";

/**
 * Sums up the oldest tool results when more than the cutoff are visible, and gives the edits that archive them and put
 * their summaries in their place. Call it after the tools of each turn have run, and pass on what is pending.
 */
export async function maybeSummarizeToolResults(
  transcript: Transcript,
  options: MaybeSummarizeOptions,
): Promise<SummarizedToolResults> {
  const { settings, summarizer, clock, signal, pending = [], waitMs = 0 } = options;
  const known = readToolSummarySettings(settings);
  if (known.strategy === "off") return { edits: [], notes: [], degraded: false, pending };

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

  await awaitPending(pending, { clock, signal, waitMs });
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
    const [asked, others] = split(plan.batches, (batch) => batch.request !== undefined);
    write(others.map((batch) => ({ batch, answer: { status: "not-asked" } })));
    stillPending = [...waiting, ...asked.map((batch) => ({ batch }))].map((item) => startBatch(item, ports));
  }
  apply(digestEdits(current));
  return { edits, notes, degraded: notes.some(isDegraded), pending: stillPending };
}

export interface MaybeSummarizeOptions {
  readonly settings: ToolSummarySettings;
  /** Without one the heuristic is used. */
  readonly summarizer?: Summarizer | undefined;
  readonly clock: Clock;
  /** Ends model calls. What they were for is kept as pending or stays as it is. */
  readonly signal: AbortSignal;
  /** What the call before this one gave, or stored batches as `{ batch }`. */
  readonly pending?: readonly PendingToolSummary[];
  /** How long to wait for pending summaries first, for the end of a loop; 0 takes only those that are there. */
  readonly waitMs?: number;
}

export interface SummarizedToolResults {
  /** Archived results and their summaries: to be applied and stored together, or not at all. */
  readonly edits: readonly Edit[];
  /** What has no summary of a model's, and why. */
  readonly notes: readonly ToolSummaryNote[];
  /** True when the heuristic had to take the model's place. */
  readonly degraded: boolean;
  /** Summaries on their way: pass them to the next call. */
  readonly pending: readonly PendingToolSummary[];
}

function isDegraded({ reason }: ToolSummaryNote): boolean {
  return reason !== "gone" && reason !== "aborted";
}

function split<T>(items: readonly T[], test: (item: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}
