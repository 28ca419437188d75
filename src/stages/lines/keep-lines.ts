import { listOf, numberFrom, readOptions, type Shape, text } from "../../text/check.ts";
import { type Edit, hidePart, type Stage } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { CLEARED_PLACEHOLDER, outcomeText, type Part, type ToolPart } from "../../transcript/part.ts";
import { handleOf, toolResults } from "../../transcript/tool-results.ts";
import { filterCompacted } from "../boundary.ts";
import { createToolMatcher, PRUNE_PROTECTED_TOOLS, startOfNewestTurns } from "../prune.ts";
import { FORK_NO_TRUNCATION_TOOLS } from "../tiers.ts";
import { fillBudget } from "./fill.ts";
import { GAP_MARKER } from "./select.ts";

/**
 * Prunes old work by line with the selection of `fillBudget`: an output keeps its best lines, while a message or call
 * of the agent is kept or hidden as a whole, so that the model never sees gaps in its own text. What users said, the
 * final answer of each turn, summaries and the newest results stay as they are, so the rest can be longer than
 * `keepChars`.
 */
export function keepLines(options: KeepLinesOptions): Stage {
  const { keepChars, protectResults, protectTurns, protectedTools } = readOptions(SHAPE, DEFAULTS, options);
  const isProtected = createToolMatcher(protectedTools);
  const mayGo = (part: Part): boolean => part.type !== "tool" || !isProtected(part.tool);

  return (transcript) => {
    const window = filterCompacted(transcript);
    const end = Math.min(startOfNewest(window, protectResults), startOfNewestTurns(window, protectTurns));
    const old = new Map(
      window
        .slice(0, end)
        .filter((message, index) => isOwnWork(message) && !isLastWord(message, window[index + 1]))
        .map((message) => [message.id, message]),
    );
    if (old.size === 0) return [];
    return fillBudget({ maxChars: keepChars })(window).flatMap((edit) => {
      const message = "messageId" in edit ? old.get(edit.messageId) : undefined;
      return message === undefined ? [] : allowed(edit, message, mayGo);
    });
  };
}

/** Options of `keepLines`. */
export interface KeepLinesOptions {
  /** How many characters of the rendered window to keep. */
  readonly keepChars: number;
  /** How many of the newest results stay whole, with everything after the first of them. */
  readonly protectResults?: number;
  /** How many of the newest turns stay whole. */
  readonly protectTurns?: number;
  /** Tools whose calls are never touched; upper and lower case are the same. */
  readonly protectedTools?: readonly string[];
}

/** How many of the newest results stay whole by default. */
export const KEEP_LINES_PROTECT_RESULTS = 10;

/** The tools that `prune` protects, and those that ask the user. */
export const KEEP_LINES_PROTECTED_TOOLS: readonly string[] = [
  ...new Set([...PRUNE_PROTECTED_TOOLS, ...FORK_NO_TRUNCATION_TOOLS]),
];

const DEFAULTS: Required<KeepLinesOptions> = {
  keepChars: Number.POSITIVE_INFINITY,
  protectResults: KEEP_LINES_PROTECT_RESULTS,
  protectTurns: 0,
  protectedTools: KEEP_LINES_PROTECTED_TOOLS,
};

const SHAPE: Shape<KeepLinesOptions> = {
  keepChars: numberFrom(0),
  protectResults: numberFrom(0),
  protectTurns: numberFrom(0),
  protectedTools: listOf(text),
};

/** The index of the message with the oldest of the newest results; 0 while there are no more results than these. */
function startOfNewest(window: Transcript, count: number): number {
  if (count === 0) return window.length;
  const first = toolResults(window).at(-count)?.message;
  return first === undefined ? 0 : window.indexOf(first);
}

/**
 * True for a finished message of the agent that consists of known parts only; an unknown part may depend on its
 * neighbours.
 */
function isOwnWork({ role, summary, metadata, parts }: Message): boolean {
  const isSummary = summary === true || SUMMARY_KINDS.has(metadata?.kind ?? "");
  return (
    role === "assistant" && !isSummary && parts.every((part) => PLAIN_PARTS.has(part.type) && isOver(part))
  );
}

/** False for a call without a result, which is still running. */
function isOver(part: Part): boolean {
  return part.type !== "tool" || part.outcome.status !== "pending";
}

/** True for the final answer of a turn: without it a user message would follow directly on a tool call. */
function isLastWord({ parts }: Message, next: Message | undefined): boolean {
  const hasCall = parts.some(({ type, agentVisible }) => type === "tool" && agentVisible !== false);
  return next?.role !== "assistant" && !hasCall;
}

const SUMMARY_KINDS: ReadonlySet<string> = new Set(["tool_summary", "compaction_summary"]);
const PLAIN_PARTS: ReadonlySet<string> = new Set(["text", "reasoning", "tool"]);
const STAGE = "keep-lines";

/** What an edit of `fillBudget` becomes in a conversation that continues. */
function allowed(edit: Edit, message: Message, mayGo: (part: Part) => boolean): readonly Edit[] {
  if (edit.type === "hide-message") {
    if (message.parts.every(mayGo)) return [{ ...edit, stage: STAGE, reason: "pruned" }];
    return message.parts.flatMap((part, partIndex) =>
      part.type === "tool" && part.agentVisible !== false && mayGo(part)
        ? [hidePart({ message, partIndex, part }, { stage: STAGE, reason: "pruned" })]
        : [],
    );
  }
  const part = "partIndex" in edit ? message.parts[edit.partIndex] : undefined;
  if (part === undefined || !mayGo(part)) return [];
  if (edit.type === "hide-part") return [{ ...edit, stage: STAGE, reason: "pruned" }];
  if (edit.type !== "replace-part" || part.type !== "tool" || edit.part.type !== "tool") return [];
  return withLines({ message, partIndex: edit.partIndex, part, chosen: edit.part });
}

interface ChosenLines {
  readonly message: Message;
  readonly partIndex: number;
  readonly part: ToolPart;
  readonly chosen: ToolPart;
}

/** The call with the selected lines of its output; an output without any is cleared. */
function withLines({ message, partIndex, part, chosen }: ChosenLines): readonly Edit[] {
  const [text, left] = [outcomeText(part.outcome), outcomeText(chosen.outcome)];
  if (left.length >= text.length) return [];
  const where = { messageId: message.id, partIndex, stage: STAGE } as const;
  const handle = handleOf(message, partIndex);
  if (left === GAP_MARKER && part.outcome.status === "done" && text.length > CLEARED_PLACEHOLDER.length) {
    const omitted = { chars: text.length, handle };
    return [{ type: "hide-part", what: "output", reason: "pruned", omitted, ...where }];
  }
  const omitted = { chars: text.length - left.length, handle };
  const lines = { ...part, outcome: chosen.outcome, ...(chosen.cut && { cut: chosen.cut }) };
  return [{ type: "replace-part", part: lines, reason: "selected-lines", omitted, ...where }];
}
