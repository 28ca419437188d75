import type { CompactionSettings } from "../compaction/compaction-settings.ts";
import type { OverflowSettings } from "../compaction/overflow-settings.ts";
import type { Pin } from "../compaction/pins.ts";
import type { SummarizerModel } from "../compaction/plan-compaction-types.ts";
import type { Redaction } from "../compaction/summary-clean-text.ts";
import type { Representation } from "../compaction/summary-message.ts";
import type { ModelLimits } from "../compaction/usable-tokens.ts";
import { type CacheProfile, cacheProfileFor } from "../stages/provider-cache-profiles.ts";
import type { TokenEstimator } from "../text/estimate-tokens.ts";
import type { RawToolOutputLimits, ToolOutputLimits } from "../tool-output/tool-output-limits.ts";
import type { ModelRef } from "../transcript/message.ts";
import type { SessionEvent } from "./session-event.ts";
import type { KnownPrune, SessionPruneOptions } from "./session-prune.ts";

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

/** The cache of the model that is asked next. */
export function cacheOf({ cache }: SessionOptions, model: ModelRef | undefined): CacheProfile {
  return cache ?? cacheProfileFor(model ?? { id: "" });
}
