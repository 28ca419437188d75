import { compactionPart } from "../../stages/boundary.ts";
import { isVisibleToModel, type Message, type Transcript, type Usage } from "../../transcript/message.ts";
import { classifyProviderError } from "../provider-errors/classify-provider-error.ts";
import {
  DEFAULT_OVERFLOW_SETTINGS,
  type ModelLimits,
  type OverflowFormula,
  type OverflowSettings,
  usableTokens,
} from "./limits.ts";

/**
 * Whether a finished step filled the model's window: read it as `isOverflow(step).overflow`.
 * The rest says why, and whether the other formula would have decided otherwise.
 */
export function isOverflow({ usage, limits, settings }: OverflowQuestion): OverflowAnswer {
  const { auto, formula } = { ...DEFAULT_OVERFLOW_SETTINGS, ...settings };
  const counted = readUsage(usage);
  const answer = (reason: OverflowReason, disagreement = false): OverflowAnswer => ({
    overflow: reason === "over-usable",
    reason,
    countTokens: counted === undefined ? 0 : countTokens(counted, formula),
    usableTokens: usableTokens(limits, settings),
    disagreement,
  });

  if (!auto) return answer("auto-off");
  if (!(limits.contextTokens > 0)) return answer("no-context-limit");
  if (counted === undefined || totalOf(counted) === 0) return answer("no-usage");

  const decide = (by: OverflowFormula): OverflowReason => {
    const usable = usableTokens(limits, { ...settings, formula: by });
    if (usable <= 0) return "no-usable-window";
    return exceeds(countTokens(counted, by), usable, by) ? "over-usable" : "fits";
  };
  const reason = decide(formula);
  const other = decide(formula === "documented" ? "opencode" : "documented");
  return answer(reason, (reason === "over-usable") !== (other === "over-usable"));
}

export interface OverflowQuestion {
  /** As recorded; missing or malformed usage is never an overflow. */
  readonly usage: Usage | undefined;
  readonly limits: ModelLimits;
  readonly settings?: Partial<OverflowSettings>;
}

export interface OverflowAnswer {
  readonly overflow: boolean;
  readonly reason: OverflowReason;
  readonly countTokens: number;
  readonly usableTokens: number;
  /** The other formula would have decided otherwise: worth a line in a log. */
  readonly disagreement: boolean;
}

/** `no-usable-window` means that the reserve is as large as the window: a configuration to warn about once. */
export type OverflowReason =
  | "auto-off"
  | "no-context-limit"
  | "no-usage"
  | "no-usable-window"
  | "fits"
  | "over-usable";

function countTokens(usage: Usage, formula: OverflowFormula): number {
  if (formula === "documented") return usage.inputTokens + usage.cacheReadTokens + usage.outputTokens;
  return (
    usage.totalTokens ||
    usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
  );
}

function exceeds(countedTokens: number, usable: number, formula: OverflowFormula): boolean {
  return formula === "documented" ? countedTokens > usable : countedTokens >= usable;
}

function totalOf(usage: Usage): number {
  return countTokens(usage, "opencode");
}

/**
 * Looks at the newest finished step, whatever it ended in, and says whether a compaction marker is due.
 * For use after every step and again before every call.
 */
export function checkOverflow(transcript: Transcript, { limits, settings }: CheckOptions): OverflowCheck {
  const step = stepToCheck(transcript);
  const answer = isOverflow({ usage: step?.usage, limits, ...(settings === undefined ? {} : { settings }) });
  if (!answer.overflow) return { action: "none", answer };
  return { action: hasPendingMarker(transcript) ? "wait" : "mark", answer };
}

interface CheckOptions {
  readonly limits: ModelLimits;
  readonly settings?: Partial<OverflowSettings>;
}

export interface OverflowCheck {
  /** `mark`: append an automatic compaction marker; `wait`: one is pending already. */
  readonly action: "none" | "mark" | "wait";
  readonly answer: OverflowAnswer;
}

/**
 * The newest finished assistant message, or undefined when that is a summary: a summary is never checked,
 * and the usage recorded before it describes a context that no longer exists.
 */
export function stepToCheck(transcript: Transcript): Message | undefined {
  const step = transcript.findLast(isFinishedStep);
  return step?.summary === true ? undefined : step;
}

/** True while the newest compaction marker waits for its summary; a failed summary ends the wait as well. */
export function hasPendingMarker(transcript: Transcript): boolean {
  const markerIndex = transcript.findLastIndex(
    (message) => isVisibleToModel(message) && compactionPart(message) !== undefined,
  );
  if (markerIndex === -1) return false;
  return !transcript.some((message, index) => index > markerIndex && isSettledSummary(message));
}

function isSettledSummary(message: Message): boolean {
  return message.summary === true && (message.finish !== undefined || message.error !== undefined);
}

function isFinishedStep(message: Message): boolean {
  return (
    message.role === "assistant" &&
    message.finish !== undefined &&
    message.error === undefined &&
    isVisibleToModel(message)
  );
}

/**
 * Whether an answer that came without an error shows that the window was exceeded all the same:
 * by its stop reason, by usage above the window, by an empty answer, or by a prompt the server cut short.
 */
export function detectSilentOverflow(answer: ModelAnswer): SilentOverflow {
  const reason = silentReason(answer);
  return { isOverflow: OVERFLOWS.has(reason), reason };
}

export interface ModelAnswer {
  /** As the provider reported it; pass it through `readUsage` first where its input includes cached tokens. */
  readonly usage?: unknown;
  readonly stopReason?: string;
  /** 0 when unknown. */
  readonly contextWindowTokens: number;
  /** What the request was estimated at before it was sent. */
  readonly sentEstimateTokens?: number;
  /** `just-compacted`: the first answer after a compaction, whose usage may describe the old context. */
  readonly moment?: "just-compacted" | "other";
}

export interface SilentOverflow {
  readonly isOverflow: boolean;
  readonly reason: SilentReason;
}

/** `usage-anomaly` is an accounting fault of the provider: compacting because of it would never end. */
export type SilentReason =
  | "stop-reason"
  | "usage-over-window"
  | "empty-answer"
  | "truncated-prompt"
  | "usage-anomaly"
  | "fits";

const OVERFLOWS: ReadonlySet<SilentReason> = new Set([
  "stop-reason",
  "usage-over-window",
  "empty-answer",
  "truncated-prompt",
]);

/** Usage this many times the window cannot come from a request that was sent. */
const ABSURD_FACTOR = 2;
const FULL_SHARE = 0.99;
const TRUNCATED_SHARE = 0.6;
/** Below this an estimate is too rough to prove a cut. */
const MIN_ESTIMATE_TOKENS = 1_000;

/** How nearly all answers end; these need no reading. */
const ORDINARY_STOPS: ReadonlySet<string> = new Set([
  "stop",
  "end_turn",
  "tool-calls",
  "tool_calls",
  "tool_use",
  "completed",
]);

function silentReason({
  usage,
  stopReason,
  contextWindowTokens,
  sentEstimateTokens,
  moment,
}: ModelAnswer): SilentReason {
  const isOrdinary = stopReason === undefined || ORDINARY_STOPS.has(stopReason);
  if (!isOrdinary && classifyProviderError({ stop_reason: stopReason }).isOverflow) return "stop-reason";
  const counted = readUsage(usage);
  if (counted === undefined) return "fits";

  const promptTokens = counted.inputTokens + counted.cacheReadTokens + counted.cacheWriteTokens;
  const estimateTokens = sentEstimateTokens ?? 0;
  if (contextWindowTokens > 0) {
    const estimateFits = estimateTokens > 0 && estimateTokens <= contextWindowTokens;
    const isAbsurd = promptTokens > contextWindowTokens * ABSURD_FACTOR;
    if (isAbsurd && (estimateFits || moment === "just-compacted")) return "usage-anomaly";
    if (promptTokens > contextWindowTokens)
      return counted.outputTokens === 0 ? "empty-answer" : "usage-over-window";
    const isFull = promptTokens >= contextWindowTokens * FULL_SHARE;
    if (isFull && counted.outputTokens === 0 && isLengthStop(stopReason)) return "empty-answer";
  }
  const isCut = promptTokens > 0 && promptTokens < estimateTokens * TRUNCATED_SHARE;
  return isCut && estimateTokens >= MIN_ESTIMATE_TOKENS ? "truncated-prompt" : "fits";
}

function isLengthStop(stopReason: string | undefined): boolean {
  return (
    stopReason !== undefined && classifyProviderError({ stop_reason: stopReason }).class === "output_limit"
  );
}

/**
 * Token usage in whatever shape a provider or SDK reports it, as `Usage` whose fields do not overlap.
 * Undefined when no field can be read. Number-like texts count as numbers, negative values as 0.
 */
export function readUsage(
  raw: unknown,
  { inputIncludesCached = "no" }: ReadUsageOptions = {},
): Usage | undefined {
  const fields = fieldsOf(raw);
  const read = (paths: readonly string[]): number | undefined => {
    for (const path of paths) {
      const tokens = tokensAt(fields, path);
      if (tokens !== undefined) return tokens;
    }
    return undefined;
  };

  const inputTokens = read(INPUT_FIELDS);
  const outputTokens = read(OUTPUT_FIELDS);
  const totalTokens = read(TOTAL_FIELDS);
  const cacheReadTokens = read(CACHE_READ_FIELDS);
  const cacheWriteTokens = read(CACHE_WRITE_FIELDS);
  const known = [inputTokens, outputTokens, totalTokens, cacheReadTokens, cacheWriteTokens];
  if (known.every((tokens) => tokens === undefined)) return undefined;

  const cachedTokens = inputIncludesCached === "yes" ? (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0) : 0;
  return {
    inputTokens: Math.max(0, (inputTokens ?? 0) - cachedTokens),
    outputTokens: outputTokens ?? 0,
    reasoningTokens: read(REASONING_FIELDS) ?? 0,
    cacheReadTokens: cacheReadTokens ?? 0,
    cacheWriteTokens: cacheWriteTokens ?? 0,
    ...(totalTokens === undefined ? {} : { totalTokens }),
  };
}

export interface ReadUsageOptions {
  /** `yes` for providers whose input count already holds the cached tokens (OpenAI, Gemini), so that they count once. */
  readonly inputIncludesCached?: "yes" | "no";
}

const INPUT_FIELDS = [
  "inputTokens",
  "input",
  "input_tokens",
  "prompt_tokens",
  "promptTokens",
  "promptTokenCount",
  "prompt_eval_count",
  "inputTokens.total",
  "input_tokens.total",
  "tokens.input_tokens",
];
const OUTPUT_FIELDS = [
  "outputTokens",
  "output",
  "output_tokens",
  "completion_tokens",
  "completionTokens",
  "candidatesTokenCount",
  "eval_count",
  "outputTokens.total",
  "output_tokens.total",
  "tokens.output_tokens",
];
const TOTAL_FIELDS = ["totalTokens", "total", "total_tokens", "totalTokenCount"];
const REASONING_FIELDS = [
  "reasoningTokens",
  "reasoning",
  "reasoning_tokens",
  "thoughtsTokenCount",
  "completion_tokens_details.reasoning_tokens",
  "output_tokens_details.reasoning_tokens",
  "outputTokenDetails.reasoningTokens",
  "outputTokens.reasoning",
];
const CACHE_READ_FIELDS = [
  "cacheReadTokens",
  "cacheRead",
  "cache_read_input_tokens",
  "cacheReadInputTokens",
  "cachedInputTokens",
  "cached_tokens",
  "cachedContentTokenCount",
  "prompt_cache_hit_tokens",
  "cache.read",
  "prompt_tokens_details.cached_tokens",
  "input_tokens_details.cached_tokens",
  "promptTokensDetails.cachedTokens",
  "inputTokenDetails.cacheReadTokens",
  "inputTokens.cacheRead",
];
const CACHE_WRITE_FIELDS = [
  "cacheWriteTokens",
  "cacheWrite",
  "cache_creation_input_tokens",
  "cacheWriteInputTokens",
  "cacheCreationInputTokens",
  "cache.write",
  "prompt_tokens_details.cache_write_tokens",
  "inputTokenDetails.cacheWriteTokens",
  "inputTokens.cacheWrite",
];

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function tokensAt(fields: Fields, path: string): number | undefined {
  const [outer = path, inner] = path.split(".");
  const value = fieldAt(fields, outer);
  return toTokens(inner === undefined ? value : fieldAt(fieldsOf(value), inner));
}

function fieldAt(fields: Fields, name: string): unknown {
  try {
    return fields[name];
  } catch {
    return undefined;
  }
}

function toTokens(value: unknown): number | undefined {
  const count = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof count === "number" && Number.isFinite(count) ? Math.max(0, count) : undefined;
}
