import { FIXED_TIER_LIMITS, FORK_NO_TRUNCATION_TOOLS, type TierLimits } from "../../stages/tiers.ts";
import { ConfigurationError } from "../../text/check.ts";
import type { RedactOptions } from "../../text/secrets/redact-secrets.ts";
import { FORK_OWN_TOOLS } from "./omit.ts";

/** What may be set for a fork; everything unset is as the founding documents say. */
export interface ForkOptions {
  /** Most characters (UTF-16 units) of the wrapped text; at least 512. */
  readonly budgetChars?: number;
  /** `fixed` cuts results by age to the documented limits; `fill` uses the whole budget, line by line. */
  readonly profile?: ForkProfile;
  readonly limits?: TierLimits;
  /** Names the wrapper, so that text from elsewhere cannot imitate it. */
  readonly sessionId?: string;
  /** Tools whose results are never cut. */
  readonly neverCutTools?: readonly string[];
  /** Tools that launch or watch children; their unfinished calls stay behind. */
  readonly ownTools?: readonly string[];
  /** Cleared outputs stay cleared, or come back from the store. */
  readonly pruned?: "placeholder" | "restore";
  /** Secrets are kept for a child of the same provider; for any other, ask to redact them. */
  readonly secrets?: "keep" | "redact";
  /** How secrets are found where they are redacted. */
  readonly redaction?: RedactOptions;
}

export type ForkProfile = "fixed" | "fill";

export const FORK_CHAR_BUDGET = 200_000;
export const FORK_CHAR_NO_REMOVAL = 120_000;
export const FORK_NO_TRIM_THRESHOLD: number = FORK_CHAR_NO_REMOVAL;

export type ResolvedForkOptions = Required<Omit<ForkOptions, "sessionId">> & Pick<ForkOptions, "sessionId">;

/** The options with every default filled in; throws with all problems at once. */
export function resolveForkOptions(options: ForkOptions): ResolvedForkOptions {
  const resolved: ResolvedForkOptions = {
    budgetChars: FORK_CHAR_BUDGET,
    profile: "fixed",
    limits: FIXED_TIER_LIMITS,
    neverCutTools: FORK_NO_TRUNCATION_TOOLS,
    ownTools: FORK_OWN_TOOLS,
    pruned: "placeholder",
    secrets: "keep",
    redaction: {},
    ...options,
  };
  const problems = findProblems(resolved);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return resolved;
}

/** Less than this could not hold the wrapper and a notice. */
const MIN_BUDGET_CHARS = 512;

function findProblems({ budgetChars, limits, profile }: ResolvedForkOptions): readonly string[] {
  const problems: string[] = [];
  if (profile !== "fixed" && profile !== "fill") {
    problems.push(`profile is ${String(profile)}; it must be fixed or fill`);
  }
  if (!(budgetChars >= MIN_BUDGET_CHARS)) {
    problems.push(`budgetChars is ${budgetChars}; it must be at least ${MIN_BUDGET_CHARS}`);
  }
  const numbers: Record<string, number> = { tier1Count: limits.tier1Count, tier2Count: limits.tier2Count };
  for (const tier of [1, 2, 3] as const) {
    numbers[`resultChars[${tier}]`] = limits.resultChars[tier];
    numbers[`paramsChars[${tier}]`] = limits.paramsChars[tier];
  }
  for (const [name, value] of Object.entries(numbers)) {
    if (!(value >= 0)) problems.push(`limits.${name} is ${value}; it must be 0 or more`);
  }
  return problems;
}
