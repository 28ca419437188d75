import {
  aNumber,
  anything,
  defaultsOf,
  flag,
  oneOf,
  optionsCheck,
  type Rule,
  recordOf,
  required,
  rule,
  type Shape,
  wholeFrom,
  withDefault,
} from "../../text/check.ts";
import { asObject, isObject, omitUndefined } from "../../text/unknown-value.ts";
import type { ModelRef } from "../../transcript/message.ts";
import {
  COMPACT_AT_RULE,
  type CompactAt,
  compactAtTokens,
  THRESHOLD_RULE,
  type Threshold,
  thresholdTokens,
} from "./compact-at.ts";
import { mostReserveTokens } from "./overflow.ts";

/**
 * Whether a compaction is due by the estimate of the context, and why. Asked after every turn and again before every call;
 * the answer depends on the arguments alone. The limit comes from the settings and the model's window
 * (`effectiveTokenLimit`); what has to be remembered between turns is a `TriggerState`. Overflow by the provider's own
 * count is in `overflow.ts`.
 */
export function shouldCompact(situation: Situation): CompactDecision {
  checkSituation(situation);
  const limit = effectiveTokenLimit(situation.settings, situation);
  const decide = (reason: CompactReason): CompactDecision => ({
    compact: DUE.has(reason),
    reason,
    limit,
    contextTokens: situation.contextTokens,
    keepRecentTokens: effectiveKeepRecentTokens(situation.settings, limit),
  });

  const { settings, demand = "none" } = situation;
  if (demand === "manual") return decide("manual");
  if (!settings.autoCompact) return decide("auto-off");
  if (demand === "recovery") return decide("recovery");

  const reason = thresholdReason(situation, limit);
  if (!DUE.has(reason)) return decide(reason);
  const { coolDownThroughTurn = -1 } = situation.state ?? FRESH_TRIGGER;
  return decide(
    (situation.turn ?? Number.POSITIVE_INFINITY) <= coolDownThroughTurn ? "cooling-down" : reason,
  );
}

/** What `shouldCompact` decides by. */
export interface Situation extends ModelWindow {
  readonly settings: CompactionSettings;
  /** The estimate of the context as it is now. */
  readonly contextTokens: number;
  /** The epoch that the estimate describes; an older one than the state's is ignored. */
  readonly contextEpoch?: number;
  /** Messages the model sees; hidden ones do not count. */
  readonly visibleMessages: number;
  /** The number of the turn that is running; turns count upwards by one. */
  readonly turn?: number;
  readonly state?: TriggerState;
  /** `manual`: a person asks; `recovery`: the provider refused the request. */
  readonly demand?: "none" | "manual" | "recovery";
}

/** Whether to compact, the reason, and the limit that was applied. */
export interface CompactDecision {
  readonly compact: boolean;
  readonly reason: CompactReason;
  readonly limit: TokenLimit;
  readonly contextTokens: number;
  /** How much of the newest part stays, with the clamp applied. */
  readonly keepRecentTokens: number;
}

export type CompactReason =
  | "manual"
  | "recovery"
  | "over-limit"
  | "over-messages"
  | "auto-off"
  | "under-limit"
  | "under-messages"
  | "stale-estimate"
  | "cooling-down";

const DUE: ReadonlySet<CompactReason> = new Set(["manual", "recovery", "over-limit", "over-messages"]);

function thresholdReason(situation: Situation, { limitTokens }: TokenLimit): CompactReason {
  const { settings, contextTokens, visibleMessages } = situation;
  if (limitTokens === undefined) {
    return settings.maxMessages > 0 && visibleMessages >= settings.maxMessages
      ? "over-messages"
      : "under-messages";
  }
  const { epoch } = situation.state ?? FRESH_TRIGGER;
  if ((situation.contextEpoch ?? epoch) < epoch) return "stale-estimate";
  return contextTokens >= limitTokens ? "over-limit" : "under-limit";
}

/** What the trigger remembers between turns: plain data, so that it can be stored with the session. */
export interface TriggerState {
  /** Counts the changes of the context; an estimate of an earlier epoch describes a context that is gone. */
  readonly epoch: number;
  /** No automatic compaction up to and including this turn. */
  readonly coolDownThroughTurn?: number;
}

/** The state of a session that was never compacted. */
export const FRESH_TRIGGER: TriggerState = { epoch: 0 };

/** Turns without automatic compaction after one that freed too little. */
export const COOL_DOWN_TURNS = 3;

/** The share of the limit that a compaction has to free. */
const USEFUL_SHARE = 0.1;

/** The state after a compaction, with a warning when it freed so little that the next ones have to wait. */
export function afterCompaction(state: TriggerState, result: CompactionGain): TriggerUpdate {
  const freedTokens = result.tokensBefore - result.tokensAfter;
  const epoch = state.epoch + 1;
  const { limitTokens } = result.limit;
  if (limitTokens === undefined || freedTokens >= limitTokens * USEFUL_SHARE) return { state: { epoch } };
  const coolDownThroughTurn = result.turn + COOL_DOWN_TURNS;
  return {
    state: { epoch, coolDownThroughTurn },
    warning: { type: "compaction-gained-little", freedTokens, limitTokens, coolDownThroughTurn },
  };
}

/** The state after any other change of the context: a prune, an archive, a switch of model. */
export function afterContextChange(state: TriggerState): TriggerState {
  return { ...state, epoch: state.epoch + 1 };
}

interface CompactionGain {
  readonly turn: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly limit: Pick<TokenLimit, "limitTokens">;
}

interface TriggerUpdate {
  readonly state: TriggerState;
  readonly warning?: {
    readonly type: "compaction-gained-little";
    readonly freedTokens: number;
    readonly limitTokens: number;
    readonly coolDownThroughTurn: number;
  };
}

/** What a person may ask about the trigger: all settings, the window, the limit and how full the context is. */
export interface TriggerStatus extends TokenLimit {
  readonly settings: CompactionSettings;
  readonly contextWindowTokens: number;
  /** The estimate of the context as it is now. */
  readonly tokens: number;
}

/**
 * The number of tokens at which a conversation is compacted, and where that number comes from.
 * An unknown window (0) gives the fallback or no limit, never one that is always exceeded.
 */
export function effectiveTokenLimit(settings: LimitSettings, window: number | ModelWindow): TokenLimit {
  checkLimitSettings(settings);
  if (typeof window === "number") return latestLimit(settings, { contextWindowTokens: window });
  checkWindow(window);
  const limit = latestLimit(settings, window);
  const earlierTokens = compactAtTokens(window);
  return earlierTokens < (limit.limitTokens ?? Number.POSITIVE_INFINITY)
    ? { limitTokens: earlierTokens, source: "compact_at" }
    : limit;
}

function latestLimit(
  settings: LimitSettings,
  { contextWindowTokens, model, profile, overheadTokens }: ModelWindow,
): TokenLimit {
  const windowTokens = contextWindowTokens > 0 ? contextWindowTokens : 0;
  const { reserveTokens } = settings.reserveTokens >= 0 ? settings : DEFAULT_COMPACTION_SETTINGS;
  const leftFreeTokens =
    profile === "default"
      ? Math.min(reserveTokens, mostReserveTokens(windowTokens, overheadTokens))
      : reserveTokens;
  const roomTokens = windowTokens - leftFreeTokens;

  const threshold = thresholdTokens(settings.thresholds, model, windowTokens);
  if (threshold !== undefined) {
    return {
      limitTokens: windowTokens > 0 ? Math.min(threshold, windowTokens) : threshold,
      source: "threshold",
    };
  }
  if (roomTokens > 0) return { limitTokens: roomTokens, source: "context_window" };
  if (settings.maxTokens > 0) {
    const capTokens =
      windowTokens > 0 ? Math.max(1, Math.floor(windowTokens * FALLBACK_SHARE)) : settings.maxTokens;
    return { limitTokens: Math.min(settings.maxTokens, capTokens), source: "max_tokens" };
  }
  return { limitTokens: undefined, source: "none" };
}

/** The settings that decide the limit. */
type LimitSettings = Pick<CompactionSettings, "maxTokens" | "reserveTokens"> &
  Partial<Pick<CompactionSettings, "thresholds">>;

/** The window that a limit is computed for. */
export interface ModelWindow {
  /** 0 when unknown. */
  readonly contextWindowTokens: number;
  /** The model, where it may have a threshold of its own. */
  readonly model?: ModelRef;
  /** `default`: the reserve is at most a share of the window. Unset, it is the documented one: as set, whatever the window. */
  readonly profile?: "default" | "documented";
  /** What the system prompt and the tools take; only the default profile asks. */
  readonly overheadTokens?: number;
  /** Where to compact earlier than at the limit. */
  readonly compactAt?: CompactAt;
}

/** A limit in tokens and the setting it comes from. */
export interface TokenLimit {
  /** Undefined when nothing limits the tokens. */
  readonly limitTokens: number | undefined;
  readonly source: "threshold" | "context_window" | "max_tokens" | "compact_at" | "none";
}

/** How many of the newest tokens stay word for word: as set, but at most half of the limit. */
export function effectiveKeepRecentTokens(
  settings: Pick<CompactionSettings, "keepRecentTokens">,
  { limitTokens }: Pick<TokenLimit, "limitTokens">,
): number {
  const keepTokens = settings.keepRecentTokens > 0 ? settings.keepRecentTokens : 0;
  const halfTokens = Math.floor((limitTokens ?? 0) / 2);
  return halfTokens > 0 ? Math.min(keepTokens, halfTokens) : keepTokens;
}

/** The largest share of a known window that the fallback limit may take, so that the answer has room. */
const FALLBACK_SHARE = 0.8;

/** When and how far a session is compacted. Counts are messages or results where the name gives no unit. */
export interface CompactionSettings {
  /**
   * Compact at this many messages when no token limit is known; 0 switches that off.
   * @default 50
   * @unit messages
   * @when neither window nor token limit is known
   */
  readonly maxMessages: number;
  /**
   * The token limit where the window is unknown or smaller than its reserve; 0 switches that off.
   * @default 8,000
   * @when the window is unknown, and you know about how much it takes
   */
  readonly maxTokens: number;
  /**
   * Messages kept word for word when `keepRecentTokens` is 0.
   * @default 5
   * @unit messages
   * @when you count messages: given alone it replaces `keepRecentTokens`
   */
  readonly keepRecent: number;
  /**
   * Tokens of the newest messages kept word for word; at most half of the limit.
   * @default 20,000
   * @when more of the newest work has to stay word for word
   */
  readonly keepRecentTokens: number;
  /**
   * Left free below the window; in the default profile at most a quarter of it, and half of what system prompt and
   * tools leave.
   * @default 16,384
   * @when answers are much longer or shorter than 16,000 tokens
   */
  readonly reserveTokens: number;
  /**
   * Visible tool results above which the oldest are summed up; 0 switches that off.
   * @default 10
   * @unit results
   * @when tool summaries are on and shall come earlier or later
   */
  readonly toolCallCutoff: number;
  /** How they are summed up. @default llm @when old results shall be summed up before the window is full */
  readonly toolSummaryStrategy: ToolSummaryStrategy;
  /**
   * Whether the agent waits for them.
   * @default sync
   * @when the agent may wait (`sync`), or shall not (`background`)
   */
  readonly toolSummaryMode: ToolSummaryMode;
  /**
   * False: compact only when asked to.
   * @default true
   * @when only a person decides: then a full window is refused by the provider
   */
  readonly autoCompact: boolean;
  /** A limit of its own for a model, by `provider/model`. @default none */
  readonly thresholds: Readonly<Record<string, Threshold>>;
}

/** How old tool results are summed up: by a model, without one, or not at all. */
export type ToolSummaryStrategy = "llm" | "heuristic" | "off";

/** `sync`: one summary a result, awaited. `background`: one a batch of results, asked for while the agent goes on. */
export type ToolSummaryMode = "sync" | "background";

/** Settings as they may be given: each is optional, and an empty strategy means `llm`. */
export type GivenCompactionSettings = Partial<Omit<CompactionSettings, "toolSummaryStrategy">> & {
  readonly toolSummaryStrategy?: ToolSummaryStrategy | "";
};

/** The strategies by name. */
export const TOOL_SUMMARY_STRATEGIES: readonly ToolSummaryStrategy[] = ["llm", "heuristic", "off"];

/** What the compaction settings may be, with the documented defaults. */
export const COMPACTION_SHAPE: Shape<GivenCompactionSettings, keyof CompactionSettings> = {
  maxMessages: withDefault(wholeFrom(0), 50),
  maxTokens: withDefault(wholeFrom(0), 8_000),
  keepRecent: withDefault(wholeFrom(0), 5),
  keepRecentTokens: withDefault(wholeFrom(0), 20_000),
  reserveTokens: withDefault(wholeFrom(0), 16_384),
  toolCallCutoff: withDefault(wholeFrom(0), 10),
  toolSummaryStrategy: withDefault(oneOf(...TOOL_SUMMARY_STRATEGIES, ""), "llm"),
  toolSummaryMode: withDefault(oneOf("sync", "background"), "sync"),
  autoCompact: withDefault(flag, true),
  thresholds: withDefault(
    recordOf({ expects: "provider/model", pattern: /^[^/\s]+\/\S+$/ }, THRESHOLD_RULE),
    {},
  ),
};

/** The documented defaults. */
export const DEFAULT_COMPACTION_SETTINGS: CompactionSettings = /* @__PURE__ */ withStrategy(
  defaultsOf(COMPACTION_SHAPE),
);

/** Settings that were checked, completed with these defaults. */
export function completeCompactionSettings(
  given: GivenCompactionSettings,
  defaults: CompactionSettings,
): CompactionSettings {
  return withStrategy({ ...defaults, ...omitUndefined(given) });
}

/** An empty strategy means the documented one. */
function withStrategy(settings: Required<GivenCompactionSettings>): CompactionSettings {
  return { ...settings, toolSummaryStrategy: settings.toolSummaryStrategy || "llm" };
}

/** The settings after one change made at run time, or what is wrong with the change. */
export function changeSettings(settings: CompactionSettings, change: SettingsChange): ChangedSettings {
  const { type } = asObject(change);
  const [wrongType] = oneOf(...Object.keys(CHANGED_SETTINGS)).find(type, ["type"]);
  if (wrongType !== undefined) return { status: "rejected", problem: wrongType.text };
  const key = CHANGED_SETTINGS[change.type];
  const value = (change as Partial<CompactionSettings>)[key];
  const [problem] = COMPACTION_SHAPE[key].find(value, [key]);
  if (problem !== undefined) return { status: "rejected", problem: problem.text };
  return { status: "changed", settings: withStrategy({ ...settings, [key]: value }) };
}

/** What may be changed while a session runs. */
export type SettingsChange =
  | { readonly type: "set-auto"; readonly autoCompact: boolean }
  | { readonly type: "set-cutoff"; readonly toolCallCutoff: number }
  | { readonly type: "set-strategy"; readonly toolSummaryStrategy: string };

export type ChangedSettings =
  | { readonly status: "changed"; readonly settings: CompactionSettings }
  /** A sentence that says what to give instead. */
  | { readonly status: "rejected"; readonly problem: string };

const CHANGED_SETTINGS = {
  "set-auto": "autoCompact",
  "set-cutoff": "toolCallCutoff",
  "set-strategy": "toolSummaryStrategy",
} as const;

// What a session measures is checked by name and kind only: a number that is none counts as unknown.
const MEASURED_WINDOW = {
  contextWindowTokens: aNumber,
  model: rule("{ provider, id }", isObject),
  profile: oneOf("default", "documented"),
  overheadTokens: aNumber,
  compactAt: COMPACT_AT_RULE,
};
const SITUATION_SHAPE: Shape<Situation> = {
  ...MEASURED_WINDOW,
  settings: required(rule("settings such as DEFAULT_COMPACTION_SETTINGS", isObject)),
  contextTokens: required(aNumber),
  contextEpoch: aNumber,
  visibleMessages: required(aNumber),
  turn: aNumber,
  state: rule("what the trigger remembers", isObject),
  demand: oneOf("none", "manual", "recovery"),
};
const checkSituation = optionsCheck(SITUATION_SHAPE);
// A situation may be given as the window.
const checkWindow = optionsCheck({
  ...SITUATION_SHAPE,
  settings: anything,
  contextTokens: anything,
  visibleMessages: anything,
});
const checkLimitSettings = optionsCheck(
  Object.fromEntries(
    Object.entries(COMPACTION_SHAPE).map(([name, each]) => [name, /Tokens$/.test(name) ? aNumber : each]),
  ) as Readonly<Record<string, Rule>>,
  ["settings"],
);
