import { countMedia, partTexts } from "../../inspector/view/recorded-rows.ts";
import type { TextKind } from "../../inspector/view/types.ts";
import { filterCompacted, findCompletedCompaction } from "../../stages/boundary.ts";
import type { FileAccess } from "../../stages/file-access.ts";
import { createRedactor } from "../../stages/redact.ts";
import { supersede } from "../../stages/supersede.ts";
import { omitUndefined } from "../../text/json.ts";
import { estimateTokens, type TokenFamily, tokenFamilyOf } from "../../text/tokens/estimate-tokens.ts";
import type { Handle } from "../../transcript/edit.ts";
import { estimateContextTokens } from "../../transcript/estimate-context.ts";
import { IMAGE_CHARS } from "../../transcript/estimate-message.ts";
import { isVisibleToModel, type ModelRef, type Transcript } from "../../transcript/message.ts";
import { handleOf, toolResults } from "../../transcript/tool-results.ts";

/** What is in a session and what fills its window. Says sizes, names and places, never what a text says. */
export interface SessionProfile extends Size {
  /** Compactions that ended well. */
  readonly compactions: number;
  readonly model?: string;
  /** What the model would be sent next; the same as the session where nothing was compacted. */
  readonly window: WindowSize;
  /** What fills the window, largest first. */
  readonly byKind: readonly KindProfile[];
  readonly byTool: readonly ToolProfile[];
  readonly byFile: readonly FileProfile[];
  readonly largest: readonly LargeItem[];
  /** Results in the window that something newer makes needless. */
  readonly superseded: { readonly results: number; readonly chars: number };
  /** Secrets anywhere in the session, by kind. */
  readonly secrets: readonly SecretCount[];
}

/** How much a transcript is: messages without system prompts, finished calls, all texts. */
export interface Size {
  readonly messages: number;
  readonly toolResults: number;
  readonly chars: number;
  /** The estimate, and between what the exact count probably lies. */
  readonly tokens: number;
  readonly tokensLow: number;
  readonly tokensHigh: number;
}

interface WindowSize extends Size {
  /** `usage`: the provider counted most of it, so that system prompt and tool definitions are in it. */
  readonly source: "usage" | "heuristic";
}

export interface KindProfile {
  readonly kind: ItemKind;
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

export interface LargeItem extends Pick<Item, "kind" | "handle" | "chars" | "tokens" | "tool"> {
  readonly path?: string;
}

interface ProfileOptions {
  /** How many of the largest items are named. */
  readonly top: number;
}

/** Measures a session without changing it. */
export function profileSession(transcript: Transcript, { top }: ProfileOptions): SessionProfile {
  const model = transcript.findLast((message) => message.model !== undefined && !message.summary)?.model;
  const window = filterCompacted(transcript);
  const items = itemsOf(window, model === undefined ? "gpt" : tokenFamilyOf(model.id));
  const superseded = supersede({ protectTurns: 0 })(transcript);
  return {
    ...wholeSize(transcript, model),
    compactions: transcript.filter((message) => message.summary && message.error === undefined).length,
    ...(model && { model: model.id }),
    window: windowSize(transcript, window, model),
    byKind: byKind(items),
    byTool: byTool(items),
    byFile: profileFiles(items),
    largest: items
      .toSorted((a, b) => b.tokens - a.tokens)
      .slice(0, top)
      .map(largeItem),
    superseded: {
      results: superseded.length,
      chars: superseded.reduce((sum, edit) => sum + (edit.omitted?.chars ?? 0), 0),
    },
    secrets: countSecrets(transcript),
  };
}

function largeItem({ kind, handle, chars, tokens, tool, access }: Item): LargeItem {
  return omitUndefined({ kind, handle, chars, tokens, tool, path: access?.path });
}

function wholeSize(transcript: Transcript, model: ModelRef | undefined): Size {
  const { tokens, low, high } = estimateContextTokens(transcript, {
    estimator: "calibrated",
    epochStartIndex: Number.POSITIVE_INFINITY,
    ...(model && { model }),
  });
  return { ...counts(transcript), tokens, tokensLow: low, tokensHigh: high };
}

function windowSize(transcript: Transcript, window: Transcript, model: ModelRef | undefined): WindowSize {
  const { tokens, low, high, source } = estimateContextTokens(window, {
    estimator: "calibrated",
    epochStartIndex: epochStart(transcript, window),
    ...(model && { model }),
  });
  return { ...counts(window), tokens, tokensLow: low, tokensHigh: high, source };
}

/** Usage from before the compaction, in the tail that it kept, describes a window that is gone. */
function epochStart(transcript: Transcript, window: Transcript): number {
  const completed = findCompletedCompaction(transcript);
  if (completed === undefined) return 0;
  const newer = new Set(transcript.slice(completed.summaryIndex + 1).map(({ id }) => id));
  const index = window.findIndex(({ id }) => newer.has(id));
  return index === -1 ? window.length : index;
}

function counts(transcript: Transcript): Pick<Size, "messages" | "toolResults" | "chars"> {
  return {
    messages: transcript.filter((message) => message.role !== "system" && isVisibleToModel(message)).length,
    toolResults: toolResults(transcript).length,
    chars: charsIn(transcript),
  };
}

function byKind(items: readonly Item[]): readonly KindProfile[] {
  const rows = new Map<ItemKind, { count: number; chars: number; tokens: number }>();
  for (const { kind, chars, tokens } of items) {
    const row = rows.get(kind) ?? { count: 0, chars: 0, tokens: 0 };
    rows.set(kind, { count: row.count + 1, chars: row.chars + chars, tokens: row.tokens + tokens });
  }
  return Array.from(rows, ([kind, row]) => ({ kind, ...row })).sort((a, b) => b.tokens - a.tokens);
}

function byTool(items: readonly Item[]): readonly ToolProfile[] {
  const rows = new Map<string, { calls: number; failed: number; chars: number; tokens: number }>();
  for (const { tool, kind, failed, chars, tokens } of items) {
    if (tool === undefined) continue;
    const row = rows.get(tool) ?? { calls: 0, failed: 0, chars: 0, tokens: 0 };
    rows.set(tool, {
      calls: row.calls + (kind === "tool input" ? 1 : 0),
      failed: row.failed + (failed ? 1 : 0),
      chars: row.chars + chars,
      tokens: row.tokens + tokens,
    });
  }
  return Array.from(rows, ([tool, row]) => ({ tool, ...row })).sort((a, b) => b.tokens - a.tokens);
}

/** One thing that takes room in a window. */
interface Item {
  readonly kind: ItemKind;
  /** Where it is. */
  readonly handle: Handle;
  readonly chars: number;
  readonly tokens: number;
  readonly tool?: string;
  readonly failed?: true;
  /** What a call did to which file, where that can be told. */
  readonly access?: FileAccess;
}

type ItemKind = TextKind;

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

/** The characters of everything that takes room, reasoning included. */
function charsIn(window: Transcript): number {
  let chars = 0;
  for (const message of window) {
    if (!isVisibleToModel(message)) continue;
    for (const part of message.parts)
      if (part.agentVisible !== false)
        for (const { text } of partTexts(message, part, "shown")) chars += text.length;
  }
  return chars;
}

const MEDIA_TOKENS = IMAGE_CHARS / 4;

/** How much of a window is about one file. */
interface FileProfile {
  readonly path: string;
  readonly reads: number;
  readonly changes: number;
  readonly chars: number;
  readonly tokens: number;
  /** The same lines asked for again: how many reads could have been one, and what they brought in. */
  readonly repeatedReads: number;
  readonly repeatedChars: number;
}

/** The files that calls name, those that take the most room first. Shell commands name none. */
function profileFiles(items: readonly Item[]): readonly FileProfile[] {
  const files = new Map<string, Mutable<FileProfile>>();
  const asked = new Set<string>();
  for (const { access, kind, chars, tokens } of items) {
    if (access?.path === undefined) continue;
    const file = files.get(access.path) ?? { ...NOTHING, path: access.path };
    files.set(access.path, file);
    file.chars += chars;
    file.tokens += tokens;
    if (kind === "tool input") {
      if (access.type === "read") file.reads++;
      else file.changes++;
    } else if (access.type === "read") {
      const question = `${access.question}\n${access.startLine}\n${access.maxLines}`;
      if (asked.has(question)) {
        file.repeatedReads++;
        file.repeatedChars += chars;
      }
      asked.add(question);
    }
  }
  return [...files.values()].sort((a, b) => b.tokens - a.tokens);
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const NOTHING: Omit<FileProfile, "path"> = {
  reads: 0,
  changes: 0,
  chars: 0,
  tokens: 0,
  repeatedReads: 0,
  repeatedChars: 0,
};

/** How many secrets of a kind there are. */
export interface SecretCount {
  readonly type: string;
  readonly count: number;
}

/** Counts secrets by kind, in everything that the page of a session would redact; the most frequent first. */
function countSecrets(transcript: Transcript): readonly SecretCount[] {
  const { message, found } = createRedactor();
  transcript.forEach(message);
  return Array.from(found, ([type, count]) => ({ type, count })).sort((a, b) => b.count - a.count);
}
