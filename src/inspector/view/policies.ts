import { planRecovery, type RecoveryStep } from "../../compaction/recover.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "../../compaction/trigger/compaction-settings.ts";
import { FORK_CHAR_BUDGET } from "../../fork/context/options.ts";
import { processMessagesForFork } from "../../fork/fork.ts";
import type { FormatName } from "../../formats/registry.ts";
import { type EditBatch, hasTargets } from "../../session/history.ts";
import { createSession } from "../../session/session.ts";
import { compactionBoundary } from "../../stages/boundary.ts";
import { charBudget } from "../../stages/char-budget.ts";
import { keepLines } from "../../stages/lines/keep-lines.ts";
import { PRUNE_MINIMUM, PRUNE_PROTECT, pruneStage } from "../../stages/prune.ts";
import { supersede } from "../../stages/supersede.ts";
import { applyEdits, type Edit, runStages, type Stage } from "../../transcript/edit.ts";
import { isVisibleToModel, type Message, type Transcript } from "../../transcript/message.ts";
import { partTexts } from "./part-texts.ts";
import { compactFileWithoutModel, type FileCompactionOptions } from "./plan-file-compaction.ts";
import type { PolicyBudget, PolicyId, PolicyInfo, ShownSize } from "./types.ts";

/** The policies, with budgets that fit a session of this size. */
export function policiesFor({ windowTokens, tokens, chars }: SessionSize): readonly PolicyInfo[] {
  const child = charLimits("what the child may read", chars);
  return [
    {
      id: "as-sent",
      label: "As sent",
      about: "What the session's own program sends next, after its own compactions and clearing.",
    },
    {
      id: "session",
      label: "Carryover session",
      about:
        "What a Carryover session would do right now: clear what pays for itself, compact when the window is full.",
      budget: tokenLimits("the model's window", { min: 8_000, most: windowTokens, wanted: windowTokens }),
    },
    {
      id: "fill",
      label: "Fork, fill",
      about: "What a child inherits when the whole budget is filled with the lines most likely to be needed.",
      budget: child,
    },
    {
      id: "fixed",
      label: "Fork, fixed tiers",
      about:
        "What a child inherits by the documented tiers: new results whole, old ones cut, the oldest messages out.",
      budget: child,
    },
    {
      id: "lines",
      label: "Keep lines",
      about:
        "Of old work only the lines most likely to be needed stay; where that is not enough, the oldest messages go too.",
      budget: charLimits("all that is sent", chars),
    },
    {
      id: "prune",
      label: "Prune",
      about: "Old tool outputs give way to a placeholder; the newest stay.",
      budget: tokenLimits("outputs that stay", {
        min: 0,
        most: Math.max(PRUNE_PROTECT, tokens),
        wanted: PRUNE_PROTECT,
      }),
    },
    {
      id: "supersede",
      label: "Supersede",
      about: "Results that something newer shows again give way to a line that names it.",
    },
    {
      id: "local-summary",
      label: "Compact, no model",
      about: "A compaction now, with the summary that needs no model; the newest part stays word for word.",
      budget: tokenLimits("what stays word for word", {
        min: 1_000,
        most: Math.min(tokens, windowTokens),
        wanted: DEFAULT_COMPACTION_SETTINGS.keepRecentTokens,
      }),
    },
    {
      id: "last-n",
      label: "Newest only",
      about: "The oldest messages out until the rest fits, nothing else: what many programs do.",
      budget: charLimits("what may stay", chars),
    },
  ];
}

/** The budget that all policies share: the whole window, with system prompt and tools. By default a child's, as everywhere. */
export function sharedBudget({
  windowTokens,
  tokens,
  chars,
  outsideTokens,
  scale,
}: SharedSize): PolicyBudget {
  const tokensOfChars = chars === 0 ? 0.25 : (tokens * scale) / chars;
  const min = thousands(outsideTokens + 1_000);
  const max = Math.max(min, windowTokens, thousands(outsideTokens + tokens * scale));
  const wanted = thousands(outsideTokens + FORK_CHAR_BUDGET * tokensOfChars);
  return {
    unit: "tokens",
    label: "the whole window",
    min,
    max,
    default: Math.min(max, Math.max(min, wanted)),
  };
}

function thousands(tokens: number): number {
  return Math.ceil(tokens / 1_000) * 1_000;
}

interface SharedSize extends SessionSize, Pick<ShownSize, "outsideTokens" | "scale"> {}

interface SessionSize {
  readonly windowTokens: number;
  readonly tokens: number;
  readonly chars: number;
}

/** What was asked for, rounded and within the limits; the default when nothing was. */
export function clampBudget(budget: PolicyBudget, asked: number | undefined): number {
  const wanted = asked === undefined || Number.isNaN(asked) ? budget.default : Math.round(asked);
  return Math.min(budget.max, Math.max(budget.min, wanted));
}

/** Less cannot hold the frame of a child's text and its notices. */
const MIN_CHARS = 512;

function charLimits(label: string, chars: number): PolicyBudget {
  return {
    unit: "chars",
    label,
    min: MIN_CHARS,
    max: Math.max(FORK_CHAR_BUDGET, Math.ceil(chars * ROOM_FOR_LABELS)),
    default: FORK_CHAR_BUDGET,
  };
}

/** Room for labels and line breaks: with this factor every text fits. */
const ROOM_FOR_LABELS = 1.2;

function tokenLimits(
  label: string,
  { min, most, wanted }: { readonly min: number; readonly most: number; readonly wanted: number },
): PolicyBudget {
  const max = Math.max(min, most);
  return { unit: "tokens", label, min, max, default: Math.min(max, Math.max(min, wanted)) };
}

/** What a policy did: its edits, and the messages that remain for the model, in the order in which they are sent. */
export interface PolicyRun {
  readonly source: Transcript;
  readonly edits: readonly Edit[];
  readonly left: Transcript;
}

interface PolicyRequest {
  readonly policy: PolicyId;
  /** In the policy's unit, within its limits; 0 where it has none. */
  readonly budget: number;
  /** Tokens that a compaction keeps word for word; the engine's choice when unset. */
  readonly keepTokens?: number;
  /** Most tokens of a summary; a share of what it stands for when unset. */
  readonly summaryTokens?: number;
  readonly format: FormatName;
  readonly windowTokens: number;
  readonly sessionId?: string;
  /** The plugin's edits in force at that time. */
  readonly batches?: readonly EditBatch[];
}

/** Runs a policy on a transcript whose ids are unique. */
export function runPolicy(source: Transcript, request: PolicyRequest): PolicyRun {
  const { policy, budget, sessionId } = request;
  switch (policy) {
    case "as-sent":
      return runOf(source, (request.batches ?? []).map(stageOf));
    case "session":
      return sessionRun(source, request);
    case "fixed":
    case "fill": {
      const { messages, edits } = processMessagesForFork(source, {
        budgetChars: budget,
        profile: policy === "fill" ? "default" : "documented",
        ...(sessionId !== undefined && { sessionId }),
      });
      return { source, edits, left: messages };
    }
    case "lines":
      return linesRun(source, budget);
    case "supersede":
      return runOf(source, [supersede()]);
    case "prune":
      return runOf(source, [pruneStage(pruneTo(budget))]);
    case "local-summary":
      return foldRun(source, { ...request, keepTokens: budget, trigger: "threshold" });
    case "last-n":
      return newestRun(source, budget);
    default:
      return policy satisfies never;
  }
}

/**
 * Runs a policy with the largest own budget for which the window has at most `maxTokens`. A policy that cannot remove
 * more leaves a larger window; pruning, for example, only clears outputs.
 */
export function runWithin(
  source: Transcript,
  request: Omit<PolicyRequest, "budget" | "keepTokens">,
  { maxTokens, windowTokens, tokensOf }: RunLimits,
): FittedRun {
  const { policy } = request;
  const least = policy === "prune" || policy === "local-summary" || policy === "session" ? 0 : MIN_CHARS;
  const fitTo = (
    first: number,
    next: (budget: number, tokens: number) => number,
    run = runPolicy,
  ): FittedRun => {
    let budget = Math.max(least, Math.round(first));
    let best: (FittedRun & { readonly tokens: number }) | undefined;
    let [fits, exceeds] = [least, Number.POSITIVE_INFINITY];
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const made = run(source, { ...request, budget });
      const tokens = tokensOf(made);
      if (tokens > maxTokens) exceeds = Math.min(exceeds, budget);
      else if (tokens > (best?.tokens ?? -1)) best = { ...made, budget, tokens };
      if (tokens <= maxTokens) fits = Math.max(fits, budget);
      const isNearEnough = tokens <= maxTokens && tokens >= maxTokens * NEAR_ENOUGH;
      const fitsWhole = tokens <= maxTokens && made.edits.length === 0;
      const asked = Math.max(least, Math.floor(next(budget, tokens)));
      const wanted =
        asked > fits && asked < exceeds ? asked : Math.floor((fits + Math.min(exceeds, asked)) / 2);
      if (isNearEnough || fitsWhole || wanted === budget) return best ?? { ...made, budget };
      budget = wanted;
    }
    return best ?? { ...run(source, { ...request, budget: least }), budget: least };
  };
  // Steps must not be too small: whole messages stay or go.
  const less = (budget: number, tokens: number): number =>
    tokens > maxTokens
      ? budget - Math.max(tokens - maxTokens, maxTokens * LEAST_STEP)
      : budget + maxTokens - tokens;
  switch (policy) {
    case "as-sent":
    case "supersede":
      return { ...runPolicy(source, { ...request, budget: 0 }), budget: 0 };
    case "session": {
      const made = runPolicy(source, { ...request, budget: windowTokens });
      if (tokensOf(made) <= maxTokens) return { ...made, budget: windowTokens };
      const kept = fitTo(maxTokens / 2, less, (from, { budget: keepTokens, ...rest }) =>
        runPolicy(from, { ...rest, budget: windowTokens, keepTokens }),
      );
      const settled =
        tokensOf(kept) <= maxTokens
          ? kept
          : fitTo(
              maxTokens,
              (limit, tokens) => (limit * maxTokens) / tokens,
              (from, { budget }) => recoveryRun(from, budget),
            );
      return { ...settled, budget: windowTokens };
    }
    case "prune":
      return fitTo(maxTokens, less);
    case "local-summary":
      return fitTo(maxTokens, less, (from, each) => runPolicy(from, { ...each, summaryTokens: maxTokens }));
    default: {
      const now = runOf(source, []);
      const nowTokens = tokensOf(now);
      const nowChars = countedChars(now.left);
      const most = nowChars * ROOM_FOR_LABELS;
      const first = nowTokens <= maxTokens ? most : (nowChars * maxTokens) / nowTokens;
      return fitTo(first, (budget, tokens) =>
        tokens === 0 ? most : Math.min(most, (budget * maxTokens * NEAR) / tokens),
      );
    }
  }
}

const MAX_TRIES = 5;
/** Stop trying when this share of the budget is used; and the share that a try aims at. */
const NEAR_ENOUGH = 0.9;
const NEAR = 0.98;
const LEAST_STEP = 0.06;

interface RunLimits {
  /** Limit for the messages, in estimated tokens of the rows. */
  readonly maxTokens: number;
  /** Limit for the whole window; for a session, the window of its model. */
  readonly windowTokens: number;
  readonly tokensOf: (run: PolicyRun) => number;
}

interface FittedRun extends PolicyRun {
  /** In the policy's own unit. */
  readonly budget: number;
}

/** Removes old work line by line; if that is not enough, hides the oldest messages. */
function linesRun(source: Transcript, budgetChars: number): PolicyRun {
  const lines = keepLines({ keepChars: budgetChars });
  const run = runOf(source, [lines]);
  return countedChars(run.left) <= budgetChars ? run : newestRun(source, budgetChars, [lines]);
}

function newestRun(source: Transcript, budgetChars: number, stages: readonly Stage[] = []): PolicyRun {
  const within = (maxChars: number): PolicyRun => {
    const newest = charBudget({ maxChars: Math.max(MIN_CHARS, maxChars), render: countedText });
    return runStagesOn(source, [...stages, compactionBoundary({ from: "summary" }), newest]);
  };
  const run = within(budgetChars);
  // The newest message is shortened as rendered, which leaves out its reasoning.
  const overChars = countedChars(run.left) - budgetChars;
  return overChars > 0 ? within(budgetChars - overChars) : run;
}

function countedChars(messages: Transcript): number {
  return messages.reduce((sum, message) => sum + countedText(message).length, 0);
}

/** The texts of a message as the page counts them: reasoning and inputs too, which a rendered message leaves out. */
function countedText(message: Message): string {
  return message.parts
    .filter(({ agentVisible }) => agentVisible !== false)
    .flatMap((part) => partTexts(message, part, "shown"))
    .map(({ text }) => text)
    .join("");
}

/** A stage with the edits of a batch, if its messages are there. */
function stageOf({ edits }: EditBatch): Stage {
  return (transcript) => (hasTargets(edits, transcript) ? edits : []);
}

/** Runs stages, then hides what is before the newest compaction, as a host does. */
function runOf(source: Transcript, stages: readonly Stage[]): PolicyRun {
  return runStagesOn(source, [...stages, compactionBoundary({ from: "marker" })]);
}

function runStagesOn(source: Transcript, stages: readonly Stage[]): PolicyRun {
  // The time of an edit does not matter here.
  const { transcript, edits } = runStages(source, stages, { at: 0 });
  return { source, edits, left: transcript.filter(isVisibleToModel) };
}

/** The minimum is scaled with the protected amount, as in the documented pair. */
function pruneTo(protectTokens: number): Parameters<typeof pruneStage>[0] {
  return {
    protectTokens,
    minimumTokens: Math.min(PRUNE_MINIMUM, Math.round(protectTokens * (PRUNE_MINIMUM / PRUNE_PROTECT))),
  };
}

/** What a session would do next; a compaction is made without a model. */
function sessionRun(source: Transcript, request: PolicyRequest): PolicyRun {
  const model = source.findLast((message) => message.model !== undefined)?.model;
  const session = createSession(
    { clock: STOPPED_CLOCK },
    {
      limits: { contextTokens: request.budget, outputTokens: 0 },
      toolOutput: "off",
      ...(model && { model }),
    },
  );
  session.observe(source);
  const action = session.nextAction({ moment: "after-turn" });
  if (action.type === "compact" || request.keepTokens !== undefined)
    return foldRun(source, { ...request, windowTokens: request.budget });
  const edits = action.type === "prune" || action.type === "supersede" ? action.edits : [];
  return runOf(source, [() => edits]);
}

/**
 * Runs the retry steps of a session after a refused request, as far as they need no model; the last step always fits.
 */
function recoveryRun(source: Transcript, limitTokens: number): PolicyRun {
  const steps: Stage[] = [];
  const tried: RecoveryStep[] = [];
  let transcript = source;
  for (;;) {
    const estimate = { estimator: "calibrated" } as const;
    const plan = planRecovery(transcript, { limitTokens, tried, estimate, model: "not-available" });
    if (plan.status !== "step") return runOf(source, steps);
    transcript = applyEdits(transcript, plan.edits, { at: 0 });
    steps.push(() => plan.edits);
    tried.push(plan.step);
  }
}

const STOPPED_CLOCK = { now: () => 0, sleep: async () => {} };

function foldRun(
  source: Transcript,
  { format, ...options }: Pick<PolicyRequest, "format"> & FileCompactionOptions,
): PolicyRun {
  const compacted = compactFileWithoutModel({ transcript: source, format }, options);
  if (compacted.status === "unchanged") return runOf(source, []);
  return { source, edits: compacted.edits, left: compacted.messages.filter(isVisibleToModel) };
}
