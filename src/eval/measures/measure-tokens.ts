import { tokenFamilyOf } from "../../models/token-family.ts";
import { windowOf } from "../../session/window.ts";
import { safeJson } from "../../text/json.ts";
import { outcomeText } from "../../transcript/content.ts";
import { estimateContext, promptTokens, reportsContextUsage } from "../../transcript/estimate-context.ts";
import { charsOf, estimateMessageTokens, messageSizes } from "../../transcript/estimate-message.ts";
import { isSummary, type Message, type Transcript } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import { type EvalSession, splitAtCompactions } from "../probe/places.ts";

/** A request whose prompt the provider counted, and our estimate of it without any usage. */
export interface PromptStep {
  readonly model: string;
  readonly promptTokens: number;
  readonly estimatedTokens: number;
  /** How much of the estimate is the messages that came since the first request, before the family's scale. */
  readonly unscaledTokens: number;
  /** The calls among them. */
  readonly calls: number;
  /** False where the host sent less than the file shows, such as after it cleared results of its own accord. */
  readonly isComparable: boolean;
}

/**
 * The requests of a session, each with an estimate of its whole prompt. System prompt and tools are in no file: what the
 * provider counted beyond the messages at the first request of a window, by the same model, is taken for them, and that
 * request is not judged.
 */
export function measurePrompts({ transcript }: Pick<EvalSession, "transcript">): readonly PromptStep[] {
  let first: Prompt | undefined;
  let largest = { counted: 0, estimated: 0 };
  let isComparable = true;
  const steps: PromptStep[] = [];
  for (const [index, message] of transcript.entries()) {
    const counted = promptTokens(message.usage);
    if (!reportsContextUsage(message) || message.model === undefined || counted === 0) continue;
    const { model } = message;
    const window = windowOf(transcript.slice(0, index)).marked;
    const uncounted = { estimator: "calibrated", model, epochStartIndex: Number.POSITIVE_INFINITY } as const;
    const estimated = estimateContext(window, uncounted).tokens;
    const prompt: Prompt = {
      model: model.id,
      summaryId: window.findLast(isSummary)?.id,
      outsideTokens: counted - estimated,
      ...unscaledSize(window),
    };
    if (first?.model !== prompt.model || first.summaryId !== prompt.summaryId) {
      first = prompt;
      largest = { counted, estimated };
      isComparable = true;
      continue;
    }
    // Thoughts that the model no longer reads are known to go.
    const known = Math.max(0, largest.estimated - estimated);
    isComparable &&= largest.counted - known - counted <= MAX_LOST_SHARE * largest.counted;
    if (counted > largest.counted) largest = { counted, estimated };
    steps.push({
      model: prompt.model,
      promptTokens: counted,
      estimatedTokens: estimated + first.outsideTokens,
      unscaledTokens: prompt.unscaledTokens - first.unscaledTokens,
      calls: prompt.calls - first.calls,
      isComparable,
    });
  }
  return steps;
}

/** A prompt grows; one that has lost more than this share of an earlier one is not what the file shows. */
const MAX_LOST_SHARE = 0.1;

interface Prompt extends UnscaledSize {
  readonly model: string;
  /** Of the newest compaction, after which a window begins anew. */
  readonly summaryId: string | undefined;
  readonly outsideTokens: number;
}

type UnscaledSize = Pick<PromptStep, "unscaledTokens" | "calls">;

function unscaledSize(window: Transcript): UnscaledSize {
  let [unscaledTokens, calls] = [0, 0];
  for (const message of window) {
    const sizes = messageSizes(message, "calibrated");
    unscaledTokens += sizes.writtenTokens + sizes.resultTokens;
    calls += sizes.calls;
  }
  return { unscaledTokens, calls };
}

/** A step whose size the provider counted: by how many tokens its answer and results made the next prompt longer. */
export interface TokenStep {
  readonly model: string;
  readonly usageTokens: number;
  readonly chars: number;
  readonly calls: number;
  /** The calibrated estimate before the family's scale and the price of calls. */
  readonly unscaledTokens: number;
  readonly calibratedTokens: number;
  readonly documentedTokens: number;
}

/** The steps of a session at which our estimates can be compared with the provider's count. */
export function measureTokens({ transcript }: EvalSession): readonly TokenStep[] {
  return splitAtCompactions(transcript).flatMap((stretch) =>
    stretch.flatMap((message, index) => tokenStep(message, stretch[index + 1]) ?? []),
  );
}

const MIN_CHARS = 400;
/** Outside of these tokens per character something else was counted too, such as text that the host added. */
const MIN_DENSITY = 0.12;
const MAX_DENSITY = 0.9;

function tokenStep(message: Message, next: Message | undefined): TokenStep | undefined {
  if (message.usage === undefined || next?.usage === undefined || !isClear(message)) return undefined;
  if (next.role !== "assistant" || next.model?.id !== message.model?.id) return undefined;
  const usageTokens = promptTokens(next.usage) - promptTokens(message.usage);
  const chars = charsOf(message);
  const density = usageTokens / chars;
  if (chars < MIN_CHARS || !(density > MIN_DENSITY && density < MAX_DENSITY)) return undefined;
  const model = message.model?.id ?? "";
  const { writtenTokens, thoughtTextTokens, resultTokens, calls } = messageSizes(message, "calibrated");
  return {
    model,
    usageTokens,
    chars,
    calls,
    unscaledTokens: writtenTokens + thoughtTextTokens + resultTokens,
    calibratedTokens: estimateMessageTokens(message, {
      estimator: "calibrated",
      family: tokenFamilyOf({ id: model }),
    }),
    documentedTokens: estimateMessageTokens(message),
  };
}

/** True when all that the next prompt adds is recorded text: no reasoning, no media, nothing redacted. */
function isClear({ role, parts }: Message): boolean {
  const calls = parts.filter((part) => part.type === "tool");
  if (role !== "assistant" || calls.length === 0) return false;
  if (parts.some((part) => part.type === "file" || (part.type === "reasoning" && part.text !== "")))
    return false;
  return calls.every(isClearCall) && !parts.some((part) => part.type === "text" && isRedacted(part.text));
}

function isClearCall({ outcome, input }: ToolPart): boolean {
  if (outcome.status === "pending") return false;
  if (outcome.status === "done" && outcome.attachments.length > 0) return false;
  const text = outcomeText(outcome);
  return !text.includes("[image]") && !isRedacted(text) && !isRedacted(safeJson(input));
}

/** Published sessions are redacted, but the provider counted the original text. */
function isRedacted(text: string): boolean {
  return text.includes("REDACTED");
}
