import { clipJson } from "../text/clip-json.ts";
import { safeJson } from "../text/safe-json.ts";
import { shouldUseHeadTail } from "../text/should-use-head-tail.ts";
import { headCut } from "../text/truncate.ts";
import { cutOutcome } from "../transcript/cut-outcome.ts";
import type { Edit, EditReason, Stage } from "../transcript/edit.ts";
import type { Message } from "../transcript/message.ts";
import type { InputCut, ToolPart } from "../transcript/part.ts";
import { handleOf, pendingCalls, type ToolResult } from "../transcript/tool-results.ts";
import { resultsWithTiers, type Tier, type TierLimits } from "./tool-result-tier.ts";

/** Cuts tool results by age: the newest stay whole, the middle ones keep some, the old ones little. Inputs go the same way. */
export function graduatedTiers({
  limits,
  neverCutTools = FORK_NO_TRUNCATION_TOOLS,
}: GraduatedTiersOptions): Stage {
  return (transcript) => {
    const edits: Edit[] = [];
    for (const { result, tier, isNumbered } of resultsWithTiers(transcript, limits)) {
      const { message, partIndex, part } = result;
      const keepWhole = !isNumbered || neverCutTools.some((name) => part.tool.includes(name));
      const withOutput = keepWhole ? part : cutOutput(result, limits.resultChars[tier]);
      const cut = cutInput(withOutput, limits.paramsChars[tier]);
      const reason = withOutput === part ? "params" : tierReason(tier);
      if (cut !== part) edits.push(replace({ message, partIndex, part, cut, reason }));
    }
    for (const { message, partIndex, part } of pendingCalls(transcript)) {
      const cut = cutInput(part, limits.paramsChars[1]);
      if (cut !== part) edits.push(replace({ message, partIndex, part, cut, reason: "params" }));
    }
    return edits;
  };
}

export interface GraduatedTiersOptions {
  readonly limits: TierLimits;
  /** Tools whose results are never cut; a name matches when it contains one of these. */
  readonly neverCutTools?: readonly string[];
}

export const FORK_NO_TRUNCATION_TOOLS: readonly string[] = ["ask_user_questions", "question", "skill"];

interface Replacement {
  readonly message: Message;
  readonly partIndex: number;
  readonly part: ToolPart;
  readonly cut: ToolPart;
  readonly reason: EditReason;
}

function replace({ message, partIndex, part, cut, reason }: Replacement): Edit {
  return {
    type: "replace-part",
    messageId: message.id,
    partIndex,
    part: cut,
    stage: "graduated-tiers",
    reason,
    omitted: { chars: omittedChars(cut) - omittedChars(part), handle: handleOf(message, partIndex) },
  };
}

function cutOutput(result: ToolResult, limitChars: number): ToolPart {
  const { part, text } = result;
  if (text.length <= limitChars || isCutWithin(part.cut?.limitChars, limitChars)) return part;
  const isTailWorthKeeping = result.status === "failed" || shouldUseHeadTail(part.tool, text);
  return cutOutcome(part, { limitChars, method: isTailWorthKeeping ? "head-tail" : "head" });
}

function cutInput(part: ToolPart, limitChars: number): ToolPart {
  if (part.input === undefined || isCutWithin(part.inputCut?.limitChars, limitChars)) return part;
  const json = safeJson(part.input);
  if (json.length <= limitChars + ELLIPSIS.length) return part;
  const end = headCut(json, limitChars);
  const inputCut: InputCut = {
    method: "head",
    originalChars: part.inputCut?.originalChars ?? json.length,
    omittedChars: (part.inputCut?.originalChars ?? json.length) - end,
    limitChars,
    preview: json.slice(0, end) + ELLIPSIS,
  };
  return { ...part, input: clipJson(part.input, limitChars), inputCut };
}

const ELLIPSIS = "...";

function isCutWithin(cutLimitChars: number | undefined, limitChars: number): boolean {
  return cutLimitChars !== undefined && cutLimitChars <= limitChars;
}

function omittedChars(part: ToolPart): number {
  return (part.cut?.omittedChars ?? 0) + (part.inputCut?.omittedChars ?? 0);
}

function tierReason(tier: Tier): EditReason {
  return tier === 2 ? "tier-2" : "tier-3";
}
