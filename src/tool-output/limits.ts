import { gone, readOptions, rule, type Shape } from "../text/check.ts";
import type { TextSize } from "./text-size.ts";

/** How much of one tool output may enter the context; 0 turns a limit off. */
export interface ToolOutputLimits {
  /** Lines that may stay; CRLF is one line break, and a trailing one adds no line. @default 2,000 */
  readonly maxLines: number;
  /** Bytes of UTF-8 that may stay. @default 51,200 */
  readonly maxBytes: number;
  /** Code points that may stay, not UTF-16 units. @default 204,800 */
  readonly maxChars: number;
  /** An output with more code points than this is kept in the store and shown as a preview; negative means the default. @default 204,800 */
  readonly largeOutputThreshold: number;
  /** Which part of a long output stays. @default head_tail */
  readonly truncateMode: TruncateMode;
}

/** Which part of a long output stays: the beginning, or the beginning and the end. */
export type TruncateMode = "head" | "head_tail";

/** Limits as people write them: what is not given is off, and an empty mode is head_tail. */
export type RawToolOutputLimits = {
  readonly [Name in Exclude<keyof ToolOutputLimits, "truncateMode">]?: number | undefined;
} & { readonly truncateMode?: TruncateMode | "" | undefined };

/** The limits when none are given. */
export const DEFAULT_TOOL_OUTPUT_LIMITS: ToolOutputLimits = Object.freeze({
  maxLines: 2_000,
  maxBytes: 51_200,
  maxChars: 204_800,
  largeOutputThreshold: 204_800,
  truncateMode: "head_tail",
});

/** The defaults when nothing is given, else what is given and the rest off; throws one error that lists every problem. */
export function resolveToolOutputLimits(given?: unknown): ToolOutputLimits {
  return given === undefined ? DEFAULT_TOOL_OUTPUT_LIMITS : readLimits(given, OFF);
}

/** What is given, completed with the defaults; throws one error that lists every problem. */
export function completeToolOutputLimits(given?: unknown): ToolOutputLimits {
  return given === undefined ? DEFAULT_TOOL_OUTPUT_LIMITS : readLimits(given, DEFAULT_TOOL_OUTPUT_LIMITS);
}

/** True when a size keeps all three limits. */
export function isWithinLimits(size: TextSize, { maxLines, maxChars, maxBytes }: ToolOutputLimits): boolean {
  return (
    (maxLines === 0 || size.lines <= maxLines) &&
    (maxChars === 0 || size.chars <= maxChars) &&
    (maxBytes === 0 || size.bytes <= maxBytes)
  );
}

const OFF: ToolOutputLimits = {
  maxLines: 0,
  maxBytes: 0,
  maxChars: 0,
  largeOutputThreshold: 0,
  truncateMode: "head_tail",
};

// Between 0 and 1 a limit would be rounded down to 0 and so turned off, the opposite of what was asked.
const LIMIT = rule(
  "0 for no limit, or a number of 1 or more",
  (value) => value === 0 || (typeof value === "number" && value >= 1),
);

/** What each limit may be. */
export const TOOL_OUTPUT_LIMIT_SHAPE: Shape<ToolOutputLimits> = {
  maxLines: LIMIT,
  maxBytes: LIMIT,
  maxChars: LIMIT,
  largeOutputThreshold: rule(
    "0 to store nothing, a number of 1 or more, or a negative one for the default",
    (value) => typeof value === "number" && (value <= 0 || value >= 1),
  ),
  truncateMode: rule(
    '"head" or "head_tail"',
    (value) => value === "head" || value === "head_tail" || value === "",
  ),
};

/** The limits that people set; the other two are for the documented profile. */
export const OUTPUT_LIMIT_SHAPE: Shape<ToolOutputLimits> = {
  ...gone({
    largeOutputThreshold: 'give maxChars, or profile "documented"',
    truncateMode: 'leave it out: both ends stay; or profile "documented"',
  }),
  maxLines: LIMIT,
  maxBytes: LIMIT,
  maxChars: LIMIT,
};

function readLimits(given: unknown, defaults: ToolOutputLimits): ToolOutputLimits {
  const { largeOutputThreshold, truncateMode, ...limits } = readOptions(
    TOOL_OUTPUT_LIMIT_SHAPE,
    defaults,
    given,
  );
  const whole = (limit: number): number => (limit === Number.POSITIVE_INFINITY ? 0 : Math.floor(limit));
  return {
    maxLines: whole(limits.maxLines),
    maxBytes: whole(limits.maxBytes),
    maxChars: whole(limits.maxChars),
    largeOutputThreshold:
      largeOutputThreshold < 0
        ? DEFAULT_TOOL_OUTPUT_LIMITS.largeOutputThreshold
        : whole(largeOutputThreshold),
    truncateMode: truncateMode === "head" ? "head" : "head_tail",
  };
}
