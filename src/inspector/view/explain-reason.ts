import { GAP_MARKER } from "../../stages/lines/select.ts";
import {
  FORK_TIER1_COUNT,
  FORK_TIER2_COUNT,
  FORK_TIER2_LIMIT,
  FORK_TIER3_LIMIT,
} from "../../stages/tiers.ts";
import { formatNumber } from "../../text/format-number.ts";
import type { Fate, ItemSide } from "./types.ts";

/** The reason of an edit as a sentence for a person. */
export function explainReason({ stage, reason, side }: EditReason): string {
  if (side === "input" && (reason === "tier-2" || reason === "tier-3")) return SENTENCES.params ?? "";
  return (
    STAGE_SENTENCES[`${stage}/${reason}`] ??
    SENTENCES[reason] ??
    `Left out (${reason.replace(/[-_]+/g, " ")}).`
  );
}

/** Why an edit was made. */
export interface EditReason {
  readonly stage: string;
  readonly reason: string;
  readonly side?: ItemSide;
}

/** The fate of what an edit removed (`all`) or shortened (`some`) for this reason. */
export function fateOfReason(reason: string, removed: "all" | "some"): Fate {
  if (SUMMARY_REASONS.has(reason)) return "summarized";
  if (reason === "superseded") return "superseded";
  return removed === "all" ? "hidden" : "clipped";
}

const SUMMARY_REASONS: ReadonlySet<string> = new Set([
  "before-compaction",
  "summarized",
  "archived",
  "tool_result_archived",
]);

const WHOLE_RESULTS = FORK_TIER1_COUNT + FORK_TIER2_COUNT;

const STAGE_SENTENCES: Readonly<Record<string, string>> = {
  "fill-budget/over-budget": "Other lines are likelier to be needed, and this did not fit beside them.",
  "keep-lines/pruned": "Old work, less likely to be needed next than what stays.",
  "recorded/pruned":
    "The session's own program cleared this output; a placeholder is sent, the recording keeps it.",
  "recorded/hidden": "Hidden from the model when it was recorded.",
  "recorded/ignored": "Shown to the person only; no model ever got it.",
};

const SENTENCES: Readonly<Record<string, string>> = {
  "before-compaction": "Older than the last compaction: only its summary is sent.",
  reasoning: "A child does not inherit its parent's thinking.",
  ignored: "Shown to the person only; no model gets it.",
  "own-hint": "A hint from Carryover to this agent, of no use to a child.",
  "in-flight": "This launch has not ended, so it stays with the parent.",
  "nested-preamble": "Context that this agent had inherited itself is not passed on.",
  "tier-2": `Not among the ${FORK_TIER1_COUNT} newest results: cut to ${formatNumber(FORK_TIER2_LIMIT)} characters.`,
  "tier-3": `Not among the ${WHOLE_RESULTS} newest results: cut to ${FORK_TIER3_LIMIT} characters.`,
  params: "The input of a call is cut by the age of its result.",
  "over-budget": "Older than what fits into the budget.",
  oversize: "Too long for the budget even alone, so it was cut.",
  "selected-lines": `Only the lines most likely to be needed stay; ${GAP_MARKER} stands for the others.`,
  pruned: "An old output outside the protected amount: a placeholder is sent, the output is kept.",
  superseded: "Something newer shows the same, or replaces it.",
  summarized: "Summed up: the summary stands for it.",
  archived: "Archived: a summary of this result stands for it.",
  tool_result_archived: "Archived: a summary of this result stands for it.",
  media: "Pictures and files left out; a line names them.",
  secret: "A secret was replaced by a placeholder.",
  "malformed-text": "Characters that a provider refuses were taken out.",
  "missing-result": "A call without a result got one that says so.",
  "orphan-result": "A result whose call is gone cannot be sent.",
  "duplicate-call": "The same call stands there twice.",
  "failed-turn": "A turn that broke off cannot be sent.",
  empty: "There is nothing in it.",
  recovery: "Taken out so that a refused request fits.",
};
