import type { SessionHook } from "../compaction/ask-hooks.ts";
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
  COMPACTION_SHAPE,
  type CompactionSettings,
  completeCompactionSettings,
  DEFAULT_COMPACTION_SETTINGS,
  type GivenCompactionSettings,
} from "../compaction/trigger/compaction-settings.ts";
import {
  LIMITS_SHAPE,
  type ModelLimits,
  OVERFLOW_SHAPE,
  type OverflowSettings,
} from "../compaction/trigger/overflow.ts";
import type { CacheProfile } from "../models/cache-profile.ts";
import { priceOf, writePrice } from "../models/model-price.ts";
import { MODEL_ROWS_RULE, type ModelRow } from "../models/model-row.ts";
import { PRUNE_SHAPE, type PruneOptions } from "../stages/prune.ts";
import {
  type Completed,
  callback,
  check,
  defaultsOf,
  either,
  gone,
  goneRule,
  listOf,
  methods,
  numberFrom,
  objectOf,
  oneOf,
  recordOf,
  type Shape,
  text,
  throwProblems,
  wholeFrom,
  withDefault,
} from "../text/check.ts";
import type { TokenEstimator } from "../text/tokens/estimate-tokens.ts";
import { isObject, omitUndefined } from "../text/unknown-value.ts";
import {
  completeToolOutputLimits,
  DEFAULT_TOOL_OUTPUT_LIMITS,
  OUTPUT_LIMIT_SHAPE,
  TOOL_OUTPUT_LIMIT_SHAPE,
  type ToolOutputLimits,
} from "../tool-output/limits.ts";
import type { OutputStore } from "../tool-output/output-store.ts";
import type { Edit } from "../transcript/edit.ts";
import { MODEL_RULE, type ModelRef, type Transcript } from "../transcript/message.ts";
import type { SessionEvent } from "./events.ts";
import type { Journal } from "./journal.ts";
import type { SummaryPrices } from "./metered-summarizer.ts";
import { type ResolvedPrune, resolvePrune, type SessionPruneOptions } from "./prune.ts";
import { RECALL_MAX_CHARS } from "./recall.ts";

/** How a session behaves; everything has a default. */
export interface SessionOptions extends DocumentedSessionOptions {
  /**
   * `default`: what measurements chose. `documented`: exactly the published settings and formulas.
   * @default default
   * @when you want exactly what the published documents say, to compare or to reproduce
   */
  readonly profile?: SessionProfile;
  /**
   * The model that is asked next; taken from the first answer when unset. As long as no answer names one, thoughts
   * behind an edit are not sent.
   * @default from the first answer
   * @from document 004
   * @when the model is known before its first answer: it decides cache prices and token family
   */
  readonly model?: ModelRef;
  /**
   * What the model accepts. Without a model, 8,000 tokens are the limit until a refusal names the window.
   * @default what is known of the model
   * @from document 003, document 004
   * @when the window is another one than is known; what a refusal names is learned in any case
   */
  readonly limits?: Partial<ModelLimits>;
  /**
   * Facts about models, which count before those that are built in: windows, prices, caches.
   * @default those that are built in
   * @when windows or prices differ, or a model is not in the table
   */
  readonly models?: readonly ModelRow[];
  /**
   * When the window is compacted, if not only when it is full: at `{ fraction: 0.7 }` of the model's window, at
   * `{ tokens: 60_000 }`, system prompt and tools included, or `"never"` by itself. Never later than when it is full;
   * a fraction counts once the window is known. The documented profile has settings of its own.
   * @default when it is full
   * @when requests shall stay small, answers get worse long before the window is full, or only a person decides
   */
  readonly compactAt?: CompactAt | "never";
  /**
   * How much stays: tokens of the newest messages that a compaction leaves word for word; 0 keeps none. The
   * documented profile has settings of its own.
   * @default a quarter of the usable window
   * @from document 003
   * @when more or less of the newest work has to stay word for word
   */
  readonly keepTokens?: number;
  /**
   * The model that writes summaries, its limits, and what it is told (`system`, `instructions`).
   * @default the driver's choice
   * @from document 003
   * @when another, cheaper model writes summaries, so that its window is known
   */
  readonly summarizer?: SummarizerModel;
  /**
   * What stays visible to the model whatever is compacted, beside messages that the user marked with `#pin`. A `text`
   * is put into the window by the first compaction; until then say it in the system prompt or a message.
   * @default none
   * @when something must survive every compaction word for word
   */
  readonly pins?: readonly Pin[];
  /**
   * Whether the model is told to go on after a compaction in the middle of its work.
   * @default as-needed
   * @from document 003
   * @when your loop asks the model to go on by itself
   */
  readonly autoContinue?: "as-needed" | "never";
  /**
   * How old work leaves the window without a model; `off`: only after a refusal. The documented profile takes its
   * thresholds here, too.
   * @default by line; documented: cleared by size
   * @from document 003; lines: measured, decision 0022
   * @when nothing may leave the window without a summary (`off`)
   */
  readonly prune?: DocumentedPruneOptions | "off";
  /**
   * Limits of a tool output as it comes in, over the defaults; 0 turns one off, `off` all of them. The last two are for
   * the documented profile.
   * @default `DEFAULT_TOOL_OUTPUT_LIMITS`, within shares of the window; documented: as they are
   * @from document 004
   * @when outputs are trimmed elsewhere (`off`), or your tools print more that matters
   */
  readonly toolOutput?: Partial<ToolOutputLimits> | "off";
  /**
   * What single tools want otherwise, by name: `{ maxChars }` trims their outputs, `{ keep: "always" }` keeps them
   * before the model word for word.
   * @default none
   * @when the outputs of a tool must stay, or need less or more room than others
   */
  readonly perTool?: ToolPolicies;
  /**
   * Stages of your own, as `carryover/stages` has them: functions, also async, that are given the messages which the
   * model sees and return edits. Called in order, once for each change of the messages; each one's edits can be
   * undone.
   * @default none
   * @when something of your product must not reach the model, or not for long
   */
  readonly stages?: readonly SessionStage[];
  /**
   * How tokens are estimated where the provider has not counted them.
   * @default calibrated; documented: documented
   * @from documented: document 004; calibrated: decision 0003
   * @when you have a tokenizer of your own: give a function
   */
  readonly estimator?: TokenEstimator;
  /**
   * Characters of the system prompt, where that is no message.
   * @default 0
   * @from document 004
   * @when the system prompt is no message of the transcript
   */
  readonly systemChars?: number;
  /** Characters of the tool definitions. @default 0 @from document 004 @when tools are sent beside the messages */
  readonly toolsChars?: number;
  /**
   * `on`: a summary that will soon be needed is written while requests go on, and is waited for when the compaction
   * is due.
   * @default on; documented: off
   * @from decision 0033
   * @when every token counts and nobody minds waiting, or the summarizer is the same single-slot server
   */
  readonly backgroundCompaction?: "on" | "off";
  /**
   * How secrets are found in what is summarized and recalled; `off` leaves them in.
   * @default on, with the built-in rules
   * @from document 003
   * @when you have secrets of your own form (`extraRules`), or need them in summaries (`off`)
   */
  readonly redaction?: SecretRedaction;
  /**
   * The name of the tool that recalls, for notices about what was left out; a function is asked each time.
   * @default none
   * @when the model has a tool that recalls
   */
  readonly recallTool?: string | (() => string | undefined);
  /**
   * Called for every event, in order. What it throws is ignored.
   * @default none
   * @from document 004
   * @when you show progress, or log
   */
  readonly onEvent?: (event: SessionEvent) => void;
}

/** What the documents name, and only `profile: "documented"` takes. */
interface DocumentedSessionOptions {
  /**
   * When the window is compacted, how much of it stays, and how old tool results are summed up.
   * @default `DEFAULT_COMPACTION_SETTINGS`
   * @from document 004
   * @when a window is compacted too early, too late, or keeps too little
   */
  readonly compaction?: DocumentedCompactionSettings;
  /**
   * How reported usage is compared with the model's window.
   * @default each its own
   * @from document 003
   * @when the provider counts differently
   */
  readonly overflow?: Partial<OverflowSettings>;
  /**
   * As which messages a summary stands in the window.
   * @default pivot
   * @from pivot: document 003; user-summary: document 004
   * @when a provider or a host wants the summary as the user's words
   */
  readonly representation?: Representation;
}

/** The settings of document 004. */
type DocumentedCompactionSettings = Omit<GivenCompactionSettings, "thresholds">;

/** The thresholds of document 003. */
type DocumentedPruneOptions = Omit<PruneOptions, "estimate">;

/** Which table of defaults and which formulas a session uses. */
export type SessionProfile = "default" | "documented";

/** What a session needs from the world. Without a summarizer everything is done without a model. */
export interface SessionPorts {
  /** The present time, and waiting. @when tests have a clock of their own */
  readonly clock: Clock;
  /** Writes summaries. @default none: summaries are made without a model @when always, if a model can be asked */
  readonly summarizer?: Summarizer;
  /**
   * Keeps every edit; without one nothing outlives the session object.
   * @default none
   * @when the session has to survive a restart
   */
  readonly journal?: Journal;
  /**
   * Keeps the whole text of outputs that are too long.
   * @default none: only the messages given to the session have the whole
   * @when those messages are not kept, and cut outputs shall be read again
   */
  readonly outputs?: OutputStore;
  /**
   * May add to, replace or veto what a compaction asks for.
   * @default none
   * @from document 003
   * @when an extension adds to a summary, replaces its prompt, or forbids it
   */
  readonly hooks?: readonly SessionHook[];
}

/** What the engine reads: the options with every default filled in, and the constants that no option sets. */
export interface ResolvedSessionOptions
  extends Omit<Completed<SessionOptions, Defaulted>, "compaction" | "compactAt" | "keepTokens" | "prune">,
    Pick<EngineSettings, "cache" | "recallRedaction"> {
  readonly compactAt?: CompactAt;
  /** Edits are weighed over so many of the next requests. */
  readonly expectedTurns: number;
  /** How many characters a recall gives at most. */
  readonly recallMaxChars: number;
  /** What the model that writes summaries costs, where that is known. */
  readonly summaryPrices?: SummaryPrices;
  readonly settings: CompactionSettings;
  /** The tail of a pivot: in tokens, by the settings, or by the usable window when undefined. */
  readonly tail: number | "as-settings" | undefined;
  /** Undefined when no output is trimmed. */
  readonly outputLimits: ToolOutputLimits | undefined;
  /** Undefined when nothing is pruned. */
  readonly pruning: ResolvedPrune | undefined;
  /** Tools whose outputs stay whatever goes. */
  readonly keptTools: readonly string[];
}

type Defaulted =
  | "profile"
  | "limits"
  | "autoContinue"
  | "representation"
  | "estimator"
  | "backgroundCompaction"
  | "redaction";

/** What hosts of ours and tests set below the door, beside the options. */
export interface EngineSettings {
  readonly compaction?: GivenCompactionSettings;
  readonly overflow?: Partial<OverflowSettings>;
  readonly representation?: Representation;
  readonly prune?: SessionPruneOptions | "off";
  readonly toolOutput?: Partial<ToolOutputLimits> | "off";
  readonly cache?: CacheProfile;
  readonly expectedTurns?: number;
  readonly recallRedaction?: SecretRedaction;
}

/** The options completed with the defaults of their profile; throws one error that lists every problem, of the ports too. */
export function readSessionOptions(options: SessionOptions, ports?: unknown): ResolvedSessionOptions {
  throwProblems([
    ...(ports === undefined ? [] : check(PORTS_SHAPE, ports, ["ports"])),
    ...check(sessionShape(options), options),
  ]);
  return resolve(onlyGiven(options), onlyGiven(BELOW.get(options) ?? {}));
}

/** The same options, with settings that no option sets. */
export function withEngineSettings(options: SessionOptions, settings: EngineSettings): SessionOptions {
  const both = { ...options };
  BELOW.set(both, settings);
  return both;
}

/** What was set below the door, by the object that holds the options. */
const BELOW = new WeakMap<object, EngineSettings>();

function resolve(given: SessionOptions, below: EngineSettings): ResolvedSessionOptions {
  const { compactAt, keepTokens, ...options } = given;
  const known = { ...defaultsOf(sessionShape(given)), expectedTurns: EXPECTED_TURNS, ...options, ...below };
  const { profile, prune, toolOutput } = known;
  const compaction = { ...given.compaction, ...below.compaction };
  const isKeepGiven = compaction.keepRecentTokens !== undefined || compaction.keepRecent !== undefined;
  return {
    ...known,
    ...(compactAt !== undefined && compactAt !== "never" && { compactAt }),
    ...omitUndefined({ summaryPrices: summaryPrices(given) }),
    recallMaxChars: RECALL_MAX_CHARS,
    settings: completeCompactionSettings(
      {
        // A number of messages alone means that they are counted, not their tokens.
        ...(compaction.keepRecent !== undefined && { keepRecentTokens: 0 }),
        ...(compactAt === "never" && { autoCompact: false }),
        ...compaction,
      },
      profile === "documented" ? DEFAULT_COMPACTION_SETTINGS : DEFAULT_SETTINGS,
    ),
    tail: keepTokens ?? (isKeepGiven ? "as-settings" : undefined),
    outputLimits: toolOutput === "off" ? undefined : completeToolOutputLimits(toolOutput),
    pruning: prune === "off" ? undefined : resolvePrune(prune, profile),
    keptTools: keptTools(given),
  };
}

/** The lifetime over which edits are weighed, in requests. */
const EXPECTED_TURNS = 12;

/** What the default profile does where nothing is said: summing up a few results at a time would break the provider's cache every few steps. */
const DEFAULT_SETTINGS: CompactionSettings = {
  ...DEFAULT_COMPACTION_SETTINGS,
  toolSummaryStrategy: "off",
  toolSummaryMode: "background",
};

/** The options that are set, and what is set in each: an option that is `undefined` is one that is not given. */
function onlyGiven<Options extends object>(options: Options): Options {
  const set = Object.entries(omitUndefined(options)).map(([name, value]) => [
    name,
    isObject(value) ? omitUndefined(value) : value,
  ]);
  return Object.fromEntries(set) as Options;
}

/** What the model that writes summaries costs, where that is known. */
function summaryPrices({ model, summarizer, models }: SessionOptions): SummaryPrices | undefined {
  const writer = summarizer?.model ?? model;
  const price = writer && priceOf(writer, omitUndefined({ rows: models }));
  if (price === undefined) return undefined;
  const { input, output, cacheRead } = price;
  return { input, output, cacheRead, cacheWrite: writePrice(price) };
}

function keptTools({ perTool = {} }: SessionOptions): readonly string[] {
  return Object.keys(perTool).filter((tool) => perTool[tool]?.keep === "always");
}

/** What both profiles take. */
const SHARED_SHAPE = {
  profile: withDefault(oneOf("default", "documented"), "default"),
  model: MODEL_RULE,
  limits: withDefault(objectOf(LIMITS_SHAPE), {}),
  models: MODEL_ROWS_RULE,
  summarizer: SUMMARIZER_RULE,
  pins: PINS_RULE,
  autoContinue: withDefault(oneOf("as-needed", "never"), "as-needed"),
  perTool: recordOf(
    { expects: "name of a tool", pattern: /\S/ },
    objectOf({ maxChars: TOOL_OUTPUT_LIMIT_SHAPE.maxChars, keep: oneOf("always") }),
  ),
  stages: listOf(callback),
  estimator: withDefault(either(oneOf("documented", "calibrated"), callback), "calibrated"),
  systemChars: numberFrom(0),
  toolsChars: numberFrom(0),
  backgroundCompaction: withDefault(oneOf("on", "off"), "on"),
  redaction: withDefault(REDACTION_RULE, {}),
  recallTool: either(text, callback),
  onEvent: callback,
} satisfies Partial<Shape<SessionOptions>>;

/** What were options once, and what to give instead. */
const GONE = gone({
  sessionId: "leave it out: hooks are given to one session",
  tailTokens: "give keepTokens",
  cache: "give a row of models with the cache and the prices",
  expectedTurns: "leave it out: edits are weighed over the next 12 requests",
  redactOutputs: "give redactTranscript() of carryover/stages in stages",
  recallMaxChars: "leave it out: a recall gives at most 8,000 characters",
  recallRedaction: "give redaction",
  summaryPrices: "give a row of models with the prices",
});

const AS_DOCUMENTED = 'or profile "documented"';
const WHEN = `give compactAt, ${AS_DOCUMENTED}`;
const HOW_MUCH = `give keepTokens, ${AS_DOCUMENTED}`;
const BY_LINE = `leave it out: old results leave by line; ${AS_DOCUMENTED}`;
const KEPT = 'give perTool, such as { name: { keep: "always" } }';

/** What the options of a session may be. */
const SESSION_SHAPE: Shape<SessionOptions, Defaulted> = {
  ...GONE,
  ...SHARED_SHAPE,
  compactAt: either(oneOf("never"), COMPACT_AT_RULE),
  keepTokens: wholeFrom(0),
  prune: either(
    oneOf("off"),
    goneRule('give "off"', {
      ...{ how: BY_LINE, highTokens: BY_LINE, lowTokens: BY_LINE, protectTurns: BY_LINE },
      ...{ protectResults: KEPT, protectedTools: KEPT, protectTokens: BY_LINE, minimumTokens: BY_LINE },
    }),
  ),
  toolOutput: either(oneOf("off"), objectOf(OUTPUT_LIMIT_SHAPE)),
  representation: withDefault(
    goneRule(`leave it out: a summary is a message of its own; ${AS_DOCUMENTED}`),
    "pivot",
  ),
  compaction: goneRule(`${WHEN}; how much stays is keepTokens`, {
    ...{ maxMessages: WHEN, maxTokens: WHEN, reserveTokens: WHEN, thresholds: "give compactAt" },
    ...{ keepRecent: HOW_MUCH, keepRecentTokens: HOW_MUCH },
    toolCallCutoff: `call change({ type: "set-cutoff" }) of the session, ${AS_DOCUMENTED}`,
    toolSummaryStrategy: `call change({ type: "set-strategy" }) of the session, ${AS_DOCUMENTED}`,
    toolSummaryMode: `leave it out: nobody waits for tool summaries; ${AS_DOCUMENTED}`,
    autoCompact: `give compactAt "never", ${AS_DOCUMENTED}`,
  }),
  overflow: goneRule(`leave it out, ${AS_DOCUMENTED}`, {
    auto: `give compactAt "never", ${AS_DOCUMENTED}`,
    outputCapTokens: `give limits.outputTokens, ${AS_DOCUMENTED}`,
    reservedTokens: `give compactAt, ${AS_DOCUMENTED}`,
    formula: `leave it out, ${AS_DOCUMENTED}`,
  }),
};

const { thresholds: _, ...DOCUMENT_004 } = COMPACTION_SHAPE;
const { estimate: __, ...DOCUMENT_003 } = PRUNE_SHAPE;

/** What they may be in the documented profile: its words for when and how much are those of the documents. */
const DOCUMENTED_SHAPE: Shape<SessionOptions, Defaulted> = {
  ...GONE,
  ...SHARED_SHAPE,
  estimator: { ...SHARED_SHAPE.estimator, default: "documented" },
  backgroundCompaction: { ...SHARED_SHAPE.backgroundCompaction, default: "off" },
  compactAt: goneRule("give compaction.reserveTokens, or compaction.autoCompact false"),
  keepTokens: goneRule("give compaction.keepRecentTokens"),
  prune: either(oneOf("off"), objectOf(DOCUMENT_003)),
  toolOutput: withDefault(
    either(oneOf("off"), objectOf(TOOL_OUTPUT_LIMIT_SHAPE)),
    DEFAULT_TOOL_OUTPUT_LIMITS,
  ),
  representation: withDefault(oneOf("pivot", "user-summary"), "pivot"),
  compaction: objectOf(DOCUMENT_004),
  overflow: objectOf(OVERFLOW_SHAPE),
};

/** What the options may be in the profile that they name. */
export function sessionShape(options: unknown): Shape<SessionOptions, Defaulted> {
  return profileOf(options) === "documented" ? DOCUMENTED_SHAPE : SESSION_SHAPE;
}

function profileOf(options: unknown): unknown {
  try {
    return Object(options).profile;
  } catch {
    // A getter that throws is a problem of its own.
    return undefined;
  }
}

const PORTS_SHAPE: Shape<SessionPorts> = {
  ...gone({ spills: "give outputs" }),
  ...COMPACT_PORTS_SHAPE,
  journal: methods("append", "read"),
  outputs: methods("put", "get"),
  hooks: HOOKS_RULE,
};

/** What is wanted for the outputs of one tool. */
export interface ToolPolicy {
  /**
   * Characters of one output that may enter the window, fewer or more than the limits of other outputs allow, but
   * never more than half of the window; 0 for no limit of its own.
   * @default as `toolOutput` says
   * @when a tool prints too much, or is cut too early
   */
  readonly maxChars?: number;
  /**
   * `always`: an output stays before the model word for word, whatever is trimmed, pruned, summed up or compacted. All
   * kept outputs together may take four tenths of the window; beyond that the oldest are treated like others, with a
   * warning.
   * @default like other outputs
   * @when the model must have an output before it for good
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
