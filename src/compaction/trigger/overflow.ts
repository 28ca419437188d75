import { defaultsOf, flag, numberFrom, oneOf, rule, type Shape, withDefault } from "../../text/check.ts";
import { isVisibleToModel, type Message, type Transcript, type Usage } from "../../transcript/message.ts";
import { readUsage } from "./read-usage.ts";

/**
 * Whether a finished step filled the model's window by the usage that the provider reported: `isOverflow(step).overflow`.
 * The rest says why, and whether the other formula would have decided otherwise. `detectSilentOverflow` finds overflows
 * that came without an error, `readUsage` reads usage in any provider's shape.
 */
export function isOverflow(question: OverflowQuestion): OverflowAnswer {
  const { usage, limits, settings } = question;
  const { auto, formula } = { ...DEFAULTS, ...settings };
  const counted = readUsage(usage);
  const answer = (reason: OverflowReason, disagreement = false): OverflowAnswer => ({
    overflow: reason === "over-usable",
    reason,
    countTokens: counted === undefined ? 0 : countTokens(counted, formula),
    usableTokens: usableTokens(limits, settings),
    disagreement,
  });

  if (!auto) return answer("auto-off");
  if (!(limits.contextTokens > 0)) return answer("no-context-limit");
  if (counted === undefined || countTokens(counted, "opencode") === 0) return answer("no-usage");

  const decide = (by: OverflowFormula): OverflowReason => {
    const usable = usableTokens(limits, { ...settings, formula: by });
    if (usable <= 0) return "no-usable-window";
    const count = countTokens(counted, by);
    return (by === "documented" ? count > usable : count >= usable) ? "over-usable" : "fits";
  };
  const reason = decide(formula);
  const other = decide(formula === "documented" ? "opencode" : "documented");
  return answer(reason, (reason === "over-usable") !== (other === "over-usable"));
}

/** A finished step and the limits of its model. */
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
  /** The other formula would have decided otherwise, which is worth a warning. */
  readonly disagreement: boolean;
}

/** `no-usable-window`: the reserve is as large as the window, which is a mistake in the configuration. */
type OverflowReason =
  | "auto-off"
  | "no-context-limit"
  | "no-usage"
  | "no-usable-window"
  | "fits"
  | "over-usable";

function countTokens(usage: Usage, formula: OverflowFormula): number {
  if (formula === "documented") return usage.inputTokens + usage.cacheReadTokens + usage.outputTokens;
  return (
    usage.totalTokens ||
    usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
  );
}

/** How many tokens of the window a conversation may fill before it overflows; never below 0. */
export function usableTokens(limits: ModelLimits, settings: Partial<OverflowSettings> = {}): number {
  const { formula, outputCapTokens, reservedTokens } = { ...DEFAULTS, ...settings };
  const capTokens = positiveOrZero(outputCapTokens) || OUTPUT_TOKEN_MAX;
  const reserveTokens = Math.min(positiveOrZero(limits.outputTokens), capTokens) || capTokens;
  const inputTokens = positiveOrZero(limits.inputTokens);
  const windowTokens = positiveOrZero(limits.contextTokens) - reserveTokens;
  if (inputTokens === 0) return Math.max(0, windowTokens);
  if (formula === "documented") return inputTokens;
  const isReserveSet = reservedTokens !== undefined && reservedTokens >= 0;
  return Math.max(
    0,
    inputTokens - (isReserveSet ? reservedTokens : Math.min(RESERVED_TOKENS, reserveTokens)),
  );
}

/** What a model accepts and writes. 0 or less means unknown. */
export interface ModelLimits {
  /** The whole window. @default unknown (0) */
  readonly contextTokens: number;
  /** The longest answer. @default unknown (0) */
  readonly outputTokens: number;
  /** Set by models whose input has a limit of its own. @default none of its own */
  readonly inputTokens?: number;
}

/** The largest request that a model takes: its window, or its own limit of the input where that is smaller. 0: unknown. */
export function inputWindowTokens({ contextTokens, inputTokens }: ModelLimits): number {
  const known = [contextTokens, inputTokens].map(positiveOrZero).filter((tokens) => tokens > 0);
  return known.length === 0 ? 0 : Math.min(...known);
}

/**
 * The most that may stay free of a window in the default profile: a quarter of it, and half of what the system prompt
 * and the tools leave. What is left for a conversation therefore grows with the window, without a step.
 */
export function mostReserveTokens(windowTokens: number, overheadTokens = 0): number {
  const freeTokens = Math.max(0, windowTokens - overheadTokens);
  return Math.floor(Math.min(windowTokens * MOST_RESERVE_SHARE, freeTokens / 2));
}

const MOST_RESERVE_SHARE = 0.25;

function positiveOrZero(tokens: number | undefined): number {
  return tokens !== undefined && tokens > 0 ? tokens : 0;
}

/** How overflow is counted. Every field left out takes its default. */
export interface OverflowSettings {
  /** False: no usage ever counts as an overflow. @default true @when reported usage must not start a compaction */
  readonly auto: boolean;
  /**
   * The most that is kept free for the answer, whatever the model could write.
   * @default 32,000
   * @when answers may be longer than this; the environment variable below sets it for a whole program
   */
  readonly outputCapTokens: number;
  /**
   * Kept free below an input limit; only the formula `opencode` reads it.
   * @default 20,000, or the output reserve where that is less
   * @when `formula` is `opencode` and the input limit needs another margin
   */
  readonly reservedTokens?: number;
  /** Which arithmetic decides. @default documented @when you compare with the program OpenCode itself */
  readonly formula: OverflowFormula;
}

/**
 * `documented` counts input, cache reads and output; `opencode` (as of February 2026) also counts cache writes, keeps a
 * reserve and overflows when the window is exactly full.
 */
type OverflowFormula = "documented" | "opencode";

/** The default cap of the output reserve. */
export const OUTPUT_TOKEN_MAX = 32_000;

/** What stays free below an input limit when nothing is configured. */
const RESERVED_TOKENS = 20_000;

/** The output cap that a host reads from `CARRYOVER_OUTPUT_TOKEN_MAX`; the default when it is not a positive number. */
export function readOutputCap(text: string | undefined): number {
  const capTokens = Number(text?.trim() || Number.NaN);
  return Number.isFinite(capTokens) && capTokens >= 1 ? Math.floor(capTokens) : OUTPUT_TOKEN_MAX;
}

/** The overflow settings that a host's environment asks for; none where the variable is not set. */
export function overflowOfEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Partial<OverflowSettings> {
  const text = env.CARRYOVER_OUTPUT_TOKEN_MAX;
  return text === undefined ? {} : { outputCapTokens: readOutputCap(text) };
}

const tokens = rule(
  "a number of tokens, 0 when unknown",
  (value) => Number.isFinite(value) && (value as number) >= 0,
);

/** What the limits of a model may be; unset ones are unknown. */
export const LIMITS_SHAPE: Shape<ModelLimits> = {
  contextTokens: tokens,
  outputTokens: tokens,
  inputTokens: tokens,
};

/** What the overflow settings may be. */
export const OVERFLOW_SHAPE: Shape<OverflowSettings, "auto" | "outputCapTokens" | "formula"> = {
  auto: withDefault(flag, true),
  outputCapTokens: withDefault(numberFrom(1), OUTPUT_TOKEN_MAX),
  reservedTokens: numberFrom(0),
  formula: withDefault(oneOf("documented", "opencode"), "documented"),
};

const DEFAULTS = defaultsOf(OVERFLOW_SHAPE);

/**
 * The newest finished assistant message, or undefined when that is a summary: a summary is never checked,
 * and the usage recorded before it describes a context that no longer exists.
 */
export function stepToCheck(transcript: Transcript): Message | undefined {
  const step = transcript.findLast(
    (message) =>
      message.role === "assistant" &&
      message.finish !== undefined &&
      message.error === undefined &&
      isVisibleToModel(message),
  );
  return step?.summary === true ? undefined : step;
}
