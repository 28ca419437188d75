import type { Clock } from "./clock.ts";
import { callWithin } from "./compact-call.ts";
import type { CompactionTrigger } from "./plan-compaction-types.ts";
import { type HookFailureReason, readHookAnswer } from "./session-hooks-answer.ts";
import type { Representation } from "./summary-message.ts";

/**
 * Code of somebody else that is asked around a compaction. It gets frozen facts, never the messages; what it
 * returns is checked, what it throws is counted. A loop that never yields and `process.exit` cannot be stopped
 * from inside the same process: run untrusted hooks in a worker and pass on what it says.
 */
export interface SessionHook {
  /** Names the hook in reports and strikes. */
  readonly name: string;
  /** Asked before a summary is written: may add context, replace the prompt, or veto. See `CompactingAnswer`. */
  readonly compacting?: (input: CompactingInput) => unknown;
  /** Asked before the agent is told to go on; `{ enabled: false }` prevents that. */
  readonly autocontinue?: (input: CompactingInput) => unknown;
}

export interface CompactingInput {
  readonly sessionId?: string;
  readonly trigger: CompactionTrigger;
  readonly representation: Representation;
  readonly tokensBefore: number;
  /** What the hooks before this one added. */
  readonly context: readonly string[];
  /** What the hooks before this one put in the place of our instructions. */
  readonly prompt?: string;
}

/** How often each hook failed, by name: plain data that the caller keeps for the session. */
export type HookStrikes = Readonly<Record<string, number>>;

/** A failure that was counted and otherwise ignored; its text holds no secrets. */
export interface HookFailure {
  readonly hook: string;
  readonly reason: HookFailureReason;
  readonly text: string;
}

/** What all hooks together said. */
export interface HooksAnswer {
  readonly context: readonly string[];
  readonly prompt: string | undefined;
  readonly vetoedBy: string | undefined;
  readonly isContinueRefused: boolean;
  readonly strikes: HookStrikes;
  readonly failures: readonly HookFailure[];
}

/** Asks the hooks one after another, each within its limits; one that failed three times is not asked again. */
export async function askHooks(question: HooksQuestion): Promise<HooksAnswer> {
  const { method, clock, signal } = question;
  const strikes = new Map(Object.entries(question.strikes ?? {}));
  const failures: HookFailure[] = [];
  let context: readonly string[] = [];
  let prompt: string | undefined;
  let vetoedBy: string | undefined;
  let isContinueRefused = false;
  const endsAt = clock.now() + HOOKS_TOTAL_MS;
  for (const hook of new Set(question.hooks)) {
    const ask = hook[method];
    const leftMs = Math.min(HOOK_LIMIT_MS, endsAt - clock.now());
    if (signal?.aborted || leftMs <= 0 || vetoedBy !== undefined) break;
    if (ask === undefined || (strikes.get(hook.name) ?? 0) >= MAX_STRIKES) continue;
    const input = freeze({ ...question.facts, context, ...(prompt !== undefined && { prompt }) });
    const result = await callWithin({ start: () => ask.call(hook, input), limitMs: leftMs, clock, signal });
    if (result.status === "aborted") break;
    const answer = readHookAnswer(result);
    if (answer.status === "failed") {
      strikes.set(hook.name, (strikes.get(hook.name) ?? 0) + 1);
      failures.push({ hook: hook.name, reason: answer.reason, text: answer.text });
      continue;
    }
    context = [...context, ...answer.context];
    prompt = answer.prompt ?? prompt;
    if (answer.veto) vetoedBy = hook.name;
    if (answer.isContinueRefused) isContinueRefused = true;
  }
  return {
    context,
    prompt,
    vetoedBy,
    isContinueRefused,
    strikes: Object.fromEntries(strikes),
    failures,
  };
}

export interface HooksQuestion {
  readonly hooks: readonly SessionHook[];
  readonly method: "compacting" | "autocontinue";
  readonly facts: Omit<CompactingInput, "context" | "prompt">;
  readonly strikes: HookStrikes | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/** How long one hook may take, and all of them together. */
export const HOOK_LIMIT_MS = 2_000;
export const HOOKS_TOTAL_MS = 5_000;
/** Failures after which a hook is not asked again. */
export const MAX_STRIKES = 3;

function freeze(input: CompactingInput): CompactingInput {
  return Object.freeze({ ...input, context: Object.freeze([...input.context]) });
}
