import { ConfigurationError } from "../text/configuration-error.ts";
import type { TextSize } from "./text-size.ts";

/** How much of one tool output may enter the context; 0 turns a limit off. */
export interface ToolOutputLimits {
  /** Lines that may stay; CRLF is one line break, and a trailing one adds no line. */
  readonly maxLines: number;
  /** Bytes of UTF-8 that may stay. */
  readonly maxBytes: number;
  /** Code points that may stay, not UTF-16 units. */
  readonly maxChars: number;
  /** An output with more code points than this is kept in the store and shown as a preview; negative means the default. */
  readonly largeOutputThreshold: number;
  readonly truncateMode: TruncateMode;
}

/** Which part of a long output stays: the beginning, or the beginning and the end. */
export type TruncateMode = "head" | "head_tail";

/** Limits as people write them: what is not given is off, and an empty mode is head_tail. */
export type RawToolOutputLimits = {
  readonly [Name in Exclude<keyof ToolOutputLimits, "truncateMode">]?: number | undefined;
} & { readonly truncateMode?: TruncateMode | "" | undefined };

/** The limits the founding document gives. */
export const DEFAULT_TOOL_OUTPUT_LIMITS: ToolOutputLimits = Object.freeze({
  maxLines: 2_000,
  maxBytes: 51_200,
  maxChars: 204_800,
  largeOutputThreshold: 204_800,
  truncateMode: "head_tail",
});

/** Complete limits from what was given, the defaults when nothing was; throws one error that lists every problem. */
export function resolveToolOutputLimits(raw?: unknown): ToolOutputLimits {
  if (raw === undefined) return DEFAULT_TOOL_OUTPUT_LIMITS;
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    throw new ConfigurationError([`the limits are ${show(raw)}; give an object such as { maxLines: 2000 }`]);
  }
  const given = new Map<string, unknown>(Object.entries(raw));
  const problems: string[] = [];
  for (const name of given.keys()) {
    if (!Object.hasOwn(DEFAULT_TOOL_OUTPUT_LIMITS, name)) {
      problems.push(`${name} is not a limit; known are ${NAMES.join(", ")}`);
    }
  }
  const limit = (name: string, negative?: number): number =>
    readLimit({ name, value: given.get(name) ?? 0, problems, negative });
  const limits: ToolOutputLimits = {
    maxLines: limit("maxLines"),
    maxBytes: limit("maxBytes"),
    maxChars: limit("maxChars"),
    largeOutputThreshold: limit("largeOutputThreshold", DEFAULT_TOOL_OUTPUT_LIMITS.largeOutputThreshold),
    truncateMode: readMode(given.get("truncateMode") ?? "", problems),
  };
  if (problems.length > 0) throw new ConfigurationError(problems);
  return limits;
}

/** True when a size keeps all three limits. */
export function isWithinLimits(size: TextSize, { maxLines, maxChars, maxBytes }: ToolOutputLimits): boolean {
  return (
    (maxLines === 0 || size.lines <= maxLines) &&
    (maxChars === 0 || size.chars <= maxChars) &&
    (maxBytes === 0 || size.bytes <= maxBytes)
  );
}

const NAMES: readonly string[] = Object.keys(DEFAULT_TOOL_OUTPUT_LIMITS);

interface GivenLimit {
  readonly name: string;
  readonly value: unknown;
  readonly problems: string[];
  /** What a negative number stands for; unset when it is a mistake. */
  readonly negative: number | undefined;
}

function readLimit({ name, value, problems, negative }: GivenLimit): number {
  if (typeof value !== "number" || Number.isNaN(value)) {
    problems.push(`${name} is ${show(value)}; give a number, or 0 for no limit`);
    return 0;
  }
  if (value < 0 && negative !== undefined) return negative;
  if (value < 0) problems.push(`${name} is ${value}; give 0 for no limit, or more`);
  // Rounded down it would be 0 and turn the limit off, the opposite of what was asked.
  if (value > 0 && value < 1) problems.push(`${name} is ${value}; give 0 for no limit, or at least 1`);
  return value === Number.POSITIVE_INFINITY ? 0 : Math.floor(value);
}

function readMode(value: unknown, problems: string[]): TruncateMode {
  if (value === "head" || value === "head_tail") return value;
  if (value !== "") problems.push(`truncateMode is ${show(value)}; give "head" or "head_tail"`);
  return "head_tail";
}

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
  return typeof value === "number" ? String(value) : value === null ? "null" : typeof value;
}
