/** How overflow is counted. Every field left out takes its default. */
export interface OverflowSettings {
  /** False: no usage ever counts as an overflow. */
  readonly auto: boolean;
  /** The most that is kept free for the answer, whatever the model could write. */
  readonly outputCapTokens: number;
  /** Kept free below an input limit; only `opencode-2026-02` reads it. */
  readonly reservedTokens?: number;
  readonly profile: OverflowProfile;
}

/**
 * `seed` is the founding document's arithmetic; `opencode-2026-02` also counts cache writes, keeps a
 * reserve and overflows when the window is exactly full.
 */
export type OverflowProfile = "seed" | "opencode-2026-02";

/**
 * The default cap of the output reserve. The engine reads no environment: a host that honours
 * `CARRYOVER_OUTPUT_TOKEN_MAX` passes its text through `readOutputCap` as `outputCapTokens`.
 */
export const OUTPUT_TOKEN_MAX = 32_000;

/** The reserve under an input limit when none is configured. */
export const RESERVED_TOKENS = 20_000;

/** What `isOverflow` and `usableTokens` assume where the caller says nothing. */
export const DEFAULT_OVERFLOW_SETTINGS: OverflowSettings = {
  auto: true,
  outputCapTokens: OUTPUT_TOKEN_MAX,
  profile: "seed",
};

/** The output cap that a text (an environment variable) asks for, or the default when it is not a positive number. */
export function readOutputCap(text: string | undefined): number {
  const capTokens = Number(text?.trim() || Number.NaN);
  return Number.isFinite(capTokens) && capTokens >= 1 ? Math.floor(capTokens) : OUTPUT_TOKEN_MAX;
}
