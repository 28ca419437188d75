import { listOf, numberFrom, readOptions, required, type Shape, text } from "../../text/check.ts";
import { type Edit, hidePart, type Stage } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { type Handle, outcomeText, type Part, type ToolPart, withText } from "../../transcript/part.ts";
import { handleOf, type ToolCall, toolResults } from "../../transcript/tool-results.ts";
import { filterCompacted } from "../boundary.ts";
import { createToolMatcher, PRUNE_PROTECTED_TOOLS, startOfNewestTurns } from "../prune.ts";
import { FORK_NO_TRUNCATION_TOOLS } from "../tiers.ts";
import { fillBudget } from "./fill.ts";
import { GAP_MARKER } from "./select.ts";

/**
 * Prunes old work by line with the selection of `fillBudget`: an output keeps its best lines, while a message or call
 * of the agent is kept or hidden as a whole, so that the model never sees gaps in its own text. What users said, the
 * final answer of each turn, summaries and the newest results stay as they are, so the rest can be longer than
 * `keepChars`. A shortened output ends with its handle. What no format understands stays where it is, and beside it
 * only outputs get shorter, since it may refer to its neighbours; a host's own records hold nothing back.
 */
export function keepLines(options: KeepLinesOptions): Stage {
  const { protectResults, protectTurns, protectedTools } = readOptions(SHAPE, DEFAULTS, options);
  const { keepChars } = options;
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
    return fillBudget({ maxChars: keepChars, floors: "none" })(window).flatMap((edit) => {
      const message = "messageId" in edit ? old.get(edit.messageId) : undefined;
      return message === undefined ? [] : allowed(edit, message, mayGo);
    });
  };
}

/** Options of `keepLines`. */
export interface KeepLinesOptions {
  /** How many characters of the rendered window to keep. */
  readonly keepChars: number;
  /** How many of the newest results stay whole, with everything after the first of them. @default 10 */
  readonly protectResults?: number;
  /** How many of the newest turns stay whole. @default 0 */
  readonly protectTurns?: number;
  /** Tools whose calls are never touched; upper and lower case are the same. @default skill, ask_user_questions, question */
  readonly protectedTools?: readonly string[];
}

/** How many of the newest results stay whole by default. */
export const KEEP_LINES_PROTECT_RESULTS = 10;

/** The tools that `prune` protects, and those that ask the user. */
export const KEEP_LINES_PROTECTED_TOOLS: readonly string[] = [
  ...new Set([...PRUNE_PROTECTED_TOOLS, ...FORK_NO_TRUNCATION_TOOLS]),
];

const DEFAULTS: Required<Omit<KeepLinesOptions, "keepChars">> = {
  protectResults: KEEP_LINES_PROTECT_RESULTS,
  protectTurns: 0,
  protectedTools: KEEP_LINES_PROTECTED_TOOLS,
};

const SHAPE: Shape<KeepLinesOptions> = {
  keepChars: required(numberFrom(0)),
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

/** True for a finished message of the agent. */
function isOwnWork({ role, summary, metadata, parts }: Message): boolean {
  const isSummary = summary === true || SUMMARY_KINDS.has(metadata?.kind ?? "");
  return role === "assistant" && !isSummary && parts.every(isOver);
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
const STAGE = "keep-lines";

/** What an edit of `fillBudget` becomes in a conversation that continues. */
function allowed(edit: Edit, message: Message, mayGo: (part: Part) => boolean): readonly Edit[] {
  const isFree = message.parts.every(standsAlone);
  if (edit.type === "hide-message") {
    if (isFree && message.parts.every(mayGo)) return [{ ...edit, stage: STAGE, reason: "pruned" }];
    return message.parts.flatMap((part, partIndex) =>
      part.type === "tool" && part.agentVisible !== false && mayGo(part)
        ? hideCall({ message, partIndex, part }, isFree)
        : [],
    );
  }
  const part = "partIndex" in edit ? message.parts[edit.partIndex] : undefined;
  if (part === undefined || !mayGo(part)) return [];
  if (edit.type === "hide-part" && isFree) return [{ ...edit, stage: STAGE, reason: "pruned" }];
  if (part.type !== "tool") return [];
  if (edit.type === "hide-part") return hideCall({ message, partIndex: edit.partIndex, part }, isFree);
  if (edit.type !== "replace-part" || edit.part.type !== "tool") return [];
  return withLines({ message, partIndex: edit.partIndex, part }, edit.part);
}

/** True for a part that can be hidden, or have its neighbours hidden, without another one missing it. */
function standsAlone(part: Part): boolean {
  return PLAIN_PARTS.has(part.type) || (part.type === "opaque" && part.bookkeeping === true);
}

const PLAIN_PARTS: ReadonlySet<string> = new Set(["text", "reasoning", "tool"]);

function hideCall(call: ToolCall, isFree: boolean): readonly Edit[] {
  return isFree ? [hidePart(call, { stage: STAGE, reason: "pruned" })] : leaveLines(call, GAP_MARKER);
}

/** The call with the selected lines of its output. */
function withLines(call: ToolCall, chosen: ToolPart): readonly Edit[] {
  return leaveLines(call, outcomeText(chosen.outcome));
}

/** The call with these lines of its output and its handle; nothing where that is no shorter. */
function leaveLines({ message, partIndex, part }: ToolCall, lines: string): readonly Edit[] {
  const text = outcomeText(part.outcome);
  const handle = handleOf(message, partIndex);
  const notice = `\n${wholeResultNotice(handle)}`;
  const left = `${lines.endsWith(notice) ? lines.slice(0, -notice.length) : lines}${notice}`;
  if (left.length >= text.length) return [];
  const where = { messageId: message.id, partIndex, stage: STAGE } as const;
  if (lines === GAP_MARKER && hasMedia(part)) {
    const omitted = { chars: text.length, handle };
    return [{ type: "hide-part", what: "output", reason: "pruned", omitted, ...where }];
  }
  const originalChars = part.cut?.originalChars ?? text.length;
  const keptChars = lines === GAP_MARKER ? 0 : left.length;
  const cut = {
    ...part.cut,
    method: "lines",
    originalChars,
    omittedChars: Math.max(0, originalChars - keptChars),
    limitChars: keptChars,
  } as const;
  const omitted = { chars: text.length - left.length, handle };
  const shorter = { ...part, outcome: withText(part.outcome, left), cut };
  return [{ type: "replace-part", part: shorter, reason: "selected-lines", omitted, ...where }];
}

/** The last line of an output of which lines were left out. */
function wholeResultNotice(handle: Handle): string {
  return `[whole result: ${handle.replace(/\s+/g, " ")}]`;
}

function hasMedia({ outcome }: ToolPart): boolean {
  return outcome.status === "done" && outcome.attachments.length > 0;
}
