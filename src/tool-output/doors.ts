import { gone, methods, objectOf, oneOf, optionsCheck, rule, type Shape, text } from "../text/check.ts";
import { REDACT_SHAPE, type RedactOptions } from "../text/secrets/redact-secrets.ts";
import type { Cut } from "../text/truncate.ts";
import { isObject } from "../text/unknown-value.ts";
import { type RawToolOutputLimits, TOOL_OUTPUT_LIMIT_SHAPE, type ToolOutputLimits } from "./limits.ts";
import type { TextBlock, ToolContentBlock } from "./read-blocks.ts";
import type { SpillStore } from "./spill.ts";
import {
  type BoundedToolOutput,
  boundToolOutput as boundOutput,
  type ToolOutputResult,
  truncateToolContent as truncateContent,
} from "./truncate-tool-content.ts";

/** Bounds one tool output, a text or a list of blocks, with the default limits where none are given. */
export async function boundToolOutput(
  output: string | readonly ToolContentBlock[],
  options: BoundToolOutputOptions = {},
): Promise<BoundedToolOutput> {
  checkOptions(options);
  return boundOutput(output, options);
}

/** Options of `boundToolOutput`. */
export interface BoundToolOutputOptions {
  /** What is not given has its default; 0 turns a limit off. */
  readonly limits?: Partial<ToolOutputLimits>;
  /** Keeps the whole of an output that is cut, for recall; without one the omitted part is lost. @default none */
  readonly store?: SpillStore;
  /** What was left out of the output before, from its tool part: with it the output is returned as it is. @default none */
  readonly cut?: Cut | undefined;
  /** When given, secrets are replaced before anything is cut; the store keeps the raw output. @default off */
  readonly redact?: RedactOptions;
  /** The tool with which the model can read what the store keeps; named in notices. @default none */
  readonly recallTool?: string;
}

const SHAPE: Shape<BoundToolOutputOptions> = {
  ...gone({
    normalize: "leave it out: escapes and invisible characters are taken out",
    binary: "leave it out: what cannot be read becomes a notice",
    spillTruncated: "leave it out: what is cut is stored whole",
    signal: "give a store that ends by itself",
  }),
  limits: objectOf(TOOL_OUTPUT_LIMIT_SHAPE),
  store: methods("put", "get"),
  cut: rule("the cut of a tool part", isObject),
  redact: objectOf(REDACT_SHAPE),
  recallTool: text,
};

const checkOptions = optionsCheck(SHAPE);

/** The same as document 004 has it: blocks, limits as they are written there, and a store. */
export async function truncateToolContent<Block extends ToolContentBlock>(
  blocks: readonly Block[],
  limits?: RawToolOutputLimits,
  store?: SpillStore,
  options: TruncateToolContentOptions = {},
): Promise<ToolOutputResult<Block | TextBlock>> {
  checkTruncate(options);
  return truncateContent(blocks, limits, store, options);
}

/** How a tool output is cleaned and kept. */
export interface TruncateToolContentOptions {
  /** Whether terminal escapes, overwritten lines and invisible characters are removed before counting. @default on */
  readonly normalize?: "on" | "off";
  /** Whether an output below the threshold is stored too when something of it is left out. @default on */
  readonly spillTruncated?: "on" | "off";
}

const ELSEWHERE = "call boundToolOutput, which takes it";

const checkTruncate = optionsCheck({
  ...gone({ cut: ELSEWHERE, redact: ELSEWHERE, recallTool: ELSEWHERE }),
  ...gone({
    binary: "leave it out: what cannot be read becomes a notice",
    signal: "give a store that ends by itself",
  }),
  normalize: oneOf("on", "off"),
  spillTruncated: oneOf("on", "off"),
} satisfies Shape<TruncateToolContentOptions>);
