import type { Usage } from "../transcript/message.ts";
import {
  DEFAULT_OVERFLOW_SETTINGS,
  type OverflowProfile,
  type OverflowSettings,
} from "./overflow-settings.ts";
import { readUsage } from "./read-usage.ts";
import { type ModelLimits, usableTokens } from "./usable-tokens.ts";

/**
 * Whether a finished step filled the model's window: read it as `isOverflow(step).overflow`.
 * The rest says why, and whether the other profile would have decided otherwise.
 */
export function isOverflow({ usage, limits, settings }: OverflowQuestion): OverflowAnswer {
  const { auto, profile } = { ...DEFAULT_OVERFLOW_SETTINGS, ...settings };
  const counted = readUsage(usage);
  const answer = (reason: OverflowReason, disagreement = false): OverflowAnswer => ({
    overflow: reason === "over-usable",
    reason,
    countTokens: counted === undefined ? 0 : countTokens(counted, profile),
    usableTokens: usableTokens(limits, settings),
    disagreement,
  });

  if (!auto) return answer("auto-off");
  if (!(limits.contextTokens > 0)) return answer("no-context-limit");
  if (counted === undefined || totalOf(counted) === 0) return answer("no-usage");

  const decide = (by: OverflowProfile): OverflowReason => {
    const usable = usableTokens(limits, { ...settings, profile: by });
    if (usable <= 0) return "no-usable-window";
    return exceeds(countTokens(counted, by), usable, by) ? "over-usable" : "fits";
  };
  const reason = decide(profile);
  const other = decide(profile === "seed" ? "opencode-2026-02" : "seed");
  return answer(reason, (reason === "over-usable") !== (other === "over-usable"));
}

export interface OverflowQuestion {
  /** As recorded; missing or malformed usage is never an overflow. */
  readonly usage: Usage | undefined;
  readonly limits: ModelLimits;
  readonly settings?: Partial<OverflowSettings>;
}

export interface OverflowAnswer {
  readonly overflow: boolean;
  readonly reason: OverflowReason;
  readonly countTokens: number;
  readonly usableTokens: number;
  /** The other profile would have decided otherwise: worth a line in a log. */
  readonly disagreement: boolean;
}

/** `no-usable-window` means that the reserve is as large as the window: a configuration to warn about once. */
export type OverflowReason =
  | "auto-off"
  | "no-context-limit"
  | "no-usage"
  | "no-usable-window"
  | "fits"
  | "over-usable";

function countTokens(usage: Usage, profile: OverflowProfile): number {
  if (profile === "seed") return usage.inputTokens + usage.cacheReadTokens + usage.outputTokens;
  return (
    usage.totalTokens ||
    usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
  );
}

function exceeds(countedTokens: number, usable: number, profile: OverflowProfile): boolean {
  return profile === "seed" ? countedTokens > usable : countedTokens >= usable;
}

function totalOf(usage: Usage): number {
  return countTokens(usage, "opencode-2026-02");
}
