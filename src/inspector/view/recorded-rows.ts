import { type FileAccess, fileAccess } from "../../stages/file-access.ts";
import { GAP_MARKER } from "../../stages/lines/select.ts";
import {
  FORK_TIER1_COUNT,
  FORK_TIER2_COUNT,
  FORK_TIER2_LIMIT,
  FORK_TIER3_LIMIT,
} from "../../stages/tiers.ts";
import { formatNumber } from "../../text/format-number.ts";
import { safeJson } from "../../text/json.ts";
import { estimateTokens, type TokenFamily } from "../../text/tokens/estimate-tokens.ts";
import type { Cut } from "../../text/truncate.ts";
import { handleOf, isCleared, isMedia, outcomeText } from "../../transcript/content.ts";
import { IMAGE_CHARS } from "../../transcript/estimate-message.ts";
import {
  isSummary,
  isVisibleToModel,
  type Message,
  shownOutcome,
  type Transcript,
} from "../../transcript/message.ts";
import type { Part, ToolPart } from "../../transcript/part.ts";
import type { Fate, ItemRow, ItemSide, MessageRow, TextKind } from "./types.ts";

/** Gives the row of a message as it was recorded; each message is measured once. */
export interface RecordedRows {
  rowOf(message: Message, index: number): MessageRow;
  /** About how many tokens a text has, for the model of this session. */
  tokensOf(text: string): number;
}

export function createRecordedRows(family: TokenFamily): RecordedRows {
  const rows = new WeakMap<Message, MessageRow>();
  const tokensOf = (text: string): number => estimateTokens(text, { estimator: "calibrated", family });
  return {
    tokensOf,
    rowOf(message, index) {
      const known = rows.get(message);
      if (known?.index === index) return known;
      const row = known === undefined ? measure(message, index, tokensOf) : { ...known, index };
      rows.set(message, row);
      return row;
    },
  };
}

/** True for the summary of a completed compaction. */
export function isCompactionSummary({ summary, error, metadata }: Message): boolean {
  return (summary === true && error === undefined) || metadata?.kind === "compaction_summary";
}

function measure(message: Message, index: number, tokensOf: (text: string) => number): MessageRow {
  const found = message.parts.flatMap((part, partIndex) => itemsOf(message, partIndex, { part, tokensOf }));
  const items = found.length > 0 ? found : [unknownItem(message)];
  return {
    index,
    id: message.id,
    role: message.role,
    tokens: items.reduce((sum, item) => sum + item.tokens, 0),
    keptTokens: items.reduce((sum, item) => sum + item.keptTokens, 0),
    fate: fateOfItems(items),
    items,
    ...(message.createdAt !== undefined && { atMs: message.createdAt }),
  };
}

/** The fate of most of the tokens; where there are none, of the first item. */
export function fateOfItems(items: readonly ItemRow[]): Fate {
  const tokensByFate = new Map<Fate, number>();
  for (const { fate, tokens } of items) tokensByFate.set(fate, (tokensByFate.get(fate) ?? 0) + tokens);
  let most: Fate = items[0]?.fate ?? "kept";
  for (const [fate, tokens] of tokensByFate) if (tokens > (tokensByFate.get(most) ?? 0)) most = fate;
  return most;
}

interface Measured {
  readonly part: Part;
  readonly tokensOf: (text: string) => number;
}

function itemsOf(message: Message, partIndex: number, { part, tokensOf }: Measured): readonly ItemRow[] {
  const items: ItemRow[] = [];
  for (const each of partTexts(message, part, "recorded")) {
    const { text, kind, side, tool, failed, access } = each;
    if (text === "") continue;
    const path = access?.path;
    const [chars, tokens] = [charsOfText(each), Math.round(tokensOf(text) * shareRead(each))];
    items.push({
      ...wholeItem(message, partIndex, { kind, side, chars, tokens }),
      ...(tool !== undefined && { tool }),
      ...(failed && { failed }),
      ...(path !== undefined && { path }),
    });
  }
  const tokens = countMedia(part, "recorded") * MEDIA_TOKENS;
  if (tokens > 0) {
    const item = wholeItem(message, partIndex, { kind: "media", side: "media", chars: 0, tokens });
    items.push(part.type === "tool" ? { ...item, tool: part.tool } : item);
  }
  if (part.type === "compaction")
    items.push(wholeItem(message, partIndex, { kind: "marker", side: "text", chars: 0, tokens: 0 }));
  return items.map((item) => asRecorded(item, message, { part, tokensOf }));
}

/** What a picture or another file counts as. */
export const MEDIA_TOKENS: number = IMAGE_CHARS / 4;

function wholeItem(
  message: Message,
  partIndex: number,
  { kind, side, chars, tokens }: Pick<ItemRow, "kind" | "side" | "chars" | "tokens">,
): ItemRow {
  const handle = handleOf(message, partIndex);
  const sizes = { chars, tokens, keptChars: chars, keptTokens: tokens, savedChars: 0, savedTokens: 0 };
  return { key: `${handle}/${side}`, kind, partIndex, side, handle, fate: "kept", ...sizes };
}

/** The only item of a message of which the format understands nothing. */
function unknownItem(message: Message): ItemRow {
  const item = wholeItem(message, 0, { kind: "unknown", side: "text", chars: 0, tokens: 0 });
  if (isVisibleToModel(message)) return item;
  return withRemainder(item, nothingKept({ stage: RECORDED, reason: hiddenReason(message) }));
}

/** The item with what the session's own program had hidden or cleared of it. */
function asRecorded(item: ItemRow, message: Message, { part, tokensOf }: Measured): ItemRow {
  const without = (reason: string): ItemRow => withRemainder(item, nothingKept({ stage: RECORDED, reason }));
  if (!isVisibleToModel(message)) return without(hiddenReason(message));
  if (part.agentVisible === false) return without("hidden");
  if (part.type === "text" && part.ignored) return without("ignored");
  if (part.type !== "tool" || item.side === "input" || !isCleared(part)) return item;
  const why = { stage: RECORDED, reason: "pruned" };
  if (item.side === "media")
    return part.clearedAt === undefined
      ? item
      : withRemainder(item, { ...nothingKept(why), fate: "cleared" });
  const text = outputText(part, "shown");
  return withRemainder(item, { fate: "cleared", why, chars: text.length, tokens: tokensOf(text) });
}

function hiddenReason({ metadata }: Message): string {
  return metadata?.kind === "tool_result_archived" ? metadata.kind : "hidden";
}

/** The stage of what the session's own program had left out before it was recorded. */
const RECORDED = "recorded";

/** The item with only a remainder kept, and the reason. Never more is kept than there was. */
export function withRemainder(item: ItemRow, { fate, why, chars, tokens }: Remainder): ItemRow {
  const keptChars = Math.min(item.chars, chars);
  const keptTokens = Math.min(item.tokens, tokens);
  return {
    ...item,
    keptChars,
    keptTokens,
    savedChars: item.chars - keptChars,
    savedTokens: item.tokens - keptTokens,
    fate,
    stage: why.stage,
    reasonId: why.reason,
    reason: explainReason({ ...why, side: item.side }),
  };
}

/** What is kept of an item: nothing, for this reason. */
export function nothingKept(why: EditReason): Remainder {
  return { fate: fateOfReason(why.reason, "all"), why, chars: 0, tokens: 0 };
}

interface Remainder {
  readonly fate: Fate;
  readonly why: EditReason;
  readonly chars: number;
  readonly tokens: number;
}

/** One text of a part. A call has two: its input and its output. */
interface PartText {
  readonly kind: TextKind;
  readonly side: "text" | "input" | "output";
  readonly text: string;
  readonly tool?: string;
  readonly failed?: true;
  /** What a call did to which file, where that can be told. */
  readonly access?: FileAccess;
  /** Set where only the beginning of the text was kept when the file was read. */
  readonly wholeChars?: number;
}

/** How long a text is in the file. */
export function charsOfText({ text, wholeChars = text.length }: PartText): number {
  return wholeChars;
}

/** How many times as long a text is in the file as what was kept of it. */
function shareRead(text: PartText): number {
  return text.text === "" ? 1 : charsOfText(text) / text.text.length;
}

function wholeChars(cut: Cut | undefined): { readonly wholeChars?: number } {
  return cut?.method === "size" ? { wholeChars: cut.originalChars } : {};
}

/** `recorded`: everything that was written down. `shown`: cleared outputs as their placeholder, cut inputs as they read. */
export type TextsAs = "recorded" | "shown";

/** The texts of a part that take room in a window, empty ones included. */
export function partTexts(message: Message, part: Part, as: TextsAs): readonly PartText[] {
  switch (part.type) {
    case "text":
      return part.ignored && as === "shown"
        ? []
        : [{ kind: messageKind(message), side: "text", text: part.text, ...wholeChars(part.cut) }];
    case "reasoning":
      return [{ kind: "reasoning", side: "text", text: part.text, ...wholeChars(part.cut) }];
    case "tool": {
      const access = fileAccess(part);
      const about = { tool: part.tool, ...(access && { access }) };
      const failed = part.outcome.status === "failed" ? { failed: true as const } : {};
      return [
        {
          kind: "tool input",
          side: "input",
          text: inputText(part, as),
          ...about,
          ...wholeChars(part.inputCut),
        },
        {
          kind: "tool output",
          side: "output",
          text: outputText(part, as),
          ...about,
          ...failed,
          ...wholeChars(part.cut),
        },
      ];
    }
    case "file":
    case "compaction":
    case "opaque":
      return [];
    default:
      return part satisfies never;
  }
}

/** How many pictures and other files that are no text a part contains. */
export function countMedia(part: Part, as: TextsAs): number {
  const outcome = part.type === "tool" ? (as === "shown" ? shownOutcome(part) : part.outcome) : undefined;
  const files = outcome?.status === "done" ? outcome.attachments : [part];
  return files.filter((file) => file.type === "file" && isMedia(file)).length;
}

/** The input of a call as JSON, or as it reads where it was cut. */
export function inputText({ input, inputCut }: ToolPart, as: TextsAs): string {
  if (as === "shown" && inputCut !== undefined) return inputCut.preview;
  return input === undefined ? "{}" : safeJson(input);
}

/** The output or the error of a call. */
export function outputText(part: ToolPart, as: TextsAs): string {
  return outcomeText(as === "shown" ? shownOutcome(part) : part.outcome);
}

function messageKind(message: Message): TextKind {
  if (isSummary(message)) return "summary";
  if (message.role === "assistant") return "agent";
  return message.role === "user" ? "user" : "system";
}

/** Why an edit was made. */
export interface EditReason {
  readonly stage: string;
  readonly reason: string;
  readonly side?: ItemSide;
}

/** The reason of an edit as a sentence for a person. */
export function explainReason({ stage, reason, side }: EditReason): string {
  if (side === "input" && (reason === "tier-2" || reason === "tier-3")) return SENTENCES.params ?? "";
  return (
    STAGE_SENTENCES[`${stage}/${reason}`] ??
    SENTENCES[reason] ??
    `Left out (${reason.replace(/[-_]+/g, " ")}).`
  );
}

/** The fate of what an edit removed (`all`) or shortened (`some`) for this reason. */
export function fateOfReason(reason: string, removed: "all" | "some"): Fate {
  if (SUMMARY_REASONS.has(reason)) return "summarized";
  if (reason === "superseded") return "superseded";
  return removed === "all" ? "hidden" : "clipped";
}

const SUMMARY_REASONS: ReadonlySet<string> = new Set([
  "before-compaction",
  "summarized",
  "archived",
  "tool_result_archived",
]);

const WHOLE_RESULTS = FORK_TIER1_COUNT + FORK_TIER2_COUNT;

const STAGE_SENTENCES: Readonly<Record<string, string>> = {
  "fill-budget/over-budget": "Other lines are likelier to be needed, and this did not fit beside them.",
  "keep-lines/pruned": "Old work, less likely to be needed next than what stays.",
  "recorded/pruned":
    "The session's own program cleared this output; a placeholder is sent, the recording keeps it.",
  "recorded/hidden": "Hidden from the model when it was recorded.",
  "recorded/ignored": "Shown to the person only; no model ever got it.",
};

const SENTENCES: Readonly<Record<string, string>> = {
  "before-compaction": "Older than the last compaction: only its summary is sent.",
  reasoning: "A child does not inherit its parent's thinking.",
  ignored: "Shown to the person only; no model gets it.",
  "own-hint": "A hint from Carryover to this agent, of no use to a child.",
  "in-flight": "This launch has not ended, so it stays with the parent.",
  "nested-preamble": "Context that this agent had inherited itself is not passed on.",
  "tier-2": `Not among the ${FORK_TIER1_COUNT} newest results: cut to ${formatNumber(FORK_TIER2_LIMIT)} characters.`,
  "tier-3": `Not among the ${WHOLE_RESULTS} newest results: cut to ${FORK_TIER3_LIMIT} characters.`,
  params: "The input of a call is cut by the age of its result.",
  "over-budget": "Older than what fits into the budget.",
  oversize: "Too long for the budget even alone, so it was cut.",
  "selected-lines": `Only the lines most likely to be needed stay; ${GAP_MARKER} stands for the others.`,
  pruned: "An old output outside the protected amount: a placeholder is sent, the output is kept.",
  superseded: "Something newer shows the same, or replaces it.",
  summarized: "Summed up: the summary stands for it.",
  archived: "Archived: a summary of this result stands for it.",
  tool_result_archived: "Archived: a summary of this result stands for it.",
  media: "Pictures and files left out; a line names them.",
  secret: "A secret was replaced by a placeholder.",
  "malformed-text": "Characters that a provider refuses were taken out.",
  "missing-result": "A call without a result got one that says so.",
  "orphan-result": "A result whose call is gone cannot be sent.",
  "duplicate-call": "The same call stands there twice.",
  "failed-turn": "A turn that broke off cannot be sent.",
  empty: "There is nothing in it.",
  recovery: "Taken out so that a refused request fits.",
};

/** Gives the first messages as they were then: what was cleared later is not cleared yet. Other messages stay the same objects. */
export function createPastTranscript(transcript: Transcript): (count: number) => Transcript {
  const cleared = transcript.flatMap((message, index) =>
    message.parts.some((part) => isClearedAfter(part, Number.NEGATIVE_INFINITY)) ? [index] : [],
  );
  const restored = new WeakMap<Message, Map<number, Message>>();

  /** Parts are cleared in the order of time, so their number identifies which ones were not cleared yet. */
  function restore(message: Message, at: number): Message {
    const whole = message.parts.filter((part) => isClearedAfter(part, at)).length;
    if (whole === 0) return message;
    const known = restored.get(message) ?? new Map<number, Message>();
    restored.set(message, known);
    const made = known.get(whole) ?? { ...message, parts: message.parts.map((part) => partAt(part, at)) };
    known.set(whole, made);
    return made;
  }

  return (count) => {
    if (count >= transcript.length) return transcript;
    const messages = transcript.slice(0, count);
    const at = messages.findLast(({ createdAt }) => createdAt !== undefined)?.createdAt;
    if (at === undefined) return messages;
    for (const index of cleared) {
      const message = messages[index];
      if (message === undefined) break;
      messages[index] = restore(message, at);
    }
    return messages;
  };
}

function isClearedAfter(part: Part, at: number): boolean {
  return part.type === "tool" && part.clearedAt !== undefined && part.clearedAt > at;
}

function partAt(part: Part, at: number): Part {
  if (part.type !== "tool" || !isClearedAfter(part, at)) return part;
  const { clearedAt: _, ...rest } = part;
  return rest;
}
