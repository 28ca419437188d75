import type { PastMessages } from "../../formats/read-transcript.ts";
import { charsOfText, outputText, partTexts } from "../../inspector/view/part-texts.ts";
import { createRecordedRows } from "../../inspector/view/recorded-rows.ts";
import type { ItemRow, NamedTotal } from "../../inspector/view/types.ts";
import { createWindowTotals } from "../../inspector/view/window-totals.ts";
import { tokenFamilyOf } from "../../models/token-family.ts";
import { measureWindow } from "../../session/recorded-measure.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { type FileAccess, fileAccess } from "../../stages/file-access.ts";
import { createRedactor } from "../../stages/redact.ts";
import { supersede } from "../../stages/supersede.ts";
import { groupBy } from "../../text/group-by.ts";
import { omitUndefined } from "../../text/unknown-value.ts";
import { toolResults } from "../../transcript/content.ts";
import { type ContextEstimate, estimateContextTokens } from "../../transcript/estimate-context.ts";
import { isVisibleToModel, type Transcript } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";

/** Measures a session and what fills its window. The result has sizes, names and handles, but no texts. */
export function profileSession(transcript: Transcript, { top, past }: ProfileOptions): SessionProfile {
  const model = transcript.findLast((message) => message.model !== undefined && !message.summary)?.model;
  const window = filterCompacted(transcript);
  const { rowOf } = createRecordedRows(tokenFamilyOf(model));
  const rows = window.filter(isVisibleToModel).map((message, index) => rowOf(message, index));
  const totals = createWindowTotals()("as-sent", rows, []);
  const items = rows
    .flatMap((row) => row.items)
    .filter(({ keptChars, keptTokens }) => keptChars + keptTokens > 0);
  const calls = callsOf(window);
  const superseded = supersede({ protectTurns: 0 })(transcript);
  const redactor = createRedactor();
  transcript.slice(past?.count ?? 0).forEach(redactor.message);
  const whole = estimateContextTokens(transcript, {
    estimator: "calibrated",
    epochStartIndex: Number.POSITIVE_INFINITY,
    ...(model && { model }),
  });
  const { source, outsideTokens, ...size } = measureWindow(transcript);
  return {
    ...wholeSize(transcript, { ...whole, past }),
    compactions:
      transcript.filter((message) => message.summary && message.error === undefined).length +
      (past?.older.compactions ?? 0),
    ...(model && { model: model.id }),
    window: {
      ...sizeOf(window, { ...size, chars: totals.charsAfter }),
      source,
      ...(outsideTokens !== undefined && { outsideTokens }),
    },
    byKind: byKind(items),
    byTool: byTool(totals.byTool, calls),
    byFile: byFile(totals.byFile, calls),
    largest: sortDescending(items, ({ keptTokens }) => keptTokens)
      .slice(0, top)
      .map(({ kind, handle, keptChars: chars, keptTokens: tokens, tool, path }) =>
        omitUndefined({ kind, handle, chars, tokens, tool, path }),
      ),
    superseded: {
      results: superseded.length,
      chars: sumOf(superseded, ({ omitted }) => omitted?.chars ?? 0),
    },
    secrets: sortDescending(
      Array.from(redactor.found, ([type, count]) => ({ type, count })),
      ({ count }) => count,
    ),
  };
}

interface ProfileOptions {
  /** How many of the largest items are listed. */
  readonly top: number;
  /** What was dropped of a large file: secrets are not looked for in what is left of it. */
  readonly past?: PastMessages | undefined;
}

export interface SessionProfile extends Size {
  /** Completed compactions. */
  readonly compactions: number;
  readonly model?: string;
  /** What the model would be sent next; the whole session if nothing was compacted. */
  readonly window: WindowSize;
  /** What fills the window, largest first. */
  readonly byKind: readonly KindProfile[];
  readonly byTool: readonly ToolProfile[];
  readonly byFile: readonly FileProfile[];
  readonly largest: readonly LargeItem[];
  /** Results in the window that a newer one replaces. */
  readonly superseded: { readonly results: number; readonly chars: number };
  /** Secrets anywhere in the session, or of a large file in what is kept whole, by type. */
  readonly secrets: readonly SecretCount[];
}

/** The size of a transcript: messages without system prompts, finished calls, all texts. */
export interface Size {
  readonly messages: number;
  readonly toolResults: number;
  readonly chars: number;
  /** The estimate, and the range in which the exact number probably lies. */
  readonly tokens: number;
  readonly tokensLow: number;
  readonly tokensHigh: number;
}

interface WindowSize extends Size {
  /** `usage`: mostly counted by the provider, with system prompt and tool definitions. */
  readonly source: "usage" | "heuristic";
  /** What the provider counted beyond the messages: system prompt, tool definitions, thinking that is not recorded. */
  readonly outsideTokens?: number;
}

interface KindProfile {
  readonly kind: ItemRow["kind"];
  readonly count: number;
  readonly chars: number;
  readonly tokens: number;
}

export interface ToolProfile {
  readonly tool: string;
  readonly calls: number;
  readonly failed: number;
  /** Inputs and outputs. */
  readonly chars: number;
  readonly tokens: number;
}

interface FileProfile {
  readonly path: string;
  readonly reads: number;
  readonly changes: number;
  readonly chars: number;
  readonly tokens: number;
  /** Reads of lines that were read before. */
  readonly repeatedReads: number;
  readonly repeatedChars: number;
}

type LargeItem = Pick<ItemRow, "kind" | "handle" | "chars" | "tokens" | "tool" | "path">;

/** The number of secrets of a type. */
export interface SecretCount {
  readonly type: string;
  readonly count: number;
}

function sizeOf(
  transcript: Transcript,
  { tokens, low, high, chars }: Estimate & { readonly chars: number },
): Size {
  return {
    messages: transcript.filter((message) => message.role !== "system" && isVisibleToModel(message)).length,
    toolResults: toolResults(transcript).length,
    chars,
    tokens,
    tokensLow: low,
    tokensHigh: high,
  };
}

type Estimate = Pick<ContextEstimate, "tokens" | "low" | "high">;

/** With what was not kept of a large file: as many tokens a character as in what was. */
function wholeSize(
  transcript: Transcript,
  { tokens, low, high, past }: Estimate & Pick<ProfileOptions, "past">,
): Size {
  const { older } = past ?? { older: { messages: 0, toolResults: 0, chars: 0 } };
  const counted = countChars(transcript);
  const chars = counted.chars + older.chars;
  const share = counted.keptChars === 0 ? 1 : (counted.recordedChars + older.chars) / counted.keptChars;
  const scaled = (count: number): number => Math.round(count * share);
  const size = sizeOf(transcript, { tokens: scaled(tokens), low: scaled(low), high: scaled(high), chars });
  return {
    ...size,
    messages: size.messages + older.messages,
    toolResults: size.toolResults + older.toolResults,
  };
}

/** The characters of everything that takes room, reasoning included; what was recorded of all texts, and kept of it. */
function countChars(transcript: Transcript): Record<"chars" | "keptChars" | "recordedChars", number> {
  let [chars, keptChars, recordedChars] = [0, 0, 0];
  for (const message of transcript) {
    const isVisible = isVisibleToModel(message);
    for (const part of message.parts)
      for (const text of partTexts(message, part, "shown")) {
        keptChars += text.text.length;
        recordedChars += charsOfText(text);
        if (isVisible && part.agentVisible !== false) chars += charsOfText(text);
      }
  }
  return { chars, keptChars, recordedChars };
}

/** The calls of a window that the model can see. */
function callsOf(window: Transcript): readonly ToolPart[] {
  return window
    .filter(isVisibleToModel)
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === "tool")
    .filter(({ agentVisible }) => agentVisible !== false);
}

function byKind(items: readonly ItemRow[]): readonly KindProfile[] {
  const rows = Array.from(
    groupBy(items, ({ kind }) => kind),
    ([kind, group]) => ({
      kind,
      count: group.length,
      chars: sumOf(group, ({ keptChars }) => keptChars),
      tokens: sumOf(group, ({ keptTokens }) => keptTokens),
    }),
  );
  return sortDescending(rows, ({ tokens }) => tokens);
}

function byTool(totals: readonly NamedTotal[], calls: readonly ToolPart[]): readonly ToolProfile[] {
  const callsByTool = groupBy(calls, ({ tool }) => tool);
  const rows = totals.map(({ name, charsAfter, tokensAfter }) => {
    const own = callsByTool.get(name) ?? [];
    const failed = own.filter(({ outcome }) => outcome.status === "failed").length;
    return { tool: name, calls: own.length, failed, chars: charsAfter, tokens: tokensAfter };
  });
  return sortDescending(rows, ({ tokens }) => tokens);
}

/** The files that calls name; shell commands name none. */
function byFile(totals: readonly NamedTotal[], calls: readonly ToolPart[]): readonly FileProfile[] {
  const accesses = calls.flatMap((part) => {
    const access = fileAccess(part);
    return access === undefined ? [] : [{ ...access, outputChars: outputText(part, "shown").length }];
  });
  const accessesByPath = groupBy(accesses, ({ path }) => path);
  const rows = totals.map(({ name, charsAfter, tokensAfter }) => {
    const own = accessesByPath.get(name) ?? [];
    const repeated = repeatedReads(own.filter(({ outputChars }) => outputChars > 0));
    const reads = own.filter(({ type }) => type === "read").length;
    return {
      path: name,
      reads,
      changes: own.length - reads,
      chars: charsAfter,
      tokens: tokensAfter,
      repeatedReads: repeated.length,
      repeatedChars: sumOf(repeated, ({ outputChars }) => outputChars),
    };
  });
  return sortDescending(rows, ({ tokens }) => tokens);
}

/** The reads that ask for the same lines as an earlier one. */
function repeatedReads<Access extends FileAccess>(accesses: readonly Access[]): readonly Access[] {
  const seen = new Set<string>();
  return accesses.filter((access) => {
    if (access.type !== "read") return false;
    const question = `${access.question}\n${access.startLine}\n${access.maxLines}`;
    const isRepeated = seen.has(question);
    seen.add(question);
    return isRepeated;
  });
}

/** The sum of a number of each item. */
export function sumOf<Item>(items: readonly Item[], measure: (item: Item) => number): number {
  return items.reduce((total, item) => total + measure(item), 0);
}

/** The items sorted by a number, the largest first. */
export function sortDescending<Item>(
  items: readonly Item[],
  measure: (item: Item) => number,
): readonly Item[] {
  return items.toSorted((one, other) => measure(other) - measure(one));
}
