import type { SessionHook } from "../compaction/ask.ts";
import {
  COMPACT_PORTS_SHAPE,
  HOOKS_RULE,
  PINS_RULE,
  REDACTION_RULE,
  SUMMARIZER_RULE,
} from "../compaction/ports/option-rules.ts";
import type { Clock, Summarizer, SummarizerModel } from "../compaction/ports/summarizer.ts";
import type { Representation } from "../compaction/summary/message.ts";
import type { Pin } from "../compaction/summary/pins.ts";
import type { SecretRedaction } from "../compaction/summary/text.ts";
import { COMPACT_AT_RULE, type CompactAt } from "../compaction/trigger/compact-at.ts";
import {
  LIMITS_SHAPE,
  type ModelLimits,
  OVERFLOW_SHAPE,
  type OverflowSettings,
} from "../compaction/trigger/overflow.ts";
import {
  COMPACTION_SHAPE,
  type CompactionSettings,
  DEFAULT_COMPACTION_SETTINGS,
  type GivenCompactionSettings,
  readCompactionSettings,
} from "../compaction/trigger/should-compact.ts";
import { CACHE_PROFILE_RULE, type CacheProfile } from "../models/cache-profile.ts";
import { MODEL_ROWS_RULE, type ModelRow } from "../models/model-row.ts";
import {
  callback,
  check,
  either,
  listOf,
  methods,
  numberFrom,
  objectOf,
  oneOf,
  type Problem,
  recordOf,
  type Shape,
  text,
  throwProblems,
  wholeFrom,
} from "../text/check.ts";
import { asObject, isObject, omitUndefined } from "../text/json.ts";
import type { TokenEstimator } from "../text/tokens/estimate-tokens.ts";
import {
  completeToolOutputLimits,
  DEFAULT_TOOL_OUTPUT_LIMITS,
  TOOL_OUTPUT_LIMIT_SHAPE,
  type ToolOutputLimits,
} from "../tool-output/limits.ts";
import type { SpillStore } from "../tool-output/spill.ts";
import type { Edit } from "../transcript/edit.ts";
import { MODEL_RULE, type ModelRef, type Transcript } from "../transcript/message.ts";
import type { Journal } from "./journal.ts";
import type { SessionEvent } from "./log.ts";
import { SUMMARY_PRICES_SHAPE, type SummaryPrices } from "./metered-summarizer.ts";
import { PRUNE_RULE, type ResolvedPrune, resolvePrune, type SessionPruneOptions } from "./prune.ts";
import { RECALL_MAX_CHARS } from "./recall.ts";

/** How a session behaves; everything has a default. */
export interface SessionOptions {
  /** `default`: what measurements chose. `documented`: exactly the published settings and formulas. @default default */
  readonly profile?: SessionProfile;
  /** Names the session to hooks. @default unset */
  readonly sessionId?: string;
  /**
   * The model that is asked next; taken from the first answer when unset. As long as no answer names one, thoughts behind
   * an edit are not sent.
   * @default from the first answer
   */
  readonly model?: ModelRef;
  /**
   * What the model accepts. Without a model, `compaction.maxTokens` (8,000 tokens) is the limit until a refusal names the
   * window.
   * @default what is known of the model
   */
  readonly limits?: Partial<ModelLimits>;
  /** Facts about models, which count before those that are built in: windows, prices, caches. @default those that are built in */
  readonly models?: readonly ModelRow[];
  /** When the window is compacted, how much of it stays, and how old tool results are summed up. */
  readonly compaction?: GivenCompactionSettings;
  /**
   * Where the window is compacted, if not only when it is full: `{ fraction: 0.7 }` of the model's window, or
   * `{ tokens: 60_000 }`, system prompt and tools included. Never later than at the limit that holds without it; a
   * fraction counts once the window is known.
   * @default at the limit
   */
  readonly compactAt?: CompactAt;
  /** How reported usage is compared with the model's window. */
  readonly overflow?: Partial<OverflowSettings>;
  /** As which messages a summary stands in the window. @default pivot */
  readonly representation?: Representation;
  /**
   * Tokens of the newest messages that stay word for word behind a pivot; 0 keeps none. When unset: what
   * `compaction.keepRecentTokens` or `keepRecent` says, or else a quarter of the usable window.
   * @default as compaction says, else a quarter of the usable window
   */
  readonly tailTokens?: number;
  /** The model that writes summaries, its limits, and what it is told (`system`, `instructions`). @default the driver's choice */
  readonly summarizer?: SummarizerModel;
  /** What the model that writes summaries costs, in USD for a million tokens; then `summary_usage` says what each call cost. @default unknown */
  readonly summaryPrices?: SummaryPrices;
  /**
   * What stays visible to the model whatever is compacted, beside messages that the user marked with `#pin`. A `text` is
   * put into the window by the first compaction; until then say it in the system prompt or a message.
   * @default none
   */
  readonly pins?: readonly Pin[];
  /** Whether the model is told to go on after a compaction in the middle of its work. @default as-needed */
  readonly autoContinue?: "as-needed" | "never";
  /** How old work leaves the window without a model; `off`: only after a refusal. @default by line; documented: cleared by size */
  readonly prune?: SessionPruneOptions | "off";
  /** What caching costs; by the model's name when unset. @default by the model's name */
  readonly cache?: CacheProfile;
  /** Requests that are expected to follow: what an edit saves on them is compared with what it costs. @default 12 */
  readonly expectedTurns?: number;
  /** Limits of a tool output as it comes in, over the defaults; 0 turns one off, `off` all of them. */
  readonly toolOutput?: Partial<ToolOutputLimits> | "off";
  /** What single tools want otherwise, by name: `{ maxChars }` bounds their outputs, `{ keep: "always" }` keeps them before the model word for word. @default none */
  readonly perTool?: ToolPolicies;
  /**
   * Stages of your own, as `carryover/stages` has them: functions, also async, that are given the messages which the model
   * sees and return edits. Called in order, once for each change of the messages; each one's edits can be undone.
   * @default none
   */
  readonly stages?: readonly SessionStage[];
  /** How tokens are estimated where the provider has not counted them. @default calibrated; documented: documented */
  readonly estimator?: TokenEstimator;
  /** Characters of the system prompt, where that is no message. @default 0 */
  readonly systemChars?: number;
  /** Characters of the tool definitions. @default 0 */
  readonly toolsChars?: number;
  /**
   * `on`: a summary that will soon be needed is written while requests go on, and nobody waits for it while the window
   * fits.
   * @default on; documented: off
   */
  readonly backgroundCompaction?: "on" | "off";
  /** How secrets are found in what is summarized and recalled; `off` leaves them in. @default on, with the built-in rules */
  readonly redaction?: SecretRedaction;
  /** `on`: secrets are taken out of tool outputs that are bounded as they come in. @default off */
  readonly redactOutputs?: "on" | "off";
  /** How many characters a recall gives at most. @default 8,000 */
  readonly recallMaxChars?: number;
  /** The same for what is recalled alone; `off` gives a model back what it has seen before as it was. @default as redaction */
  readonly recallRedaction?: SecretRedaction;
  /** The name of the tool that recalls, for notices about what was left out; a function is asked each time. @default none */
  readonly recallTool?: string | (() => string | undefined);
  /** Called for every event, in order. What it throws is ignored. @default none */
  readonly onEvent?: (event: SessionEvent) => void;
}

/** Which table of defaults and which formulas a session uses. */
export type SessionProfile = "default" | "documented";

/** What a session needs from the world. Without a summarizer everything is done mechanically. */
export interface SessionPorts {
  /** The present time, and waiting. */
  readonly clock: Clock;
  /** Writes summaries. @default none: summaries are made mechanically */
  readonly summarizer?: Summarizer;
  /** Keeps every edit; without one nothing outlives the session object. @default none */
  readonly journal?: Journal;
  /** Keeps the whole text of outputs that are too long. @default none: only the messages given to the session have the whole */
  readonly spills?: SpillStore;
  /** May add to, replace or veto what a compaction asks for. @default none */
  readonly hooks?: readonly SessionHook[];
}

/** The options with every default filled in. */
export interface ResolvedSessionOptions
  extends Omit<SessionOptions, Defaulted>,
    Required<Pick<SessionOptions, Defaulted>> {
  readonly limits: Partial<ModelLimits>;
  readonly settings: CompactionSettings;
  /** The tail of a pivot: in tokens, by the settings, or by the usable window when undefined. */
  readonly tail: number | "as-settings" | undefined;
  /** Undefined when no output is bounded. */
  readonly outputLimits: ToolOutputLimits | undefined;
  /** Undefined when nothing is pruned. */
  readonly pruning: ResolvedPrune | undefined;
  /** Tools whose outputs stay whatever goes. */
  readonly keptTools: readonly string[];
}

/** The options completed with the defaults of their profile; throws one error that lists every problem, of the ports too. */
export function readSessionOptions(options: SessionOptions, ports?: unknown): ResolvedSessionOptions {
  throwProblems([
    ...(ports === undefined ? [] : check(PORTS_SHAPE, ports, ["ports"])),
    ...check(SESSION_SHAPE, options),
    ...findConflicts(Object(options)),
  ]);
  const given = onlyGiven(options);
  const { profile = "default" } = given;
  const { compaction: settings, toolOutput: outputs, ...defaults } = PROFILES[profile];
  const known = { ...defaults, ...given };
  const { compaction, toolOutput = outputs, prune } = known;
  const isKeepGiven = compaction?.keepRecentTokens !== undefined || compaction?.keepRecent !== undefined;
  return {
    ...known,
    ...omitUndefined({ toolOutput }),
    limits: known.limits,
    // A number of messages alone means that they are counted, not their tokens.
    settings: readCompactionSettings(
      compaction?.keepRecent === undefined ? compaction : { keepRecentTokens: 0, ...compaction },
      settings,
    ),
    tail: given.tailTokens ?? (isKeepGiven ? "as-settings" : undefined),
    outputLimits: toolOutput === "off" ? undefined : completeToolOutputLimits(toolOutput),
    pruning: prune === "off" ? undefined : resolvePrune(prune, profile),
    keptTools: keptToolsOf(known),
  };
}

/** The options that are set, and what is set in each: an option that is `undefined` is one that is not given. */
function onlyGiven(options: SessionOptions): SessionOptions {
  const set = Object.entries(omitUndefined(options)).map(([name, value]) => [
    name,
    isObject(value) ? omitUndefined(value) : value,
  ]);
  return Object.fromEntries(set);
}

/** The document protects from pruning alone; everybody else who names a tool means that its outputs stay. */
function keptToolsOf({ profile, perTool = {}, prune }: SessionOptions): readonly string[] {
  const kept = Object.keys(perTool).filter((tool) => perTool[tool]?.keep === "always");
  const isAlike = profile !== "documented" && typeof prune === "object";
  return [...kept, ...((isAlike ? prune.protectedTools : undefined) ?? [])];
}

type Defaulted =
  | "profile"
  | "limits"
  | "representation"
  | "expectedTurns"
  | "estimator"
  | "backgroundCompaction"
  | "redaction"
  | "recallMaxChars";

interface ProfileDefaults extends Required<Pick<SessionOptions, Defaulted>> {
  readonly compaction: CompactionSettings;
  /** Undefined: the documented limits within shares of the window. */
  readonly toolOutput: ToolOutputLimits | undefined;
}

const DEFAULTS = {
  limits: {},
  representation: "pivot",
  expectedTurns: 12,
  redaction: {},
  recallMaxChars: RECALL_MAX_CHARS,
} as const;

/** What a session does where its options say nothing. How it prunes is in `resolvePrune`. */
const PROFILES: Readonly<Record<SessionProfile, ProfileDefaults>> = {
  default: {
    ...DEFAULTS,
    profile: "default",
    backgroundCompaction: "on",
    estimator: "calibrated",
    toolOutput: undefined,
    // Summing up a few results at a time would break the provider's cache every few steps.
    compaction: {
      ...DEFAULT_COMPACTION_SETTINGS,
      toolSummaryStrategy: "off",
      toolSummaryMode: "background",
    },
  },
  documented: {
    ...DEFAULTS,
    profile: "documented",
    backgroundCompaction: "off",
    estimator: "documented",
    toolOutput: DEFAULT_TOOL_OUTPUT_LIMITS,
    compaction: DEFAULT_COMPACTION_SETTINGS,
  },
};

/** Options that are right on their own and have no effect together. */
export function findConflicts(options: SessionOptions): readonly Problem[] {
  const { profile, representation, tailTokens, prune, compactAt } = options;
  const { keepRecent, keepRecentTokens, autoCompact } = asObject(options.compaction);
  const found: Problem[] = [];
  const refuse = (name: string, why: string): void => {
    found.push({ path: [name], text: `${name} has no effect ${why}` });
  };
  if (tailTokens !== undefined && representation === "user-summary")
    refuse("tailTokens", "on a user summary; give compaction.keepRecentTokens");
  else if (tailTokens !== undefined && (keepRecent ?? keepRecentTokens) !== undefined)
    refuse("compaction.keepRecent and keepRecentTokens", "beside tailTokens; give one of them");
  if (compactAt !== undefined && autoCompact === false)
    refuse("compactAt", "with compaction.autoCompact false; leave one of them out");
  if (
    profile === "documented" &&
    prune !== "off" &&
    resolvePrune(Object(prune ?? {}), profile).how === "clear"
  )
    for (const name of ["cache", "expectedTurns"] as const)
      if (options[name] !== undefined)
        refuse(name, 'in the documented profile, which prunes by size alone; set prune.how to "lines"');
  return found;
}

/** Room for the notice that says how much was left out. */
const MIN_RECALL_CHARS = 512;

/** What the options of a session may be. */
export const SESSION_SHAPE: Shape<SessionOptions> = {
  profile: oneOf("default", "documented"),
  sessionId: text,
  model: MODEL_RULE,
  limits: objectOf(LIMITS_SHAPE),
  models: MODEL_ROWS_RULE,
  compaction: objectOf(COMPACTION_SHAPE),
  compactAt: COMPACT_AT_RULE,
  overflow: objectOf(OVERFLOW_SHAPE),
  representation: oneOf("pivot", "user-summary"),
  tailTokens: wholeFrom(0),
  summarizer: SUMMARIZER_RULE,
  summaryPrices: objectOf(SUMMARY_PRICES_SHAPE),
  pins: PINS_RULE,
  autoContinue: oneOf("as-needed", "never"),
  prune: either(oneOf("off"), PRUNE_RULE),
  cache: CACHE_PROFILE_RULE,
  expectedTurns: numberFrom(1),
  toolOutput: either(oneOf("off"), objectOf(TOOL_OUTPUT_LIMIT_SHAPE)),
  perTool: recordOf(
    { expects: "name of a tool", pattern: /\S/ },
    objectOf({ maxChars: TOOL_OUTPUT_LIMIT_SHAPE.maxChars, keep: oneOf("always") }),
  ),
  stages: listOf(callback),
  estimator: either(oneOf("documented", "calibrated"), callback),
  systemChars: numberFrom(0),
  toolsChars: numberFrom(0),
  backgroundCompaction: oneOf("on", "off"),
  redaction: REDACTION_RULE,
  redactOutputs: oneOf("on", "off"),
  recallMaxChars: numberFrom(MIN_RECALL_CHARS),
  recallRedaction: REDACTION_RULE,
  recallTool: either(text, callback),
  onEvent: callback,
};

const PORTS_SHAPE: Shape<SessionPorts> = {
  ...COMPACT_PORTS_SHAPE,
  journal: methods("append", "read"),
  spills: methods("put", "get"),
  hooks: HOOKS_RULE,
};

/** What is wanted for the outputs of one tool. */
export interface ToolPolicy {
  /**
   * Characters of one output that may enter the window, fewer or more than the limits of other outputs allow, but never
   * more than half of the window; 0 for no limit of its own.
   * @default as toolOutput says
   */
  readonly maxChars?: number;
  /**
   * `always`: an output stays before the model word for word, whatever is bounded, pruned, summed up or compacted. All
   * kept outputs together may take four tenths of the window; beyond that the oldest are treated like others, with a
   * warning.
   * @default like other outputs
   */
  readonly keep?: "always";
}

/** Policies by the name of the tool; upper and lower case are the same. */
export type ToolPolicies = Readonly<Record<string, ToolPolicy>>;

/**
 * A stage of your own, or one of `carryover/stages`: is given the messages that the model sees, those that wait for
 * results left out, and says what to change. It must not change them itself.
 */
export type SessionStage = (transcript: Transcript) => readonly Edit[] | Promise<readonly Edit[]>;
