import type { PastMessages } from "../../formats/read-transcript.ts";
import { charsOfText, countMedia, partTexts } from "../../inspector/view/part-texts.ts";
import type { TextKind } from "../../inspector/view/types.ts";
import { tokenFamilyOf } from "../../models/token-family.ts";
import { measureWindow } from "../../session/recorded-measure.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import type { FileAccess } from "../../stages/file-access.ts";
import { createRedactor } from "../../stages/redact.ts";
import { supersede } from "../../stages/supersede.ts";
import { groupBy } from "../../text/group-by.ts";
import { estimateTokens, type TokenFamily } from "../../text/tokens/estimate-tokens.ts";
import { omitUndefined } from "../../text/unknown-value.ts";
import { handleOf, toolResults } from "../../transcript/content.ts";
import type { Handle } from "../../transcript/edit.ts";
import { type ContextEstimate, estimateContextTokens } from "../../transcript/estimate-context.ts";
import { IMAGE_CHARS } from "../../transcript/estimate-message.ts";
import { isVisibleToModel, type Transcript } from "../../transcript/message.ts";

/** Measures a session and what fills its window. The result has sizes, names and handles, but no texts. */
export function profileSession(transcript: Transcript, { top, past }: ProfileOptions): SessionProfile {
  const model = transcript.findLast((message) => message.model !== undefined && !message.summary)?.model;
  const window = filterCompacted(transcript);
  const items = itemsOf(window, tokenFamilyOf(model));
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
    window: { ...sizeOf(window, size), source, ...(outsideTokens !== undefined && { outsideTokens }) },
    byKind: byKind(items),
    byTool: byTool(items),
    byFile: byFile(items),
    largest: sortDescending(items, ({ tokens }) => tokens)
      .slice(0, top)
      .map(({ kind, handle, chars, tokens, tool, access }) =>
        omitUndefined({ kind, handle, chars, tokens, tool, path: access?.path }),
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
  /** What was let go of a large file: secrets are not looked for in what is left of it. */
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
  readonly kind: TextKind;
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

interface LargeItem extends Pick<Item, "kind" | "handle" | "chars" | "tokens" | "tool"> {
  readonly path?: string;
}

/** The number of secrets of a type. */
export interface SecretCount {
  readonly type: string;
  readonly count: number;
}

function sizeOf(
  transcript: Transcript,
  { tokens, low, high, chars = countChars(transcript).chars }: Estimate & { readonly chars?: number },
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

/** One thing that takes room in a window. */
interface Item {
  readonly kind: TextKind;
  readonly handle: Handle;
  readonly chars: number;
  readonly tokens: number;
  readonly tool?: string;
  readonly failed?: true;
  /** What a call did to which file, if known. */
  readonly access?: FileAccess;
}

/** Everything that takes room in a window, oldest first. A call gives two items, its input and its output. */
function itemsOf(window: Transcript, family: TokenFamily): readonly Item[] {
  const items: Item[] = [];
  for (const message of window) {
    if (!isVisibleToModel(message)) continue;
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.agentVisible === false) continue;
      const handle = handleOf(message, partIndex);
      for (const { text, side: _, ...item } of partTexts(message, part, "shown")) {
        const tokens = estimateTokens(text, { estimator: "calibrated", family });
        if (text !== "") items.push({ ...item, handle, chars: text.length, tokens });
      }
      const media = countMedia(part, "shown");
      if (media > 0) items.push({ kind: "media", handle, chars: 0, tokens: media * MEDIA_TOKENS });
    }
  }
  return items;
}

const MEDIA_TOKENS = IMAGE_CHARS / 4;

function byKind(items: readonly Item[]): readonly KindProfile[] {
  const rows = Array.from(
    groupBy(items, ({ kind }) => kind),
    ([kind, group]) => ({ kind, count: group.length, ...sumOfItems(group) }),
  );
  return sortDescending(rows, ({ tokens }) => tokens);
}

function byTool(items: readonly Item[]): readonly ToolProfile[] {
  const rows = Array.from(
    groupBy(items, ({ tool }) => tool),
    ([tool, group]) => ({
      tool,
      calls: group.filter(({ kind }) => kind === "tool input").length,
      failed: group.filter(({ failed }) => failed).length,
      ...sumOfItems(group),
    }),
  );
  const ofTools = rows.flatMap(({ tool, ...row }) => (tool === undefined ? [] : [{ tool, ...row }]));
  return sortDescending(ofTools, ({ tokens }) => tokens);
}

/** The files that calls name; shell commands name none. */
function byFile(items: readonly Item[]): readonly FileProfile[] {
  const rows = Array.from(
    groupBy(items, ({ access }) => access?.path),
    ([path, group]) => {
      const inputs = group.filter(({ kind }) => kind === "tool input");
      const repeated = repeatedReads(group.filter(({ kind }) => kind !== "tool input"));
      return {
        path,
        reads: inputs.filter(({ access }) => access?.type === "read").length,
        changes: inputs.filter(({ access }) => access?.type !== "read").length,
        ...sumOfItems(group),
        repeatedReads: repeated.length,
        repeatedChars: sumOf(repeated, ({ chars }) => chars),
      };
    },
  );
  const ofFiles = rows.flatMap(({ path, ...row }) => (path === undefined ? [] : [{ path, ...row }]));
  return sortDescending(ofFiles, ({ tokens }) => tokens);
}

/** The outputs of reads that ask for the same lines as an earlier one. */
function repeatedReads(outputs: readonly Item[]): readonly Item[] {
  const seen = new Set<string>();
  return outputs.filter(({ access }) => {
    if (access?.type !== "read") return false;
    const question = `${access.question}\n${access.startLine}\n${access.maxLines}`;
    const isRepeated = seen.has(question);
    seen.add(question);
    return isRepeated;
  });
}

function sumOfItems(items: readonly Item[]): Pick<Item, "chars" | "tokens"> {
  return { chars: sumOf(items, ({ chars }) => chars), tokens: sumOf(items, ({ tokens }) => tokens) };
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
