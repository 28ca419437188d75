import { processMessagesForFork } from "../../../fork/process-messages-for-fork.ts";
import type { FormatName } from "../../../formats/detect-format.ts";
import { createSession } from "../../../session/create-session.ts";
import { type EditBatch, isGrounded } from "../../../session/edit-batch.ts";
import { charBudget } from "../../../stages/char-budget.ts";
import { compactionBoundary } from "../../../stages/compaction-boundary.ts";
import { keepLines } from "../../../stages/keep-lines.ts";
import { PRUNE_MINIMUM, PRUNE_PROTECT, pruneStage } from "../../../stages/prune.ts";
import { supersede } from "../../../stages/supersede.ts";
import type { Edit, Stage } from "../../../transcript/edit.ts";
import type { Transcript } from "../../../transcript/message.ts";
import { createRenderer } from "../../../transcript/render.ts";
import { runStages } from "../../../transcript/run-stages.ts";
import { isVisibleToModel } from "../../../transcript/visibility.ts";
import { type FoldNowOptions, foldNow } from "./fold-now.ts";
import type { PolicyId } from "./types.ts";

/** What a policy did: its edits, and the messages that are left for the model, in the order in which they are sent. */
export interface PolicyRun {
  readonly source: Transcript;
  readonly edits: readonly Edit[];
  readonly left: Transcript;
}

export interface PolicyRequest {
  readonly policy: PolicyId;
  /** In the policy's unit, within its limits; 0 where it has none. */
  readonly budget: number;
  readonly format: FormatName;
  readonly windowTokens: number;
  readonly sessionId?: string;
  /** What the plugin had changed by then; part of what is sent. */
  readonly batches?: readonly EditBatch[];
}

/** Runs the engine itself on a transcript whose ids are unique. */
export function runPolicy(source: Transcript, request: PolicyRequest): PolicyRun {
  const { policy, budget, sessionId } = request;
  switch (policy) {
    case "as-sent":
      return runOf(source, (request.batches ?? []).map(stageOf));
    case "session":
      return sessionRun(source, request);
    case "fixed":
    case "fill": {
      const options = { budgetChars: budget, profile: policy };
      const named = sessionId === undefined ? options : { ...options, sessionId };
      const { messages, edits } = processMessagesForFork(source, named);
      return { source, edits, left: messages };
    }
    case "lines":
      return runOf(source, [keepLines({ keepChars: budget })]);
    case "supersede":
      return runOf(source, [supersede()]);
    case "prune":
      return runOf(source, [pruneStage(pruneTo(budget))]);
    case "fold":
      return foldRun(source, { ...request, keepTokens: budget });
    case "last-n":
      return lastRun(source, budget);
    default:
      return policy satisfies never;
  }
}

/** The edits of a batch, as long as it speaks of messages that are there. */
function stageOf({ edits }: EditBatch): Stage {
  return (transcript) => (isGrounded(edits, transcript) ? edits : []);
}

/** Nothing that is shown depends on the time of an edit. */
const AT = { at: 0 };

/** Stages, and then the newest compaction as a host sends it: stages find the window by themselves. */
function runOf(source: Transcript, stages: readonly Stage[]): PolicyRun {
  return leftBy(source, [...stages, compactionBoundary({ from: "marker" })]);
}

function leftBy(source: Transcript, stages: readonly Stage[]): PolicyRun {
  const { transcript, edits } = runStages(source, stages, AT);
  return { source, edits, left: transcript.filter(isVisibleToModel) };
}

function lastRun(source: Transcript, maxChars: number): PolicyRun {
  const newest = charBudget({ maxChars, render: createRenderer() });
  return leftBy(source, [compactionBoundary({ from: "summary" }), newest]);
}

/** The minimum goes with the protected amount as it does in the documented pair. */
function pruneTo(protectTokens: number): Parameters<typeof pruneStage>[0] {
  return {
    protectTokens,
    minimumTokens: Math.min(PRUNE_MINIMUM, Math.round(protectTokens * (PRUNE_MINIMUM / PRUNE_PROTECT))),
  };
}

/** The one thing that a session would do next; where that is a compaction, the one without a model. */
function sessionRun(source: Transcript, request: PolicyRequest): PolicyRun {
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
  session.observe(source);
  const action = session.nextAction({ moment: "after-turn" });
  if (action.type === "compact") return foldRun(source, { ...request, windowTokens: request.budget });
  const edits = action.type === "prune" || action.type === "supersede" ? action.edits : [];
  return runOf(source, [() => edits]);
}

const STANDING_CLOCK = { now: () => 0, sleep: async () => {} };

function foldRun(source: Transcript, options: FoldNowOptions): PolicyRun {
  const folded = foldNow(source, options);
  if (folded.status === "unchanged") return runOf(source, []);
  return { source, edits: folded.edits, left: folded.messages.filter(isVisibleToModel) };
}
