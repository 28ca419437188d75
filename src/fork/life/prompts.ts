import { countAttempt } from "./attempts.ts";
import { changeRun, type ForkAction, type ForkStep } from "./events.ts";
import { type ChildPrompt, type ForkRecord, type LiveRun, type PromptKind, promptKey } from "./record.ts";
import { formatSpan } from "./roster.ts";

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
