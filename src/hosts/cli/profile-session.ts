import { compact } from "../../formats/fields.ts";
import { findCompletedCompaction } from "../../stages/completed-compaction.ts";
import { filterCompacted } from "../../stages/filter-compacted.ts";
import { supersede } from "../../stages/supersede.ts";
import { tokenFamilyOf } from "../../text/token-model-families.ts";
import { estimateContextTokens } from "../../transcript/estimate-context-tokens.ts";
import type { ModelRef, Transcript } from "../../transcript/message.ts";
import { toolResults } from "../../transcript/tool-results.ts";
import { isVisibleToModel } from "../../transcript/visibility.ts";
import { type FileProfile, profileFiles } from "./profile-files.ts";
import { charsIn, type Item, type ItemKind, itemsOf } from "./profile-items.ts";
import { countSecrets, type SecretCount } from "./profile-secrets.ts";

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

export interface WindowSize extends Size {
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

export interface ProfileOptions {
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
  return compact({ kind, handle, chars, tokens, tool, path: access?.path });
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
