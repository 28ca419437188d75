import type { CompactionTrigger } from "./plan/plan-compaction.ts";
import { type CallResult, callWithin } from "./ports/call-within.ts";
import type { Clock } from "./ports/summarizer.ts";
import type { Representation } from "./summary/message.ts";
import { errorText } from "./summary/text.ts";

/**
 * An extension that is asked before and after a compaction. It gets frozen facts, never the messages; what it returns is
 * checked, what it throws is counted as a strike. A loop that never yields and `process.exit` cannot be stopped from
 * inside the process: run untrusted hooks in a worker and pass on what it says.
 */
export interface SessionHook {
  /** Names the hook in reports and strikes. */
  readonly name: string;
  /** Asked before a summary is written: may add context, replace the prompt, or veto. See `CompactingAnswer`. */
  readonly compacting?: (input: CompactingInput) => unknown;
  /** Asked before the agent is told to go on; `{ enabled: false }` prevents that. */
  readonly autocontinue?: (input: CompactingInput) => unknown;
}

/** What a hook is told about the compaction. */
export interface CompactingInput {
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
export interface SessionHookFailure {
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
  readonly failures: readonly SessionHookFailure[];
}

/** Asks the hooks one after another, each within its limits; one that failed three times is not asked again. */
export async function askHooks(question: HooksQuestion): Promise<HooksAnswer> {
  const { method, clock, signal } = question;
  const strikes = new Map(Object.entries(question.strikes ?? {}));
  const failures: SessionHookFailure[] = [];
  let context: readonly string[] = [];
  let prompt: string | undefined;
  let vetoedBy: string | undefined;
  let isContinueRefused = false;
  const endsAt = clock.now() + HOOKS_TOTAL_MS;
  for (const hook of new Set(question.hooks)) {
    const ask = hook[method];
    const failed = strikes.get(hook.name) ?? 0;
    // One that hangs takes its whole time but once.
    const leftMs = Math.min(HOOK_LIMIT_MS / 10 ** failed, endsAt - clock.now());
    if (signal?.aborted || leftMs <= 0 || vetoedBy !== undefined) break;
    if (ask === undefined || failed >= MAX_STRIKES) continue;
    const input = Object.freeze({
      ...question.facts,
      context: Object.freeze([...context]),
      ...(prompt !== undefined && { prompt }),
    });
    const result = await callWithin({ start: () => ask.call(hook, input), limitMs: leftMs, clock, signal });
    if (result.status === "aborted") break;
    const answer = readHookAnswer(result);
    if (answer.status === "failed") {
      strikes.set(hook.name, failed + 1);
      failures.push({ hook: hook.name, reason: answer.reason, text: answer.text });
      continue;
    }
    context = [...context, ...answer.context];
    prompt = answer.prompt ?? prompt;
    if (answer.veto) vetoedBy = hook.name;
    if (answer.isContinueRefused) isContinueRefused = true;
  }
  return { context, prompt, vetoedBy, isContinueRefused, strikes: Object.fromEntries(strikes), failures };
}

interface HooksQuestion {
  readonly hooks: readonly SessionHook[];
  readonly method: "compacting" | "autocontinue";
  readonly facts: Omit<CompactingInput, "context" | "prompt">;
  readonly strikes: HookStrikes | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/** How long one hook may take, a tenth of it after each failure, and all of them together. */
const HOOK_LIMIT_MS = 2_000;

const HOOKS_TOTAL_MS = 5_000;

/** Failures after which a hook is not asked again. */
const MAX_STRIKES = 3;

/** What a hook for `compacting` may return; other fields are not looked at. */
export interface CompactingAnswer {
  /** Added to what other hooks said. */
  readonly context?: readonly string[];
  /** Takes the place of our instructions; the rule about secrets and the previous summary still follow it. */
  readonly prompt?: string;
  readonly veto?: boolean;
}

type CheckedAnswer =
  | (Pick<HooksAnswer, "context" | "prompt" | "isContinueRefused"> & {
      readonly status: "answered";
      readonly veto: boolean;
    })
  | ({ readonly status: "failed" } & Omit<SessionHookFailure, "hook">);

type HookFailureReason = "threw" | "timeout" | "too-large" | "malformed";

/** Reads a hook's answer field by field, each once, and only what the answer itself owns. */
function readHookAnswer(result: CallResult<unknown>): CheckedAnswer {
  if (result.status === "failed") return failedAnswer("threw", errorText(result.error));
  if (result.status !== "done") return failedAnswer("timeout", "no answer in time");
  const value = result.value ?? {};
  if (typeof value === "string" && value.length > MAX_ANSWER_BYTES)
    return failedAnswer("too-large", "too long");
  if (typeof value !== "object") return failedAnswer("malformed", `answered with a ${typeof value}`);
  try {
    return readFields(value);
  } catch (error) {
    return failedAnswer("malformed", errorText(error));
  }
}

/** How much a hook may say. */
const MAX_ANSWER_BYTES = 65_536;

const MAX_TEXTS = 64;

function readFields(value: object): CheckedAnswer {
  const own = (name: string): unknown =>
    Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
  const context = readTexts(own("context") ?? []);
  const prompt = own("prompt") ?? "";
  if (context === undefined) return failedAnswer("malformed", "context must be a list of at most 64 texts");
  if (typeof prompt !== "string") return failedAnswer("malformed", "prompt must be a text");
  const texts = [prompt, ...context];
  const isTooLarge =
    texts.some((text) => text.length > MAX_ANSWER_BYTES) ||
    new TextEncoder().encode(texts.join("")).length > MAX_ANSWER_BYTES;
  if (isTooLarge) return failedAnswer("too-large", "more than 64 KiB");
  return {
    status: "answered",
    context,
    prompt: prompt.trim() === "" ? undefined : prompt,
    veto: own("veto") === true,
    isContinueRefused: own("enabled") === false,
  };
}

function readTexts(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_TEXTS) return undefined;
  // Each item is read once: a getter could answer differently the second time.
  const texts = Array.from({ length: value.length }, (_, index): unknown => value[index]);
  return texts.every((text) => typeof text === "string") ? texts : undefined;
}

function failedAnswer(reason: HookFailureReason, text: string): CheckedAnswer {
  return { status: "failed", reason, text };
}
