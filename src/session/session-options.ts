import type { CompactionSettings } from "../compaction/compaction-settings.ts";
import { validateCompactionSettings } from "../compaction/compaction-settings-validate.ts";
import type { OverflowSettings } from "../compaction/overflow-settings.ts";
import type { Pin } from "../compaction/pins.ts";
import type { SummarizerModel } from "../compaction/plan-compaction-types.ts";
import type { Redaction } from "../compaction/summary-clean-text.ts";
import type { Representation } from "../compaction/summary-message.ts";
import type { ModelLimits } from "../compaction/usable-tokens.ts";
import { type CacheProfile, cacheProfileFor } from "../stages/provider-cache-profiles.ts";
import { ConfigurationError } from "../text/configuration-error.ts";
import type { TokenEstimator } from "../text/estimate-tokens.ts";
import {
  DEFAULT_TOOL_OUTPUT_LIMITS,
  type RawToolOutputLimits,
  resolveToolOutputLimits,
  type ToolOutputLimits,
} from "../tool-output/tool-output-limits.ts";
import type { ModelRef } from "../transcript/message.ts";
import { RECALL_MAX_CHARS } from "./recall.ts";
import type { SessionEvent } from "./session-event.ts";
import { type KnownPrune, readSessionPrune, type SessionPruneOptions } from "./session-prune.ts";

/** How a session behaves; everything has a default. */
export interface SessionOptions {
  /** Names the session to hooks. */
  readonly sessionId?: string;
  /** The model that is asked next, and what it takes; without limits only the settings limit the window. */
  readonly model?: ModelRef;
  readonly limits?: ModelLimits;
  readonly compaction?: Partial<CompactionSettings>;
  readonly overflow?: Partial<OverflowSettings>;
  /** How summaries stand in the window. */
  readonly representation?: Representation;
  /** The model that writes summaries; the driver's own choice when unset. */
  readonly summarizer?: SummarizerModel;
  /** What has to stay before the model whatever is compacted. */
  readonly pins?: readonly Pin[];
  readonly autoContinue?: "as-needed" | "never";
  /** How old work leaves the window without a model; `off`: only after a refusal. */
  readonly prune?: SessionPruneOptions | "off";
  /** What caching costs; by the model's name when unset. */
  readonly cache?: CacheProfile;
  /** Requests that are expected to follow, for weighing what an edit saves. */
  readonly expectedTurns?: number;
  /** Limits of a tool output as it comes in. */
  readonly toolOutput?: RawToolOutputLimits | "off";
  readonly estimator?: TokenEstimator;
  /** Characters of the system prompt and of the tool definitions, which are sent beside the messages. */
  readonly systemChars?: number;
  readonly toolsChars?: number;
  /** How secrets are found in what is summed up and recalled. */
  readonly redaction?: Redaction;
  /** `on`: secrets are taken out of tool outputs that are bounded as they come in. */
  readonly redactOutputs?: "on" | "off";
  readonly recallMaxChars?: number;
  /** Called for every event, in order. What it throws is ignored. */
  readonly onEvent?: (event: SessionEvent) => void;
}

/** The options with every default filled in. */
export interface KnownSessionOptions extends SessionOptions {
  readonly settings: CompactionSettings;
  readonly limits: ModelLimits;
  readonly representation: Representation;
  readonly expectedTurns: number;
  readonly outputLimits: ToolOutputLimits | undefined;
  /** Unset when nothing is pruned. */
  readonly pruning: KnownPrune | undefined;
  readonly estimator: TokenEstimator;
  readonly redaction: Redaction;
  readonly recallMaxChars: number;
}

/** Completed options; what cannot be used is thrown, every problem at once. */
export function readSessionOptions(options: SessionOptions): KnownSessionOptions {
  const problems: string[] = Object.keys(options)
    .filter((key) => !KEYS.has(key))
    .map((key) => `${key} is not an option of a session; known are ${[...KEYS].join(", ")}`);
  const validated = validateCompactionSettings(options.compaction);
  if (validated.status === "invalid")
    problems.push(...validated.problems.map(({ path, problem }) => `compaction.${path}: ${problem}`));
  const outputLimits = attempt(problems, () => readOutputLimits(options.toolOutput));
  const pruning = attempt(problems, () =>
    options.prune === "off" ? undefined : readSessionPrune(options.prune),
  );
  const { expectedTurns = EXPECTED_TURNS, recallMaxChars = RECALL_MAX_CHARS } = options;
  if (!(expectedTurns >= 1 && Number.isFinite(expectedTurns)))
    problems.push(`expectedTurns is ${expectedTurns}; give a finite number of 1 or more`);
  if (!(recallMaxChars >= MIN_RECALL_CHARS))
    problems.push(`recallMaxChars is ${recallMaxChars}; give ${MIN_RECALL_CHARS} or more`);
  for (const name of ["systemChars", "toolsChars"] as const) {
    const chars = options[name] ?? 0;
    if (!(chars >= 0 && Number.isFinite(chars))) problems.push(`${name} is ${chars}; give 0 or more`);
  }
  if (problems.length > 0 || validated.status === "invalid") throw new ConfigurationError(problems);
  return {
    ...options,
    settings: validated.settings,
    limits: options.limits ?? { contextTokens: 0, outputTokens: 0 },
    representation: options.representation ?? "pivot",
    expectedTurns,
    outputLimits,
    pruning,
    estimator: options.estimator ?? "calibrated",
    redaction: options.redaction ?? {},
    recallMaxChars,
  };
}

/** The cache of the model that is asked next. */
export function cacheOf({ cache }: SessionOptions, model: ModelRef | undefined): CacheProfile {
  return cache ?? cacheProfileFor(model ?? { id: "" });
}

const EXPECTED_TURNS = 12;
const MIN_RECALL_CHARS = 512;

const KEYS: ReadonlySet<string> = new Set<keyof SessionOptions>([
  "sessionId",
  "model",
  "limits",
  "compaction",
  "overflow",
  "representation",
  "summarizer",
  "pins",
  "autoContinue",
  "prune",
  "cache",
  "expectedTurns",
  "toolOutput",
  "estimator",
  "systemChars",
  "toolsChars",
  "redaction",
  "redactOutputs",
  "recallMaxChars",
  "onEvent",
]);

function readOutputLimits(limits: SessionOptions["toolOutput"]): ToolOutputLimits | undefined {
  if (limits === "off") return undefined;
  return limits === undefined ? DEFAULT_TOOL_OUTPUT_LIMITS : resolveToolOutputLimits(limits);
}

function attempt<T>(problems: string[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}
