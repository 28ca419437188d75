import { estimateTokens, type TokenFamily } from "../../text/tokens/estimate-tokens.ts";
import { handleOf, isCleared } from "../../transcript/content.ts";
import { isVisibleToModel, type Message } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { type EditReason, explainReason, fateOfReason } from "./explain-reason.ts";
import { charsOfText, countMedia, MEDIA_TOKENS, outputText, type PartText, partTexts } from "./part-texts.ts";
import type { Fate, ItemRow, MessageRow } from "./types.ts";

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

/** The item minus what the session's own program had hidden or cleared. */
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

/** Stage name for what the session's own program had left out. */
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

/** The remainder of an item of which nothing is kept. */
export function nothingKept(why: EditReason): Remainder {
  return { fate: fateOfReason(why.reason, "all"), why, chars: 0, tokens: 0 };
}

interface Remainder {
  readonly fate: Fate;
  readonly why: EditReason;
  readonly chars: number;
  readonly tokens: number;
}

/** The length in the file relative to what was read of it. */
function shareRead(text: PartText): number {
  return text.text === "" ? 1 : charsOfText(text) / text.text.length;
}
