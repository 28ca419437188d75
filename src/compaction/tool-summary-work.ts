import type { Clock } from "./clock.ts";
import type { ToolSummaryStrategy } from "./compaction-settings.ts";
import type { ToolSummaryBatch } from "./plan-tool-summaries.ts";
import type { Summarizer } from "./summarizer.ts";
import { askForSummary, type ToolSummaryAnswer } from "./tool-summary-ask.ts";
import type { AnsweredBatch } from "./tool-summary-edits.ts";

/** A batch whose summary is on its way. `batch` is plain data and can be stored; without `answer` it is asked for again. */
export interface PendingToolSummary {
  readonly batch: ToolSummaryBatch;
  /** Never rejects. */
  readonly answer?: Promise<ToolSummaryAnswer>;
}

export interface SummaryPorts {
  readonly summarizer: Summarizer | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly strategy: ToolSummaryStrategy;
}

/** The answers for some batches, a few calls at a time. Once some calls have failed the rest is not asked: each would cost its time limit. */
export async function answerBatches(
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

/** The batch with its question asked, unless it is already, or must not be any more. */
export function startBatch(item: PendingToolSummary, ports: SummaryPorts): PendingToolSummary {
  if (item.answer !== undefined || ports.signal.aborted) return item;
  return { batch: item.batch, answer: answerBatch(item.batch, ports) };
}

/** Tells what has arrived from what has not. An aborted question goes back to those that are to be asked. */
export async function takeSettled(pending: readonly PendingToolSummary[]): Promise<{
  readonly settled: readonly AnsweredBatch[];
  readonly waiting: readonly PendingToolSummary[];
}> {
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

/** Gives pending answers some time. */
export async function awaitPending(
  pending: readonly PendingToolSummary[],
  { clock, signal, waitMs }: Pick<SummaryPorts, "clock" | "signal"> & { readonly waitMs: number },
): Promise<void> {
  const answers = pending.map((item) => item.answer).filter((each) => each !== undefined);
  if (answers.length === 0 || waitMs <= 0 || signal.aborted) return;
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([Promise.all(answers), clock.sleep(waitMs, controller.signal)]);
  signal.removeEventListener("abort", stop);
  stop();
}

/** True for a question that was cut off, which says nothing about its results. */
export function isAborted(answer: ToolSummaryAnswer): boolean {
  return answer.status === "failed" && answer.reason === "aborted";
}

const CALLS_AT_ONCE = 4;
const MAX_FAILED_CALLS = 2;

async function answerBatch(
  { request }: ToolSummaryBatch,
  { summarizer, clock, signal, strategy, isGivenUp = false }: SummaryPorts & { readonly isGivenUp?: boolean },
): Promise<ToolSummaryAnswer> {
  if (strategy !== "llm") return { status: "not-asked" };
  if (summarizer === undefined) return { status: "failed", reason: "no-summarizer" };
  if (request === undefined) return { status: "not-asked" };
  if (isGivenUp && !signal.aborted) return { status: "failed", reason: "given-up" };
  return askForSummary(request, { summarizer, clock, signal });
}
