import { processMessagesForFork } from "../../../fork/process-messages-for-fork.ts";
import type { FormatName } from "../../../formats/detect-format.ts";
import { createSession } from "../../../session/create-session.ts";
import { charBudget } from "../../../stages/char-budget.ts";
import { compactionBoundary } from "../../../stages/compaction-boundary.ts";
import { PRUNE_MINIMUM, PRUNE_PROTECT, pruneStage } from "../../../stages/prune.ts";
import { supersede } from "../../../stages/supersede.ts";
import { applyEdits } from "../../../transcript/apply-edits.ts";
import type { Edit, Stage } from "../../../transcript/edit.ts";
import type { Transcript } from "../../../transcript/message.ts";
import { createRenderer } from "../../../transcript/render.ts";
import { runStages } from "../../../transcript/run-stages.ts";
import { foldNow } from "./fold-now.ts";
import type { PolicyId } from "./types.ts";

/** What a policy did: its edits, and the transcript with them, hidden messages included. */
export interface PolicyRun {
  readonly source: Transcript;
  readonly edits: readonly Edit[];
  readonly after: Transcript;
}

export interface PolicyRequest {
  readonly policy: PolicyId;
  /** In the policy's unit, within its limits; 0 where it has none. */
  readonly budget: number;
  readonly format: FormatName;
  readonly windowTokens: number;
  readonly sessionId?: string;
}

/** Runs the engine itself on a transcript whose ids are unique. */
export function runPolicy(source: Transcript, request: PolicyRequest): PolicyRun {
  const edits = editsOf(source, request);
  return { source, edits, after: applyEdits(source, edits, AT) };
}

/** Nothing that is shown depends on the time of an edit. */
const AT = { at: 0 };

/** The newest compaction as a host sends it: it comes last, since the other stages look at the window by themselves. */
const asHostSends: Stage = compactionBoundary({ from: "marker" });

function editsOf(source: Transcript, request: PolicyRequest): readonly Edit[] {
  const { policy, budget, sessionId } = request;
  switch (policy) {
    case "as-sent":
      return asHostSends(source);
    case "session":
      return sessionEdits(source, request);
    case "fixed":
    case "fill":
      return processMessagesForFork(source, {
        budgetChars: budget,
        profile: policy,
        ...(sessionId !== undefined && { sessionId }),
      }).edits;
    case "supersede":
      return runStages(source, [supersede(), asHostSends], AT).edits;
    case "prune":
      return runStages(source, [pruneStage(pruneTo(budget)), asHostSends], AT).edits;
    case "fold":
      return foldEdits(source, { ...request, keepTokens: budget });
    case "last-n":
      return runStages(
        source,
        [compactionBoundary({ from: "summary" }), charBudget({ maxChars: budget, render: createRenderer() })],
        AT,
      ).edits;
    default:
      return policy satisfies never;
  }
}

/** The minimum goes with the protected amount as it does in the documented pair. */
function pruneTo(protectTokens: number): Parameters<typeof pruneStage>[0] {
  return {
    protectTokens,
    minimumTokens: Math.min(PRUNE_MINIMUM, Math.round(protectTokens * (PRUNE_MINIMUM / PRUNE_PROTECT))),
  };
}

/** The one thing that a session would do next; where that is a compaction, the one without a model. */
function sessionEdits(source: Transcript, request: PolicyRequest): readonly Edit[] {
  const model = source.findLast((message) => message.model !== undefined)?.model;
  const session = createSession(
    { clock: STANDING_CLOCK },
    {
      limits: { contextTokens: request.budget, outputTokens: 0 },
      compaction: { toolSummaryStrategy: "off" },
      toolOutput: "off",
      ...(model && { model }),
    },
  );
  for (const message of source) session.append(message);
  const action = session.nextAction({ moment: "after-turn" });
  if (action.type === "prune" || action.type === "supersede")
    return runStages(source, [() => action.edits, asHostSends], AT).edits;
  return action.type === "compact"
    ? foldEdits(source, { ...request, windowTokens: request.budget })
    : asHostSends(source);
}

const STANDING_CLOCK = { now: () => 0, sleep: async () => {} };

function foldEdits(
  source: Transcript,
  options: Omit<Parameters<typeof foldNow>[1], "estimator">,
): readonly Edit[] {
  const folded = foldNow(source, options);
  return folded.status === "compacted" ? folded.edits : asHostSends(source);
}
