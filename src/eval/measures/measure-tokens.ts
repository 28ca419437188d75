import { tokenFamilyOf } from "../../models/token-family.ts";
import { safeJson } from "../../text/json.ts";
import { outcomeText } from "../../transcript/content.ts";
import { promptTokens } from "../../transcript/estimate-context.ts";
import { charsOf, estimateMessageTokens, messageSizes } from "../../transcript/estimate-message.ts";
import type { Message } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import { type EvalSession, splitAtCompactions } from "../probe/places.ts";

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

/** Outside this range of tokens per character, something else was counted too, such as text that the host added. */
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
