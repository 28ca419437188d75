import { oneMore } from "./attempts.ts";
import type { ForkAction } from "./fork-action.ts";
import type { ChildPrompt, ForkRecord, LiveRun, PromptKind } from "./fork-record.ts";
import { promptKey } from "./fork-record.ts";
import { type ForkStep, withRun } from "./fork-step.ts";

/** Sends the chosen prompts that the host does not have yet, oldest first. */
export function sendPrompts(record: ForkRecord, run: LiveRun, { atMs, chosen }: SendOptions): ForkStep {
  const actions: ForkAction[] = [];
  const prompts = run.prompts.map((prompt) => {
    if (!isOutstanding(prompt) || !chosen(prompt)) return prompt;
    const attempts = oneMore(prompt.attempts, atMs);
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
  return { record: withRun(record, actions.length === 0 ? run : { ...run, prompts }), actions };
}

export interface SendOptions {
  readonly atMs: number;
  readonly chosen: (prompt: ChildPrompt) => boolean;
}

/** The run with one more thing to say to the child. */
export function addPrompt(run: LiveRun, prompt: NewPrompt): LiveRun {
  return { ...run, prompts: [...run.prompts, { number: run.prompts.length + 1, ...prompt }] };
}

export interface NewPrompt {
  readonly kind: PromptKind;
  readonly text: string;
  readonly requestId?: string;
}

/** True until the host has the prompt or it was given up. */
export function isOutstanding(prompt: ChildPrompt): boolean {
  return prompt.messageId === undefined && prompt.isDropped !== true;
}

/** True for a prompt that was never sent. */
export function isUnsent(prompt: ChildPrompt): boolean {
  return prompt.attempts === undefined;
}

/** True once anything of a run may have reached its child. */
export function wasTold({ prompts }: LiveRun): boolean {
  return prompts.some((prompt) => !isUnsent(prompt));
}

/** The run with one prompt changed. */
export function withPrompt(run: LiveRun, number: number, change: Partial<ChildPrompt>): LiveRun {
  return {
    ...run,
    prompts: run.prompts.map((prompt) => (prompt.number === number ? { ...prompt, ...change } : prompt)),
  };
}

/** The action that looks whether our newest prompt was answered. */
export function checkChildAction(record: ForkRecord, run: LiveRun): ForkAction {
  const newest = run.prompts.findLast((prompt) => prompt.messageId !== undefined) ?? run.prompts[0];
  return {
    type: "check-child",
    run: run.number,
    key: promptKey(record, { run: run.number, number: newest?.number ?? 1 }),
    ...(newest?.messageId === undefined ? {} : { messageId: newest.messageId }),
  };
}
