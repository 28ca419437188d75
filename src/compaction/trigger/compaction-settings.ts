import { defaultsOf, flag, oneOf, recordOf, type Shape, wholeFrom, withDefault } from "../../text/check.ts";
import { asObject, omitUndefined } from "../../text/unknown-value.ts";
import { THRESHOLD_RULE, type Threshold } from "./compact-at.ts";

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
const TOOL_SUMMARY_STRATEGIES: readonly ToolSummaryStrategy[] = ["llm", "heuristic", "off"];

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
