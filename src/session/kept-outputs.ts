import { createToolMatcher } from "../stages/prune.ts";
import { objectOf, oneOf, type Rule, recordOf } from "../text/check.ts";
import { CHARS_PER_TOKEN, estimateTokens } from "../text/tokens/estimate-tokens.ts";
import { TOOL_OUTPUT_LIMIT_SHAPE, type ToolOutputLimits } from "../tool-output/limits.ts";
import type { Handle } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";
import { outcomeText, type ToolPart } from "../transcript/part.ts";
import { handleOf, hasOnlyStub, toolResults } from "../transcript/tool-results.ts";

/** What is wanted for the outputs of one tool. */
export interface ToolPolicy {
  /**
   * Characters of one output that may enter the window, fewer or more than the limits of other outputs allow, but never
   * more than half of the window; 0 for no limit of its own.
   * @default as toolOutput says
   */
  readonly maxChars?: number;
  /**
   * `always`: an output stays before the model word for word, whatever is bounded, pruned, summed up or compacted. All
   * kept outputs together may take four tenths of the window; beyond that the oldest are treated like others, with a
   * warning.
   * @default like other outputs
   */
  readonly keep?: "always";
}

/** Policies by the name of the tool; upper and lower case are the same. */
export type ToolPolicies = Readonly<Record<string, ToolPolicy>>;

/** What policies may be. */
export const PER_TOOL_RULE: Rule = recordOf(
  { expects: "name of a tool", pattern: /\S/ },
  objectOf({ maxChars: TOOL_OUTPUT_LIMIT_SHAPE.maxChars, keep: oneOf("always") }),
);

/** The outputs that must stay, and what other limits single tools have. */
export interface KeptOutputs {
  /** The outputs of a window that stay whatever goes, oldest first: the newest of them that fit their share of the window. */
  held(marked: Transcript): readonly Handle[];
  /** Outputs that should have been kept and are not, each told once. */
  newlyLetGo(marked: Transcript, isThere: (handle: Handle) => boolean): readonly Handle[];
  /** The limits of a tool's output as it comes in; `as-others` where it has none of its own. */
  limitsOf(tool: string): ToolOutputLimits | "as-others";
}

/** The kept outputs of a session, by the tokens its window has room for; Infinity when that is unknown. */
export function createKeptOutputs(
  { perTool = {}, keptTools }: KeptOptions,
  roomTokens: () => number,
): KeptOutputs {
  const isKept = createToolMatcher(keptTools);
  const limitChars = new Map(
    Object.entries(perTool).map(([tool, { maxChars }]) => [tool.toLowerCase(), maxChars] as const),
  );
  const everHeld = new Set<Handle>();
  const told = new Set<Handle>();
  let last: Reading | undefined;

  function read(marked: Transcript): Reading {
    const keptTokens = roomTokens() * KEPT_SHARE;
    if (last?.marked === marked && last.keptTokens === keptTokens) return last;
    const held: Handle[] = [];
    const letGo: Handle[] = [];
    let leftTokens = keptTokens;
    const results = keptTools.length === 0 ? [] : toolResults(marked);
    for (const { message, partIndex, part, cleared } of results.toReversed()) {
      if (!isKept(part.tool) || cleared || hasOnlyStub(part)) continue;
      const tokens = tokensOf(part);
      (tokens <= leftTokens ? held : letGo).push(handleOf(message, partIndex));
      if (tokens <= leftTokens) leftTokens -= tokens;
    }
    last = { marked, keptTokens, held: held.reverse(), letGo };
    return last;
  }

  return {
    held: (marked) => read(marked).held,

    newlyLetGo(marked, isThere) {
      if (keptTools.length === 0) return [];
      const { held, letGo } = read(marked);
      for (const handle of held) everHeld.add(handle);
      const isHeld = new Set(held);
      const gone = [...everHeld].filter((handle) => !isHeld.has(handle) && isThere(handle));
      const untold = [...new Set([...letGo, ...gone])].filter((handle) => !told.has(handle));
      for (const handle of untold) told.add(handle);
      return untold;
    },

    limitsOf(tool) {
      const own = limitChars.get(tool.toLowerCase());
      if (own === undefined && !isKept(tool)) return "as-others";
      const mostBytes = roomTokens() * CHARS_PER_TOKEN * (isKept(tool) ? KEPT_SHARE : MOST_SHARE);
      return {
        maxLines: 0,
        maxChars: own ?? 0,
        maxBytes: Number.isFinite(mostBytes) ? Math.max(1, Math.floor(mostBytes)) : 0,
        largeOutputThreshold: 0,
        truncateMode: "head_tail",
      };
    },
  };
}

interface KeptOptions {
  readonly perTool?: ToolPolicies;
  /** Tools whose outputs are kept. */
  readonly keptTools: readonly string[];
}

interface Reading {
  readonly marked: Transcript;
  readonly keptTokens: number;
  readonly held: readonly Handle[];
  readonly letGo: readonly Handle[];
}

/** As for pins: leaves room for the summary, what is kept behind it, and new work. */
const KEPT_SHARE = 0.4;
/** No single output may take more, whatever is allowed for its tool. */
const MOST_SHARE = 0.5;

const measuredTokens = new WeakMap<ToolPart, number>();

/** Parts never change, so each is measured once. */
function tokensOf(part: ToolPart): number {
  const tokens = measuredTokens.get(part) ?? estimateTokens(outcomeText(part.outcome), MEASURE);
  measuredTokens.set(part, tokens);
  return tokens;
}

const MEASURE = { estimator: "calibrated", rounding: "ceil" } as const;
