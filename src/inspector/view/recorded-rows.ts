import { compactionPart } from "../../stages/boundary.ts";
import { estimateTokens, type TokenFamily } from "../../text/tokens/estimate-tokens.ts";
import { IMAGE_CHARS } from "../../transcript/estimate-message.ts";
import { isVisibleToModel, type Message, shownOutcome } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { handleOf, isCleared } from "../../transcript/tool-results.ts";
import { type EditReason, explainReason, fateOfReason, RECORDED } from "./explain-reason.ts";
import { mediaIn, partTexts } from "./part-texts.ts";
import type { Fate, ItemRow, MessageRow } from "./types.ts";

/** Gives the row of a message as it was recorded; each message is measured once. */
export interface RecordedRows {
  rowOf(message: Message, index: number): MessageRow;
  /** About how many tokens a text has, for the model of this session. */
  tokensOf(text: string): number;
}

/** Knows no message at first. */
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

/** True for the summary of a compaction that ended well. */
export function isCompactionSummary({ summary, error, metadata }: Message): boolean {
  return (summary === true && error === undefined) || metadata?.kind === "compaction_summary";
}

/** The fate of most of the tokens; where there are none, of the first item. */
export function fateOfItems(items: readonly ItemRow[]): Fate {
  const tokensByFate = new Map<Fate, number>();
  for (const { fate, tokens } of items) tokensByFate.set(fate, (tokensByFate.get(fate) ?? 0) + tokens);
  let most: Fate = items[0]?.fate ?? "kept";
  for (const [fate, tokens] of tokensByFate) if (tokens > (tokensByFate.get(most) ?? 0)) most = fate;
  return most;
}

/** The same item, gone or shortened, and why. Never more is kept than there was. */
export function withRemainder(item: ItemRow, left: Remainder): ItemRow {
  const keptChars = Math.min(item.chars, left.chars);
  const keptTokens = Math.min(item.tokens, left.tokens);
  return {
    ...item,
    keptChars,
    keptTokens,
    savedChars: item.chars - keptChars,
    savedTokens: item.tokens - keptTokens,
    fate: left.fate,
    stage: left.why.stage,
    reasonId: left.why.reason,
    reason: explainReason({ ...left.why, side: item.side }),
  };
}

interface Remainder {
  readonly fate: Fate;
  readonly why: EditReason;
  readonly chars: number;
  readonly tokens: number;
}

/** What a picture or another file counts as. */
export const MEDIA_TOKENS: number = IMAGE_CHARS / 4;

function measure(message: Message, index: number, tokensOf: (text: string) => number): MessageRow {
  const found = message.parts.flatMap((part, partIndex) => itemsOf(message, partIndex, { part, tokensOf }));
  const items = found.length > 0 ? found : unknownItem(message);
  return {
    index,
    id: message.id,
    role: message.role,
    tokens: items.reduce((sum, item) => sum + item.tokens, 0),
    keptTokens: items.reduce((sum, item) => sum + item.keptTokens, 0),
    fate: fateOfItems(items),
    items,
    ...(message.createdAt !== undefined && { atMs: message.createdAt }),
    ...(compactionPart(message) !== undefined && { compaction: "marker" as const }),
    ...(isCompactionSummary(message) && { compaction: "summary" as const }),
  };
}

interface Measured {
  readonly part: Part;
  readonly tokensOf: (text: string) => number;
}

function itemsOf(message: Message, partIndex: number, { part, tokensOf }: Measured): readonly ItemRow[] {
  const items: ItemRow[] = [];
  for (const { text, kind, side, tool, failed, access } of partTexts(message, part, "recorded")) {
    if (text === "") continue;
    const whole = wholeItem(message, partIndex, { kind, side });
    const path = access?.path;
    items.push({
      ...whole,
      ...sized(text.length, tokensOf(text)),
      ...(tool !== undefined && { tool }),
      ...(failed && { failed }),
      ...(path !== undefined && { path }),
    });
  }
  const media = mediaIn(part, "recorded");
  if (media > 0) {
    const tool = part.type === "tool" ? { tool: part.tool } : {};
    const whole = wholeItem(message, partIndex, { kind: "media", side: "media" });
    items.push({ ...whole, ...sized(0, media * MEDIA_TOKENS), ...tool });
  }
  if (part.type === "compaction")
    items.push({ ...wholeItem(message, partIndex, { kind: "marker", side: "text" }), ...sized(0, 0) });
  return items.map((item) => asRecorded(item, message, { part, tokensOf }));
}

function wholeItem(
  message: Message,
  partIndex: number,
  { kind, side }: Pick<ItemRow, "kind" | "side">,
): Omit<ItemRow, keyof Sized> {
  const handle = handleOf(message, partIndex);
  return { key: `${handle}/${side}`, kind, partIndex, side, handle, fate: "kept" };
}

type Sized = Pick<ItemRow, "chars" | "tokens" | "keptChars" | "keptTokens" | "savedChars" | "savedTokens">;

function sized(chars: number, tokens: number): Sized {
  return { chars, tokens, keptChars: chars, keptTokens: tokens, savedChars: 0, savedTokens: 0 };
}

/** A message of which no format understands anything still has its place. */
function unknownItem(message: Message): readonly ItemRow[] {
  const whole = wholeItem(message, 0, { kind: "unknown", side: "text" });
  const item: ItemRow = { ...whole, ...sized(0, 0) };
  return [isVisibleToModel(message) ? item : withRemainder(item, nothingKept(hiddenWhy(message)))];
}

/** What the session's own program had hidden or cleared. */
function asRecorded(item: ItemRow, message: Message, { part, tokensOf }: Measured): ItemRow {
  if (!isVisibleToModel(message)) return withRemainder(item, nothingKept(hiddenWhy(message)));
  if (part.agentVisible === false)
    return withRemainder(item, nothingKept({ stage: RECORDED, reason: "hidden" }));
  if (part.type === "text" && part.ignored)
    return withRemainder(item, nothingKept({ stage: RECORDED, reason: "ignored" }));
  if (part.type !== "tool" || item.side === "input" || !isCleared(part)) return item;
  const why = { stage: RECORDED, reason: "pruned" };
  if (item.side === "media")
    return part.clearedAt === undefined
      ? item
      : withRemainder(item, { ...nothingKept(why), fate: "cleared" });
  const [, shown] = partTexts(message, { ...part, outcome: shownOutcome(part) }, "recorded");
  const text = shown?.text ?? "";
  return withRemainder(item, { fate: "cleared", why, chars: text.length, tokens: tokensOf(text) });
}

/** Everything is gone, for this reason. */
export function nothingKept(why: EditReason): Remainder {
  return { fate: fateOfReason(why.reason, "all"), why, chars: 0, tokens: 0 };
}

function hiddenWhy({ metadata }: Message): EditReason {
  const reason = metadata?.kind === "tool_result_archived" ? metadata.kind : "hidden";
  return { stage: RECORDED, reason };
}
