import { FENCED_TAGS, fenceData } from "../../text/fence.ts";
import { plural } from "../../text/format-number.ts";
import { normalizeText } from "../../text/normalize.ts";
import { FORK_HEAD_RATIO, headCut, tailCut, truncate, truncationMarker } from "../../text/truncate.ts";
import { omitUndefined } from "../../text/unknown-value.ts";
import { changeRun, type ForkAction, type ForkStep, unchanged, withoutKeys } from "./events.ts";
import {
  type ChildPrompt,
  countAttempt,
  currentRun,
  type Delivery,
  type EndedRun,
  type EndState,
  type ForkError,
  type ForkRecord,
  type ForkRun,
  isLive,
  type LiveRun,
  type PromptKind,
  promptKey,
  type Stopping,
  workedMs,
} from "./record.ts";

/** Ends the run and opens the delivery of its result. */
export function endRun(record: ForkRecord, run: LiveRun, end: RunEnd): ForkStep {
  const delivery = firstDelivery(run, end);
  const ended: EndedRun = {
    ...withoutKeys(run, ...LIVE_ONLY),
    state: end.state,
    endedAtMs: end.atMs,
    ...keepReport(end.text ?? ""),
    changedFiles: end.changedFiles ?? [],
    ...omitUndefined({ error: end.error, limit: run.wrapUp?.limit }),
    delivery,
  };
  const actions: ForkAction[] = [{ type: "fill-slots" }];
  if (delivery.closedBy === undefined)
    actions.push({ type: "plan-delivery", parentSessionId: record.parentSessionId });
  if (delivery.closedBy === undefined || delivery.closedBy === "undone")
    actions.push(run.undone === undefined ? endToast(ended) : offerToast(ended));
  return changeRun(record, ended, ...actions);
}

interface RunEnd {
  readonly state: EndState;
  readonly atMs: number;
  readonly text?: string;
  readonly changedFiles?: readonly string[];
  readonly error?: ForkError;
  /** The result waits for the user's next message. */
  readonly wakes?: "nobody";
  /** Set when the result is not to be delivered. */
  readonly closedBy?: "parent-deleted" | "next-run";
}

/** Ends a run that was being stopped, with its last text. */
export function endStopped(
  record: ForkRecord,
  run: LiveRun & { readonly stopping: Stopping },
  end: Omit<RunEnd, "state" | "error" | "closedBy">,
): ForkStep {
  const { as, error, isUnwanted } = run.stopping;
  return endRun(record, run, {
    ...end,
    state: as,
    error,
    ...(isUnwanted === true ? { closedBy: "parent-deleted" } : {}),
  });
}

/** Stops the child; ends the run at once where no prompt was sent yet. */
export function stopRun(record: ForkRecord, run: LiveRun, stop: Stop): ForkStep {
  const { atMs, ...how } = stop;
  if (run.stopping !== undefined) {
    if (how.isUnwanted !== true || run.stopping.isUnwanted === true) return unchanged(record);
    return changeRun(record, { ...run, stopping: { ...run.stopping, isUnwanted: true } });
  }
  const stopping: Stopping = { ...how, aborts: { count: 1, lastAtMs: atMs } };
  if (record.childSessionId === undefined || !wasPromptSent(run)) {
    return endStopped(record, { ...run, stopping }, { atMs });
  }
  return changeRun(record, { ...run, stopping }, { type: "abort-child", run: run.number });
}

export type Stop = Omit<Stopping, "aborts"> & { readonly atMs: number };

const LIVE_ONLY = [
  "notBeforeMs",
  "creation",
  "lastSignAtMs",
  "lastWatchAtMs",
  "isRetrying",
  "asks",
  "wrapUp",
  "stopping",
  "suspectedError",
  "adoption",
] as const satisfies readonly (keyof LiveRun)[];

function firstDelivery(run: LiveRun, { atMs, closedBy, wakes }: RunEnd): Delivery {
  if (closedBy !== undefined) return { state: "acked", sinceMs: atMs, sends: 0, closedBy };
  if (run.undone === "gone") return { state: "acked", sinceMs: atMs, sends: 0, closedBy: "undone" };
  const isHeld = run.adoption !== undefined || wakes === "nobody" ? ({ isHeld: true } as const) : {};
  // The result may have been delivered before the record was lost.
  if (run.isRebuilt === true) return { state: "sent", sinceMs: atMs, sends: 0, isUnsure: true, ...isHeld };
  return { state: "pending", sinceMs: atMs, sends: 0, ...isHeld };
}

type ToastAction = Extract<ForkAction, { readonly type: "toast" }>;

/** Tells people of a result that is not inserted. */
export function offerToast({ state }: EndedRun): ToastAction {
  const text = `${state}, asked for in a message that you took back: its result is not inserted, ask for it to read it`;
  return { type: "toast", tone: "info", text };
}

/** Tells people that a run has ended. */
export function endToast(run: EndedRun): ToastAction {
  const reason = run.error === undefined ? "" : `: ${run.error.message}`;
  return {
    type: "toast",
    tone: run.state === "completed" ? "success" : "warning",
    text: `${run.state}${reason}`,
  };
}

/** Sends the chosen prompts that the host does not have yet, oldest first. */
export function sendPrompts(record: ForkRecord, run: LiveRun, { atMs, chosen }: SendOptions): ForkStep {
  const actions: ForkAction[] = [];
  const prompts = run.prompts.map((prompt) => {
    if (!isOutstanding(prompt) || !chosen(prompt)) return prompt;
    const attempts = countAttempt(prompt.attempts, atMs);
    const sent: ChildPrompt = { ...prompt, attempts };
    actions.push({
      type: "send-prompt",
      run: run.number,
      prompt: sent,
      key: promptKey(record, { run: run.number, number: prompt.number }),
      attempt: attempts.count,
    });
    return sent;
  });
  return changeRun(record, actions.length === 0 ? run : { ...run, prompts }, ...actions);
}

interface SendOptions {
  readonly atMs: number;
  readonly chosen: (prompt: ChildPrompt) => boolean;
}

/** The run with one more prompt. */
export function addPrompt(run: LiveRun, prompt: NewPrompt): LiveRun {
  return { ...run, prompts: [...run.prompts, { number: run.prompts.length + 1, ...prompt }] };
}

interface NewPrompt {
  readonly kind: PromptKind;
  readonly text: string;
  readonly requestId?: string;
}

/** True until the host has accepted the prompt or it was dropped. */
export function isOutstanding(prompt: ChildPrompt): boolean {
  return prompt.messageId === undefined && prompt.isDropped !== true;
}

/** True for a prompt that was never sent. */
export function isUnsent(prompt: ChildPrompt): boolean {
  return prompt.attempts === undefined;
}

/** True once a prompt of the run may have reached the child. */
export function wasPromptSent({ prompts }: LiveRun): boolean {
  return prompts.some((prompt) => !isUnsent(prompt));
}

/** The run with one prompt changed. */
export function withPrompt(run: LiveRun, number: number, change: Partial<ChildPrompt>): LiveRun {
  return {
    ...run,
    prompts: run.prompts.map((prompt) => (prompt.number === number ? { ...prompt, ...change } : prompt)),
  };
}

/** The action that checks whether our newest prompt was answered. */
export function checkChildAction(record: ForkRecord, run: LiveRun): ForkAction {
  const newest = run.prompts.findLast((prompt) => prompt.messageId !== undefined) ?? run.prompts[0];
  return {
    type: "check-child",
    run: run.number,
    key: promptKey(record, { run: run.number, number: newest?.number ?? 1 }),
    ...omitUndefined({ messageId: newest?.messageId }),
  };
}

/** The prompt for a child that a rate limit had stopped. */
export const CONTINUE_TEXT =
  "The provider's rate limit stopped you. Go on from where you were, then report as asked.";

/** The prompt for a child whose program had ended. */
export const RESTART_TEXT =
  "You were interrupted because the program that ran you ended. The last tool call may or may not have happened: look before you repeat it. Go on from where you were, then report as asked.";

/** The reason given for a permission that nobody answered. */
export function rejectionText(waitedMs: number): string {
  const waited =
    waitedMs === 0 ? "Nobody is here to answer." : `Nobody answered for ${formatSpan(waitedMs)}.`;
  return `${waited} The permission is refused. Do without it, or state this as the blocker and stop.`;
}

/** What a record keeps of a child's report; the whole is in the child's session. */
interface KeptReport {
  /** Normalized; both ends of a long one. */
  readonly text: string;
  /** The length of the whole where only its ends are kept. */
  readonly textChars?: number;
}

export function keepReport(text: string): KeptReport {
  const whole = normalizeText(text).trim();
  const kept = truncate(whole, { limitChars: MAX_KEPT_CHARS, method: "head-tail" });
  return { text: kept.text, ...(kept.cut !== undefined && { textChars: whole.length }) };
}

const MAX_KEPT_CHARS = 32_000;

/** The whole of a report, found among what its child wrote; undefined when it is not there any more. */
export function findReport({ text, textChars }: KeptReport, written: readonly string[]): string | undefined {
  if (textChars === undefined) return text;
  return written
    .map((each) => normalizeText(each).trim())
    .findLast((each) => each.length === textChars && keepReport(each).text === text);
}

/** A report as it is quoted to the parent: escaped and bounded, with what is missing counted in characters of the whole. */
export function quoteReport({ text, textChars }: KeptReport, maxChars: number): QuotedReport {
  const totalChars = textChars ?? text.length;
  const quoted = quoteChild(text, Number.POSITIVE_INFINITY);
  if (textChars === undefined && quoted.length <= maxChars) return { text: quoted };
  let limitChars = Math.max(0, maxChars - MARKER_CHARS);
  for (let attempt = 1; ; attempt++) {
    const headChars = Math.floor(limitChars * FORK_HEAD_RATIO);
    const headEnd = headCut(text, headChars);
    const tailStart = tailCut(text, text.length - (limitChars - headChars));
    const shownChars = headEnd + text.length - tailStart;
    const marker = truncationMarker(totalChars - shownChars, "head-tail");
    const cut = fenceData(text.slice(0, headEnd) + marker + text.slice(tailStart), TAGS);
    if (cut.length <= maxChars || attempt === ATTEMPTS)
      return {
        text: cut.slice(0, headCut(cut, maxChars)),
        cut: { shownChars, totalChars, nextChar: headEnd },
      };
    // Escapes have made it longer.
    limitChars = Math.floor((limitChars * maxChars) / (cut.length + MARKER_CHARS));
  }
}

export interface QuotedReport {
  readonly text: string;
  /** How much of it is shown, and from which character on something is missing. */
  readonly cut?: { readonly shownChars: number; readonly totalChars: number; readonly nextChar: number };
}

const ATTEMPTS = 4;

const MARKER_CHARS = 60;

const TAGS = [...FENCED_TAGS, "fork_result"];

/** A piece of a report that was kept or found, with every blank that it has. */
export function quoteRange(piece: string): string {
  return fenceData(piece, TAGS);
}

/** Text of a child as it is quoted to the parent: normalized, tags escaped, bounded. */
export function quoteChild(text: string, maxChars: number): string {
  const safe = fenceData(normalizeText(text).trim(), TAGS);
  if (safe.length <= maxChars) return safe;
  const limitChars = Math.max(0, maxChars - MARKER_CHARS);
  // What is left of a line may read like a tag or a speaker only now.
  return fenceData(truncate(safe, { limitChars, method: "head-tail" }).text, TAGS);
}

/** One line per fork, by number: title, state, tool calls, cost. */
export function forkTable(records: readonly ForkRecord[], nowMs: number): string {
  if (records.length === 0) return "No forks.";
  return byNumber(records)
    .map((record) => lineOf(record, nowMs))
    .join("\n");
}

/**
 * The list that a compaction must keep: running forks, and results that the parent has not answered; empty when there
 * are none.
 */
export function forkRoster(records: readonly ForkRecord[], nowMs: number): string {
  const wanted = records.filter((record) => currentRun(record).undone === undefined);
  const lines = byNumber(wanted).flatMap((record) => [
    ...(isLive(currentRun(record)) ? [`- ${lineOf(record, nowMs)}: its result will come by itself`] : []),
    ...record.runs.flatMap((run) => (isUnread(run) ? [unreadLine(record, run)] : [])),
  ]);
  if (lines.length === 0) return "";
  return ["Forks of this conversation. Keep every line of this list in the summary:", ...lines].join("\n");
}

const ROSTER_CHARS = 1_000;

function lineOf(record: ForkRecord, nowMs: number): string {
  const run = currentRun(record);
  const facts = [
    stateText(run, nowMs),
    plural(run.calls.total, "call"),
    ...costText(record),
    record.inherited.way,
  ];
  if (run.undone !== undefined) facts.push("asked for in a message that was undone");
  return `#${record.number} ${quoteChild(record.title, 60) || "untitled"} · ${facts.join(" · ")}`;
}

/** What a fork cost; nothing where no price is known. */
export function costText({ spent }: ForkRecord): readonly string[] {
  return spent.costUSD > 0 ? [`$${spent.costUSD.toFixed(2)}`] : [];
}

function stateText(run: ForkRun, nowMs: number): string {
  if (!isLive(run)) {
    const { state, way } = run.delivery;
    // What a tool has handed over stands in the conversation as well.
    const isThere = state === "seen" || (state === "sent" && way === "read");
    const unread = !isUnread(run) ? "" : isThere ? ", not answered yet" : ", not read yet";
    return `${run.state} after ${formatSpan(workedMs(run, nowMs))}${unread}`;
  }
  if (run.state === "queued") return `queued for ${formatSpan(nowMs - run.queuedAtMs)}`;
  const activity = run.state === "running" ? activityOf(run, nowMs) : undefined;
  const what = activity === undefined || activity === "active" ? run.state : `${run.state}, ${activity}`;
  return `${what} for ${formatSpan(workedMs(run, nowMs))}`;
}

function unreadLine(record: ForkRecord, run: EndedRun): string {
  const start = `- #${record.number} ${quoteChild(record.title, 60) || "untitled"} · ${run.state}`;
  if (run.delivery.state !== "seen") return `${start}: its result will come by itself`;
  const text = quoteChild(run.text, ROSTER_CHARS).replace(/\n+/g, " ");
  return `${start}, not answered yet (fork_result with id "${record.number}" gives all of it): ${text}`;
}

function isUnread(run: ForkRun): run is EndedRun {
  return !isLive(run) && run.delivery.state !== "acked";
}

function byNumber(records: readonly ForkRecord[]): readonly ForkRecord[] {
  return records.toSorted((a, b) => a.number - b.number);
}

/** What a live run is doing; the most urgent state wins. */
export function activityOf(run: LiveRun, nowMs: number): RunActivity {
  if (run.wrapUp !== undefined || run.stopping !== undefined) return "wrapping-up";
  if (run.asks.length > 0) return "waiting-permission";
  if (run.isRetrying === true) return "retrying";
  return nowMs - run.lastSignAtMs >= STALL_MS ? "stalled" : "active";
}

type RunActivity = "active" | "retrying" | "waiting-permission" | "stalled" | "wrapping-up";

const STALL_MS = 180_000;

/** A duration in words, such as "2 min 5 s". */
export function formatSpan(spanMs: number): string {
  const totalS = Math.max(0, Math.round(spanMs / 1_000));
  if (totalS < 60) return `${totalS} s`;
  const totalMin = Math.floor(totalS / 60);
  if (totalMin < 60) return totalS % 60 === 0 ? `${totalMin} min` : `${totalMin} min ${totalS % 60} s`;
  return `${Math.floor(totalMin / 60)} h ${totalMin % 60} min`;
}
