import {
  abortSignal,
  callback,
  check,
  gone,
  listOf,
  objectOf,
  oneOf,
  optionsCheck,
  required,
  rule,
  type Shape,
  throwProblems,
} from "../text/check.ts";
import { isObject } from "../text/unknown-value.ts";
import type { Edit } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";
import type { SessionHook } from "./ask-hooks.ts";
import {
  type CompactionEvent,
  type CompactOutcome,
  type CompactPorts,
  compact as runPlan,
} from "./compact.ts";
import {
  type CompactionPlan,
  type CompactionTrigger,
  type NothingToCompact,
  planCompaction as planOf,
} from "./plan/plan-compaction.ts";
import { COMPACT_PORTS_SHAPE, HOOKS_RULE, SUMMARIZER_RULE } from "./ports/option-rules.ts";
import type { Clock, Summarizer, SummarizerModel } from "./ports/summarizer.ts";
import type { Representation } from "./summary/message.ts";
import { compactToolResultsInRecent as compactRecent } from "./tool-summaries/edits.ts";
import {
  maybeSummarizeToolResults as maybeSummarize,
  type PendingToolSummary,
  type SummarizedToolResults,
} from "./tool-summaries/maybe-summarize-tool-results.ts";
import {
  COMPACTION_SHAPE,
  type CompactionSettings,
  completeCompactionSettings,
  DEFAULT_COMPACTION_SETTINGS,
  type GivenCompactionSettings,
} from "./trigger/compaction-settings.ts";
import { LIMITS_SHAPE, type ModelLimits } from "./trigger/overflow.ts";

// The functions of documents 003 and 004 as `carryover/documented` has them. A session tells the same functions more.

/** Decides a compaction without doing it: the same input gives the same plan. */
export function planCompaction(input: CompactionInput): CompactionPlan | NothingToCompact {
  checkInput(input);
  const { settings, ...rest } = input;
  return planOf({
    ...rest,
    ...(settings && { settings: completeCompactionSettings(settings, DEFAULT_COMPACTION_SETTINGS) }),
  });
}

/** What is compacted, and how. */
export interface CompactionInput {
  /** All messages, hidden ones included. */
  readonly transcript: Transcript;
  /** All but `threshold` cut even when everything would fit. */
  readonly trigger: CompactionTrigger;
  /** When the window is compacted, and how much of it stays. @default those of `compaction`, documented */
  readonly settings?: Omit<GivenCompactionSettings, "thresholds">;
  /** The limits of the model that reads the conversation, where known. @default unknown */
  readonly limits?: ModelLimits;
  /** As which messages a summary stands in the window. @default pivot */
  readonly representation?: Representation;
  /** The model that writes the summary; its window is that of `limits` when unset. @default unset */
  readonly summarizer?: SummarizerModel;
}

/**
 * Carries out a plan of `planCompaction`: asks the hooks, asks the summarizer at most twice, summarizes without a model
 * where that fails, and checks that the result is smaller and lost nothing that must stay. Returns edits and changes
 * nothing.
 */
export async function compact(
  plan: CompactionPlan | NothingToCompact,
  ports: CompactPorts,
  options: CompactOptions,
): Promise<CompactOutcome> {
  throwProblems([...check(COMPACT_PORTS_SHAPE, ports, ["ports"]), ...check(COMPACT_SHAPE, options)]);
  return runPlan(plan, ports, options);
}

/** How one compaction is run. */
export interface CompactOptions {
  /** Milliseconds since 1970, for what the edits insert. @unit milliseconds since 1970 @from this project */
  readonly at: number;
  /** Ends the compaction and leaves the transcript as it is. @default none @from this project */
  readonly signal?: AbortSignal;
  /**
   * Called at the start, as it goes on, and at the end; what it throws is ignored.
   * @default none
   * @from document 004
   */
  readonly onEvent?: (event: CompactionEvent) => void;
  /** Extensions that are asked before and after. @default none */
  readonly hooks?: readonly SessionHook[];
}

/**
 * Sums up the oldest tool results when more than the cutoff are visible, and gives the edits that archive them and insert
 * their summaries. Call it after the tools of each turn have run, and pass `pending` on to the next call.
 */
export async function maybeSummarizeToolResults(
  transcript: Transcript,
  options: MaybeSummarizeOptions,
): Promise<SummarizedToolResults> {
  checkSummarize(options);
  const { settings, ...rest } = options;
  return maybeSummarize(transcript, { ...rest, settings: { ...DEFAULT_COMPACTION_SETTINGS, ...settings } });
}

/** The settings, ports and pending work of one call. */
export interface MaybeSummarizeOptions {
  /**
   * When and how results are summed up: settings of a compaction, of which `toolCallCutoff` and those of tool
   * summaries count.
   */
  readonly settings: Partial<
    Pick<CompactionSettings, "toolCallCutoff" | "toolSummaryStrategy" | "toolSummaryMode">
  >;
  /** Without one the heuristic is used. @default none: the heuristic */
  readonly summarizer?: Summarizer | undefined;
  /** Bounds the time of model calls. @from this project */
  readonly clock: Clock;
  /** Ends model calls. What they were for is kept as pending or stays as it is. @from this project */
  readonly signal: AbortSignal;
  /** What the call before this one gave, or stored batches as `{ batch }`. @default none */
  readonly pending?: readonly PendingToolSummary[];
}

/** Edits that leave at most `cutoff` tool results in the recent part: the oldest above it are archived, and one digest message says what they were. */
export function compactToolResultsInRecent(messages: Transcript, cutoff: number): readonly Edit[] {
  return compactRecent(messages, cutoff);
}

const { thresholds: _, ...DOCUMENT_004 } = COMPACTION_SHAPE;

const IN_SESSIONS = "open a session, which has an option for it";
const OF_SESSIONS = "leave it out: a session says it";

const checkInput = optionsCheck({
  ...gone({ pins: IN_SESSIONS, redaction: IN_SESSIONS, autoContinue: IN_SESSIONS, model: IN_SESSIONS }),
  ...gone({ keep: OF_SESSIONS, estimate: OF_SESSIONS, tailTokens: "give settings.keepRecentTokens" }),
  ...gone({ overflow: OF_SESSIONS, profile: OF_SESSIONS, compactAt: "give settings.reserveTokens" }),
  transcript: required(rule("a transcript", Array.isArray)),
  trigger: required(oneOf("threshold", "overflow", "context_limit_recovery", "manual")),
  settings: objectOf(DOCUMENT_004),
  limits: objectOf(LIMITS_SHAPE),
  representation: oneOf("pivot", "user-summary"),
  summarizer: SUMMARIZER_RULE,
});

const COMPACT_SHAPE = {
  ...gone({ sessionId: OF_SESSIONS, afterFailure: OF_SESSIONS, hookStrikes: OF_SESSIONS }),
  at: required(rule("milliseconds since 1970", Number.isFinite)),
  signal: abortSignal,
  onEvent: callback,
  hooks: HOOKS_RULE,
} satisfies Shape<CompactOptions>;

const checkSummarize = optionsCheck({
  ...gone({ waitMs: "leave it out: what is on its way is taken by the next call" }),
  ...COMPACT_PORTS_SHAPE,
  settings: required(objectOf(DOCUMENT_004)),
  signal: required(abortSignal),
  pending: listOf(rule("what the call before this one gave", isObject)),
} satisfies Shape<MaybeSummarizeOptions>);
