import { omitUndefined } from "../../text/json.ts";
import { changeRun, type ForkAction, type ForkStep } from "./events.ts";
import { countAttempt } from "./limits.ts";
import {
  type ChildPrompt,
  type ForkRecord,
  type LimitName,
  type LiveRun,
  type PromptKind,
  promptKey,
} from "./record.ts";

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

/** The prompt for a child that reached a limit. */
export function wrapUpText(limit: LimitName): string {
  return `${LIMIT_REASON[limit]} Stop working and report now, without another tool call: outcome, evidence as path:line, changed files, open points. Without a report you will be ended and only your last text is kept.`;
}

/** What happened at a limit, as a sentence. */
export const LIMIT_REASON: Readonly<Record<LimitName, string>> = {
  time: "The time is up.",
  "tool-calls": "All tool calls are used up.",
  "repeated-call": "The same call was made again and again.",
  "fork-cost": "The budget of this fork is spent.",
  "root-cost": "The budget for all forks of this session is spent.",
};

/** The prompt for a child that ended without a report. */
export const NUDGE_TEXT =
  "You ended without a report. Report now, without another tool call: outcome, evidence as path:line, changed files, open points.";

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

/** A duration in words, such as "2 min 5 s". */
export function formatSpan(spanMs: number): string {
  const totalS = Math.max(0, Math.round(spanMs / 1_000));
  if (totalS < 60) return `${totalS} s`;
  const totalMin = Math.floor(totalS / 60);
  if (totalMin < 60) return totalS % 60 === 0 ? `${totalMin} min` : `${totalMin} min ${totalS % 60} s`;
  return `${Math.floor(totalMin / 60)} h ${totalMin % 60} min`;
}
