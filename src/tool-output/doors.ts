import {
  check,
  gone,
  methods,
  objectOf,
  oneOf,
  optionsCheck,
  rule,
  type Shape,
  text,
  throwProblems,
} from "../text/check.ts";
import { REDACT_SHAPE, type RedactOptions } from "../text/secrets/redact-secrets.ts";
import type { Cut } from "../text/truncate.ts";
import { isObject } from "../text/unknown-value.ts";
import { type RawToolOutputLimits, TOOL_OUTPUT_LIMIT_SHAPE, type ToolOutputLimits } from "./limits.ts";
import type { OutputStore } from "./output-store.ts";
import type { TextBlock, ToolContentBlock } from "./read-blocks.ts";
import {
  type ToolOutputResult,
  type TrimmedToolOutput,
  trimToolOutput as trimOutput,
  truncateToolContent as truncateContent,
} from "./truncate-tool-content.ts";

/** Trims one tool output, a text or a list of blocks, with the default limits where none are given. */
export async function trimToolOutput(
  output: string | readonly ToolContentBlock[],
  options: TrimToolOutputOptions = {},
): Promise<TrimmedToolOutput> {
  checkOptions(options);
  return trimOutput(output, options);
}

/** Options of `trimToolOutput`. */
export interface TrimToolOutputOptions {
  /**
   * What is not given has its default; 0 turns a limit off.
   * @default `DEFAULT_TOOL_OUTPUT_LIMITS`
   * @when one tool needs other limits
   */
  readonly limits?: Partial<ToolOutputLimits>;
  /**
   * Keeps the whole of an output that is cut, for recall; without one the omitted part is lost.
   * @default none
   * @when what is cut shall be read again
   */
  readonly store?: OutputStore;
  /**
   * What was left out of the output before, from its tool part: with it the output is returned as it is.
   * @default none
   * @from this project
   * @when an output may come by twice
   */
  readonly cut?: Cut | undefined;
  /**
   * When given, secrets are replaced before anything is cut; the store keeps the raw output.
   * @default off
   * @from this project
   * @when outputs hold secrets
   */
  readonly redact?: RedactOptions;
  /**
   * The tool with which the model can read what the store keeps; named in notices.
   * @default none
   * @from this project
   * @when the model has a tool that reads the store
   */
  readonly recallTool?: string;
}

const STORE_RULE = methods("put", "get");

const SHAPE: Shape<TrimToolOutputOptions> = {
  ...gone({
    normalize: "leave it out: escapes and invisible characters are taken out",
    binary: "leave it out: what cannot be read becomes a notice",
    spillTruncated: "leave it out: what is cut is stored whole",
    signal: "give a store that ends by itself",
  }),
  limits: objectOf(TOOL_OUTPUT_LIMIT_SHAPE),
  store: STORE_RULE,
  cut: rule("the cut of a tool part", isObject),
  redact: objectOf(REDACT_SHAPE),
  recallTool: text,
};

const checkOptions = optionsCheck(SHAPE);

/**
 * `trimToolOutput` with the parameters of a documented interface (`docs/contributing/documents.md`, rows 004.11 to
 * 004.15): blocks, limits of which an unset one is off, and a store.
 */
export async function truncateToolContent<Block extends ToolContentBlock>(
  blocks: readonly Block[],
  limits?: RawToolOutputLimits,
  store?: OutputStore,
  options: TruncateToolContentOptions = {},
): Promise<ToolOutputResult<Block | TextBlock>> {
  throwProblems([
    ...(limits === undefined ? [] : check(TOOL_OUTPUT_LIMIT_SHAPE, limits, ["limits"])),
    ...(store === undefined ? [] : STORE_RULE.find(store, ["store"])),
    ...check(TRUNCATE_SHAPE, options),
  ]);
  return truncateContent(blocks, limits, store, options);
}

/** How a tool output is cleaned and kept. */
export interface TruncateToolContentOptions {
  /** Whether terminal escapes, overwritten lines and invisible characters are removed before counting. @default on */
  readonly normalize?: "on" | "off";
  /** Whether an output below the threshold is stored too when something of it is left out. @default on */
  readonly saveTruncated?: "on" | "off";
}

const ELSEWHERE = "call trimToolOutput, which takes it";

const TRUNCATE_SHAPE = {
  ...gone({ cut: ELSEWHERE, redact: ELSEWHERE, recallTool: ELSEWHERE, spillTruncated: "give saveTruncated" }),
  ...gone({
    binary: "leave it out: what cannot be read becomes a notice",
    signal: "give a store that ends by itself",
  }),
  normalize: oneOf("on", "off"),
  saveTruncated: oneOf("on", "off"),
} satisfies Shape<TruncateToolContentOptions>;
