import { defaultsOf, gone, type RuleFor, rule, type Shape, withDefault } from "../text/check.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import type { TextSize } from "./text-size.ts";

/** How much of one tool output may enter the context; 0 turns a limit off. */
export interface ToolOutputLimits {
  /**
   * Lines that may stay; CRLF is one line break, and a trailing one adds no line.
   * @default 2,000
   * @when your tools print long lists that matter whole
   */
  readonly maxLines: number;
  /** Bytes of UTF-8 that may stay. @default 51,200 @when the window is much smaller or larger than 100,000 tokens */
  readonly maxBytes: number;
  /**
   * Code points that may stay, not UTF-16 units.
   * @default 204,800
   * @unit code points
   * @when as above, where bytes do not tell
   */
  readonly maxChars: number;
  /**
   * An output with more code points than this is kept in the store and shown as a preview; negative means the
   * default.
   * @default 204,800
   * @unit code points
   * @when shorter outputs shall be stored whole, too
   */
  readonly largeOutputThreshold: number;
  /** Which part of a long output stays. @default head_tail @when the end of an output never matters to you */
  readonly truncateMode: TruncateMode;
}

/** Which part of a long output stays: the beginning, or the beginning and the end. */
export type TruncateMode = "head" | "head_tail";

/** Limits as people write them: what is not given is off, and an empty mode is head_tail. */
export type RawToolOutputLimits = {
  readonly [Name in Exclude<keyof ToolOutputLimits, "truncateMode">]?: number | undefined;
} & { readonly truncateMode?: TruncateMode | "" | undefined };

/** The defaults when nothing is given, else what is given and the rest off. */
export function resolveToolOutputLimits(given?: RawToolOutputLimits): ToolOutputLimits {
  return given === undefined ? DEFAULT_TOOL_OUTPUT_LIMITS : readLimits(given, OFF);
}

/** What is given, completed with the defaults. */
export function completeToolOutputLimits(given?: RawToolOutputLimits): ToolOutputLimits {
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
const LIMIT: RuleFor<number> = rule(
  "0 for no limit, or a number of 1 or more",
  (value) => value === 0 || (typeof value === "number" && value >= 1),
);

/** What each limit may be. */
export const TOOL_OUTPUT_LIMIT_SHAPE: Shape<ToolOutputLimits, keyof ToolOutputLimits> = {
  maxLines: withDefault(LIMIT, 2_000),
  maxBytes: withDefault(LIMIT, 51_200),
  maxChars: withDefault(LIMIT, 204_800),
  largeOutputThreshold: withDefault(
    rule(
      "0 to store nothing, a number of 1 or more, or a negative one for the default",
      (value) => typeof value === "number" && (value <= 0 || value >= 1),
    ),
    204_800,
  ),
  truncateMode: withDefault(
    rule('"head" or "head_tail"', (value) => value === "head" || value === "head_tail" || value === ""),
    "head_tail",
  ),
};

/** The limits when none are given. */
export const DEFAULT_TOOL_OUTPUT_LIMITS: ToolOutputLimits = /* @__PURE__ */ Object.freeze(
  defaultsOf(TOOL_OUTPUT_LIMIT_SHAPE),
);

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

function readLimits(given: RawToolOutputLimits, defaults: ToolOutputLimits): ToolOutputLimits {
  const { largeOutputThreshold, truncateMode, ...limits } = { ...defaults, ...omitUndefined(given) };
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
