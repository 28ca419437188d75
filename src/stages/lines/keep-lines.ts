import {
  limitFrom,
  listOf,
  numberFrom,
  readOptions,
  required,
  type Shape,
  text,
  withDefault,
} from "../../text/check.ts";
import { safeJson } from "../../text/json.ts";
import {
  createToolMatcher,
  handleOf,
  hasOnlyStub,
  outcomeText,
  spanHandle,
  type ToolCall,
  type ToolResult,
  toolResults,
} from "../../transcript/content.ts";
import { type Edit, hideMessage, hidePart, type Stage } from "../../transcript/edit.ts";
import { charsOf } from "../../transcript/estimate-message.ts";
import {
  isVisibleToModel,
  type Message,
  type MessageId,
  type Transcript,
  withText,
} from "../../transcript/message.ts";
import type { Handle, Part, ToolOutcome, ToolPart } from "../../transcript/part.ts";
import { filterCompacted, startOfNewestTurns } from "../boundary.ts";
import { PRUNE_PROTECTED_TOOLS } from "../prune.ts";
import { FORK_NO_TRUNCATION_TOOLS } from "../tiers.ts";
import { fillBudget } from "./fill.ts";
import { GAP_MARKER } from "./select.ts";

/**
 * Prunes old work by line with the selection of `fillBudget`: an output keeps its best lines, while a message or call
 * of the agent is kept or hidden as a whole, so that the model never sees gaps in its own text. What users said, the
 * final answer of each turn, summaries and the newest results stay as they are, so the rest can be longer than
 * `keepChars`. A shortened output ends with its handle; of calls that are hidden one after another one stays, with the
 * handle of all of them as its output. What no format understands stays where it is, and beside it only outputs get
 * shorter, since it may refer to its neighbours; a host's own records hold nothing back.
 */
export function keepLines(options: KeepLinesOptions): Stage {
  const { keepChars, protectResults, protectTurns, protectedTools, protectChars } = readOptions(
    SHAPE,
    options,
  );
  const isProtected = createToolMatcher(protectedTools);
  const mayGo = (part: Part): boolean => part.type !== "tool" || !isProtected(part.tool);

  return (transcript) => {
    const window = filterCompacted(transcript);
    const newest = startOfNewest(window, { count: protectResults, maxChars: protectChars });
    const end = Math.min(newest, startOfNewestTurns(window, protectTurns));
    const old = new Map(
      window
        .slice(0, end)
        .filter((message, index) => isOwnWork(message) && !isLastWord(message, window[index + 1]))
        .map((message) => [message.id, message]),
    );
    if (old.size === 0) return [];
    const edits = fillBudget({ maxChars: keepChars, minimums: "none" })(window).flatMap((edit) => {
      const message = "messageId" in edit ? old.get(edit.messageId) : undefined;
      return message === undefined ? [] : allowed(edit, message, mayGo);
    });
    return nameHiddenCalls(edits, window, transcript);
  };
}

/** Options of `keepLines`. */
export interface KeepLinesOptions {
  /** How many characters of the rendered window to keep. */
  readonly keepChars: number;
  /** How many of the newest results stay whole, with everything after the first of them. @default 10 */
  readonly protectResults?: number;
  /** Of these results only so many characters stay whole; the newest always does. @default no limit */
  readonly protectChars?: number;
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

const SHAPE: Shape<KeepLinesOptions, Exclude<keyof KeepLinesOptions, "keepChars">> = {
  keepChars: required(numberFrom(0)),
  protectResults: withDefault(limitFrom(0), KEEP_LINES_PROTECT_RESULTS),
  protectChars: withDefault(limitFrom(0), Number.POSITIVE_INFINITY),
  protectTurns: withDefault(numberFrom(0), 0),
  protectedTools: withDefault(listOf(text), KEEP_LINES_PROTECTED_TOOLS),
};

/** The index of the message with the oldest of the newest results; 0 while there are no more results than these. */
function startOfNewest(
  window: Transcript,
  { count, maxChars }: { readonly count: number; readonly maxChars: number },
): number {
  if (count === 0) return window.length;
  const results = toolResults(window);
  let chars = 0;
  for (let number = 1; number <= Math.min(count, results.length); number++) {
    chars += outcomeText(results.at(-number)?.part.outcome ?? PENDING).length;
    if (number > 1 && chars > maxChars) return indexOfResult(results.at(1 - number));
  }
  return results.length < count ? 0 : indexOfResult(results.at(-count));

  function indexOfResult(result: ToolResult | undefined): number {
    return result === undefined ? 0 : window.indexOf(result.message);
  }
}

const PENDING: ToolOutcome = { status: "pending" };

/** True for a finished message of the agent. */
function isOwnWork({ role, summary, metadata, parts }: Message): boolean {
  const isSummary = summary === true || SUMMARY_KINDS.has(metadata?.kind ?? "");
  return role === "assistant" && !isSummary && parts.every(isOver);
}

/** False for a call that is still running. */
function isOver(part: Part): boolean {
  return part.type !== "tool" || part.outcome.status !== "pending";
}

/** True for the final answer of a turn. Without it, a user message would follow directly on a tool call. */
function isLastWord({ parts }: Message, next: Message | undefined): boolean {
  const hasCall = parts.some(({ type, agentVisible }) => type === "tool" && agentVisible !== false);
  return next?.role !== "assistant" && !hasCall;
}

const SUMMARY_KINDS: ReadonlySet<string> = new Set(["tool_summary", "compaction_summary"]);
const STAGE = "keep-lines";

/** Adapts an edit of `fillBudget` to a conversation that continues. */
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
  if (part.type !== "tool")
    return edit.type === "hide-part" && isFree ? [{ ...edit, stage: STAGE, reason: "pruned" }] : [];
  if (edit.type === "hide-part") return hideCall({ message, partIndex: edit.partIndex, part }, isFree);
  if (edit.type !== "replace-part" || edit.part.type !== "tool") return [];
  return withLines({ message, partIndex: edit.partIndex, part }, edit.part);
}

/** True for a part that can be hidden without breaking a neighbor, and whose neighbors can be hidden. */
function standsAlone(part: Part): boolean {
  return PLAIN_PARTS.has(part.type) || (part.type === "opaque" && part.bookkeeping === true);
}

const PLAIN_PARTS: ReadonlySet<string> = new Set(["text", "reasoning", "tool"]);

/**
 * Hides the output of a call and leaves its handle. If the call itself is long and alone in its message, the message
 * is hidden.
 */
function hideCall(call: ToolCall, isFree: boolean): readonly Edit[] {
  const { message, part } = call;
  const calls = message.parts.filter(({ type, agentVisible }) => type === "tool" && agentVisible !== false);
  const isLong = safeJson(part.input ?? null).length > MAX_STUB_INPUT_CHARS;
  return isFree && isLong && calls.length === 1
    ? [hideMessage(message, { stage: STAGE, reason: "pruned" })]
    : leaveLines(call, GAP_MARKER);
}

/** A call without its output is only kept when its input is shorter than this. */
const MAX_STUB_INPUT_CHARS = 1_000;

/** The call with the selected lines of its output. */
function withLines(call: ToolCall, chosen: ToolPart): readonly Edit[] {
  return leaveLines(call, outcomeText(chosen.outcome));
}

/** The call with these lines of its output and a handle for the rest; nothing when that is not shorter. */
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

/** Of a run of hidden calls one stays, with a handle for all of them. */
function nameHiddenCalls(
  edits: readonly Edit[],
  window: Transcript,
  transcript: Transcript,
): readonly Edit[] {
  const hidden = new Set(edits.flatMap((edit) => (edit.type === "hide-message" ? edit.messageId : [])));
  if (hidden.size === 0) return edits;
  const named = new Map<MessageId, readonly Edit[]>();
  let place = 0;
  for (const run of runsOf(window, ({ id }) => hidden.has(id))) {
    const [first] = run;
    if (first !== undefined && run.length === 1 && isStub(first)) {
      named.set(first.id, []);
      continue;
    }
    place = Math.max(0, transcript.indexOf(first as Message, place));
    const stub = stubOf(run, spanOf(run, transcript, place));
    if (stub === undefined) continue;
    const whole = run.reduce((sum, message) => sum + charsOf(message), 0);
    // When the handle is not shorter than the calls, keep them.
    if (stub.chars >= whole) for (const { id } of run) named.set(id, []);
    else named.set(stub.messageId, stub.edits);
  }
  return [
    ...edits.filter((edit) => !("messageId" in edit && named.has(edit.messageId))),
    ...[...named.values()].flat(),
  ];
}

function runsOf(window: Transcript, isIn: (message: Message) => boolean): readonly Transcript[] {
  const runs: Message[][] = [];
  for (const [index, message] of window.entries()) {
    if (!isIn(message)) continue;
    const before = window[index - 1];
    if (before !== undefined && isIn(before)) runs.at(-1)?.push(message);
    else runs.push([message]);
  }
  return runs;
}

/** True for the remainder of earlier hidden calls. */
function isStub({ parts }: Message): boolean {
  const visible = parts.filter(({ agentVisible }) => agentVisible !== false);
  return visible.length > 0 && visible.every((part) => part.type === "tool" && hasOnlyStub(part));
}

/**
 * Chooses the call that stays for a run; undefined when there is none. The last one is used, so that it is also in
 * the batch when only the later edits are made; if all inputs are long, the shortest.
 */
function stubOf(run: Transcript, span: Transcript): Stub | undefined {
  const calls = toolResults(run).filter((each) => !hasMedia(each.part) && isFirstSigned(each));
  const call =
    calls.findLast((each) => inputChars(each) <= MAX_STUB_INPUT_CHARS) ??
    calls.toSorted((one, other) => inputChars(one) - inputChars(other))[0];
  if (call === undefined) return undefined;
  const { message, partIndex, part } = call;
  const handle = spanHandle(span);
  const count = span.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool")).length;
  const text = `[${count} ${count === 1 ? "call" : "calls"} left out here, whole: ${handle.replace(/\s+/g, " ")}]`;
  const others = message.parts.flatMap((other, index) =>
    index !== partIndex && other.agentVisible !== false && PLAIN_PARTS.has(other.type)
      ? [hidePart({ message, partIndex: index, part: other }, { stage: STAGE, reason: "pruned" })]
      : [],
  );
  const originalChars = part.cut?.originalChars ?? outcomeText(part.outcome).length;
  const cut = {
    ...part.cut,
    method: "lines",
    originalChars,
    omittedChars: originalChars,
    limitChars: 0,
  } as const;
  const replaced: Edit = {
    type: "replace-part",
    messageId: message.id,
    partIndex,
    part: { ...part, outcome: withText(part.outcome, text), cut },
    stage: STAGE,
    reason: "pruned",
    omitted: { chars: run.reduce((sum, each) => sum + charsOf(each), 0), handle },
  };
  return { messageId: message.id, edits: [...others, replaced], chars: text.length + inputChars(call) };
}

interface Stub {
  readonly messageId: MessageId;
  readonly edits: readonly Edit[];
  /** Characters that it takes in the window. */
  readonly chars: number;
}

function inputChars({ part }: ToolCall): number {
  return part.tool.length + safeJson(part.input ?? null).length;
}

/** False for a call that needs the signature of another call: it cannot stay alone. */
function isFirstSigned({ message, part }: ToolCall): boolean {
  return part.signed === true || !message.parts.some((other) => other.type === "tool" && other.signed);
}

/**
 * Extends a run of hidden messages by adjacent ones that were hidden before. The search for the first starts at
 * `from`.
 */
function spanOf(run: Transcript, transcript: Transcript, from: number): Transcript {
  const isHidden = (message: Message | undefined): boolean =>
    message?.role === "assistant" && !isVisibleToModel(message);
  let start = transcript.indexOf(run[0] as Message, from);
  let end = transcript.indexOf(run.at(-1) as Message, Math.max(0, start));
  if (start === -1 || end === -1) return run;
  while (isHidden(transcript[start - 1])) start--;
  while (isHidden(transcript[end + 1])) end++;
  return transcript.slice(start, end + 1);
}

function hasMedia({ outcome }: ToolPart): boolean {
  return outcome.status === "done" && outcome.attachments.length > 0;
}
