import type { CompactionPlan, CompactionTrigger } from "./plan/plan-compaction.ts";
import { type CallResult, callWithin } from "./ports/call-within.ts";
import type { Clock, Summarizer } from "./ports/summarizer.ts";
import { isContextLengthExceeded } from "./provider-errors/classify-provider-error.ts";
import type { Representation } from "./summary/message.ts";
import { buildSummaryRequest, type GateReason, gateSummary, type RequestChanges } from "./summary/request.ts";
import { createTextCleaner, errorText, upperTokens } from "./summary/text.ts";

/**
 * Asks the summarizer at most twice: again after an error or an answer that could not be used, never after a timeout. The
 * second request says what was wrong, or is half as long when the first one did not fit.
 */
export async function askSummarizer({
  plan,
  summarizer,
  clock,
  signal,
  changes: hookChanges,
  progress,
}: SummaryQuestion): Promise<SummaryAnswer> {
  if (summarizer === undefined) return { status: "refused", reason: "no-summarizer", calls: 0 };
  const cleaner = createTextCleaner(plan.redaction);
  const { estimator } = plan.estimate;
  const { maxSummaryTokens, previousSummary } = plan.material;
  let changes = hookChanges;
  let refusal: Refusal = { reason: "window-too-small" };
  let calls = 0;
  while (calls < MAX_CALLS) {
    const { request, fits } = buildSummaryRequest(plan.material, changes);
    if (!fits) break;
    calls++;
    progress.begin("summary", calls);
    const result = await callWithin({
      start: (options) => summarizer.summarize(request, options),
      onProgress: progress.arrived,
      limitMs: CALL_LIMIT_MS,
      idleMs: CALL_IDLE_MS,
      clock,
      signal,
    });
    if (result.status === "aborted") return { status: "aborted", calls };
    if (result.status === "failed") {
      refusal = { reason: "error", detail: errorText(result.error) };
      if (isContextLengthExceeded(result.error)) {
        const sentTokens = upperTokens(request.system + request.prompt);
        changes = { ...hookChanges, maxRequestTokens: Math.floor(sentTokens / 2) };
      }
      continue;
    }
    if (result.status !== "done") return { status: "refused", reason: result.status, calls };
    const gated = gateSummary(result.value, {
      maxTokens: maxSummaryTokens,
      cleaner,
      prompt: request.prompt,
      previousSummary,
      estimator,
    });
    if (gated.status === "accepted") return { ...gated, calls };
    refusal = { reason: gated.reason };
    changes = { ...hookChanges, note: `${RETRY_NOTES[gated.reason]} Answer again.` };
  }
  return { status: "refused", ...refusal, calls };
}

interface SummaryQuestion {
  readonly plan: CompactionPlan;
  readonly summarizer: Summarizer | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** What hooks want changed. */
  readonly changes: RequestChanges;
  readonly progress: ProgressTeller;
}

type SummaryAnswer = { readonly calls: number } & (
  | { readonly status: "accepted"; readonly text: string }
  | ({ readonly status: "refused" } & Refusal)
  | { readonly status: "aborted" }
);

interface Refusal {
  readonly reason: DegradedReason;
  /** What the error said, without secrets. */
  readonly detail?: string;
}

/** Why no model's summary was used. */
export type DegradedReason = GateReason | "no-summarizer" | "window-too-small" | "error" | "timeout" | "idle";

/** How long one call of the summarizer may take. */
export const CALL_LIMIT_MS = 90_000;
/** How long it may be silent once something has arrived. */
export const CALL_IDLE_MS = 30_000;
/** How often the summarizer is called for one compaction at most. */
export const MAX_CALLS = 2;

const RETRY_NOTES: Readonly<Record<GateReason, string>> = {
  "not-text": "The last answer was no text.",
  blank: "The last answer was empty.",
  "tool-call": "The last answer was a tool call; there are no tools.",
  "not-prose": "The last answer was data; write prose under the headings.",
  refusal: "The last answer was a refusal. Nothing is asked but a summary of the quoted record.",
  echo: "The last answer gave the request back.",
  "repeats-itself": "The last answer repeated the previous summary; merge it instead.",
  "too-long": "The last answer was too long.",
};

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

/** A compaction is under way: told whenever another step begins, and while the summary arrives at most four times a second. */
export interface CompactionProgress {
  readonly type: "compaction_progress";
  /** Why the compaction happens. */
  readonly trigger: CompactionTrigger;
  /** False when a person asked for it. */
  readonly auto: boolean;
  /** What is being done: extensions are asked (`hooks`), the model writes (`summary`), its summary takes its place (`check`). */
  readonly doing: CompactionStep;
  /** The number of this step, from 1. */
  readonly step: number;
  /** How many steps there are. */
  readonly steps: number;
  /** Which request for a summary it is; 2 after an answer that could not be used, 0 before the first. */
  readonly attempt: number;
  /** Characters of the summary that have arrived; 0 until the end where the summarizer does not stream. */
  readonly summaryChars: number;
  /** Set when requests go on meanwhile. */
  readonly background?: true;
}

type CompactionStep = (typeof STEPS)[number];

const STEPS = ["hooks", "summary", "check"] as const;

/** Tells how a compaction goes on. */
interface ProgressTeller {
  /** Another step, or another request for a summary, begins. */
  begin(doing: CompactionStep, attempt?: number): void;
  /** So many more characters of the summary have arrived. */
  arrived(chars: number): void;
}

/** A teller that has told nothing yet. */
export function createProgress(
  about: Pick<CompactionProgress, "trigger" | "auto">,
  { clock, emit }: { readonly clock: Clock; readonly emit: (event: CompactionProgress) => void },
): ProgressTeller {
  let doing: CompactionStep = "hooks";
  let attempt = 0;
  let summaryChars = 0;
  let toldAt = 0;
  const tell = (): void => {
    toldAt = clock.now();
    const step = STEPS.indexOf(doing) + 1;
    emit({
      type: "compaction_progress",
      ...about,
      doing,
      step,
      steps: STEPS.length,
      attempt,
      summaryChars,
    });
  };
  return {
    begin(next, number = attempt) {
      if (number !== attempt) summaryChars = 0;
      doing = next;
      attempt = number;
      tell();
    },
    arrived(chars) {
      summaryChars += chars;
      if (chars > 0 && clock.now() - toldAt >= TELL_EVERY_MS) tell();
    },
  };
}

const TELL_EVERY_MS = 250;
