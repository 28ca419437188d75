import { type ForkContext, forkContext } from "../fork/fork.ts";
import { commonLimit } from "../text/clip.ts";
import { truncate } from "../text/truncate.ts";
import { type Message, type MessageId, type Transcript, withUniqueIds } from "../transcript/message.ts";
import type { Part, TextPart } from "../transcript/part.ts";

/**
 * The messages within a budget, by the lines that are most likely needed next; what does not fit even so is summarized.
 * What users typed goes last: of each text at least both ends stay, and other lines make room for them.
 */
export function fitted(messages: Transcript, budgetChars: number, summarize?: Summarize): Fitted {
  const all = withUniqueIds(messages);
  const whole = inherit(all, budgetChars);
  const overflows = whole.edits.some(
    ({ type, reason }) => type === "hide-message" && reason === "over-budget",
  );
  const shown = summarize && overflows ? withUniqueIds(summarize(all, budgetChars)) : all;
  const shownIds = new Set(shown.map(({ id }) => id));
  const kept = withTyped(shown, shown === all ? whole : inherit(shown, budgetChars), budgetChars);
  return {
    messages: kept,
    cut: countShortened(shown, kept),
    hidden: shown.length - kept.length,
    replaced: all.filter(({ id }) => !shownIds.has(id)).length,
  };
}

/** Sums up the oldest messages, those that stay under their ids. */
export type Summarize = (messages: Transcript, budgetChars: number) => Transcript;

interface Fitted {
  readonly messages: Transcript;
  /** Parts that were cut. */
  readonly cut: number;
  /** Messages for which there was no room. */
  readonly hidden: number;
  /** Messages that a summary stands for now. */
  readonly replaced: number;
}

function inherit(messages: Transcript, budgetChars: number): ForkContext {
  return forkContext(messages, { budgetChars: Math.max(MIN_BUDGET_CHARS, budgetChars), ownTools: [] });
}

const MIN_BUDGET_CHARS = 512;

/** What was kept, with the typed texts that were not; everything else gets less room until they fit. */
function withTyped(shown: Transcript, first: ForkContext, budgetChars: number): Transcript {
  const typed = typedTexts(shown, budgetChars * TYPED_SHARE);
  const once = restoreTyped(shown, first, typed);
  if (once.chars === 0) return once.messages;
  const spared = Math.ceil(once.chars * SPARE);
  const twice = restoreTyped(shown, inherit(shown, budgetChars - spared), typed);
  if (twice.chars <= spared) return twice.messages;
  const most = [...typed.values()]
    .flatMap((texts) => [...texts.values()])
    .reduce((sum, { text }) => sum + charsOf(text), 0);
  return restoreTyped(shown, inherit(shown, budgetChars - most), typed).messages;
}

/** The share of a budget that typed texts may take from everything else. */
const TYPED_SHARE = 0.4;
/** With less room some more of them may go. */
const SPARE = 1.25;

type TypedTexts = ReadonlyMap<MessageId, ReadonlyMap<number, TextPart>>;

/** What has to stay of the texts that users typed, by message and place; where there are too many, the newest. */
function typedTexts(messages: Transcript, roomChars: number): TypedTexts {
  const places = messages.flatMap((message) =>
    message.role === "user" && message.summary !== true
      ? message.parts.flatMap((part, index) => (isTyped(part) ? [{ id: message.id, index, part }] : []))
      : [],
  );
  const newest = places.slice(-Math.max(1, Math.floor(roomChars / SHORTEST_CHARS)));
  const lengths = newest.map(({ part }) => charsOf(part.text));
  const limitChars = Math.min(MOST_TYPED_CHARS, Math.max(0, commonLimit(lengths, roomChars) - MARKER_CHARS));
  const typed = new Map<MessageId, Map<number, TextPart>>();
  for (const { id, index, part } of newest) {
    const texts = typed.get(id) ?? new Map<number, TextPart>();
    typed.set(id, texts.set(index, { ...part, ...truncate(part.text, { limitChars, method: "head-tail" }) }));
  }
  return typed;
}

/** Of a longer text this much stays for certain: what is longer was pasted. */
const MOST_TYPED_CHARS = 4_000;
const SHORTEST_CHARS = 120;
const MARKER_CHARS = 60;

function isTyped(part: Part): part is TextPart {
  if (part.type !== "text" || part.agentVisible === false || part.text.trim() === "") return false;
  return part.synthetic !== true && part.ignored !== true && part.own !== true;
}

/** A text with the label of its message. */
function charsOf(text: string): number {
  return text.length + 8;
}

/** The messages with the typed texts of which less was kept, and how many characters these add. */
function restoreTyped(
  shown: Transcript,
  { messages, edits }: ForkContext,
  typed: TypedTexts,
): { readonly messages: Transcript; readonly chars: number } {
  const cut = new Set(
    edits.flatMap((edit) => (FOR_ROOM.has(edit.reason) && "messageId" in edit ? [edit.messageId] : [])),
  );
  const kept = new Map(messages.map((message) => [message.id, message]));
  let chars = 0;
  const all = shown.flatMap((message): readonly Message[] => {
    const left = kept.get(message.id);
    const texts = cut.has(message.id) ? typed.get(message.id) : undefined;
    if (texts === undefined) return left === undefined ? [] : [left];
    const base = left ?? { ...message, parts: message.parts.map(hidden) };
    const parts = base.parts.map((part, index) => {
      const text = texts.get(index);
      const before = part.type === "text" && part.agentVisible !== false ? part.text.length : 0;
      if (text === undefined || before >= text.text.length) return part;
      chars += charsOf(text.text) - before;
      return text;
    });
    return [{ ...base, parts }];
  });
  return { messages: all, chars };
}

/** Why something was left out for want of room. */
const FOR_ROOM: ReadonlySet<string> = new Set(["over-budget", "oversize", "selected-lines"]);

function hidden(part: Part): Part {
  return { ...part, agentVisible: false };
}

/** Parts of which something is left, and not all. */
function countShortened(before: Transcript, after: Transcript): number {
  const whole = new Set(before.flatMap(({ parts }) => parts));
  const isCut = (part: Part): boolean =>
    part.agentVisible !== false &&
    !whole.has(part) &&
    (part.type === "text" ? part.cut !== undefined : part.type === "tool" && part.clearedAt === undefined);
  return after.flatMap(({ parts }) => parts).filter(isCut).length;
}
