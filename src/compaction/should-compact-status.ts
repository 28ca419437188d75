import type { ModelRef } from "../transcript/message.ts";
import type { CompactionSettings } from "./compaction-settings.ts";
import { effectiveTokenLimit, type TokenLimit } from "./effective-token-limit.ts";

/** Everything a person may ask about the trigger: all settings, the window, the limit and how full the context is. */
export function triggerStatus({
  settings,
  tokens,
  contextWindowTokens,
  model,
}: StatusQuestion): TriggerStatus {
  const window = model === undefined ? contextWindowTokens : { contextWindowTokens, model };
  return { settings, contextWindowTokens, ...effectiveTokenLimit(settings, window), tokens };
}

export interface StatusQuestion {
  readonly settings: CompactionSettings;
  /** The estimate of the context as it is now. */
  readonly tokens: number;
  readonly contextWindowTokens: number;
  readonly model?: ModelRef;
}

export interface TriggerStatus extends TokenLimit {
  readonly settings: CompactionSettings;
  readonly contextWindowTokens: number;
  readonly tokens: number;
}
