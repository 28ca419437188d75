import { groupBy } from "../../text/json.ts";
import { CHARS_PER_TOKEN } from "../../text/tokens/estimate-tokens.ts";
import type { CarriedFacts, CarriedPin, CarriedWords } from "../../transcript/carried-facts.ts";
import type { Handle } from "../../transcript/edit.ts";
import { type Message, reachesModel, type Transcript } from "../../transcript/message.ts";
import { type Part, partText } from "../../transcript/part.ts";
import { handleOf, hasOnlyStub, isCleared } from "../../transcript/tool-results.ts";
import { collectAnchors, collectFiles, newestPaths, selectAnchors } from "./anchors.ts";
import { element } from "./request.ts";
import {
  createTextCleaner,
  cutCodePoints,
  fenceQuote,
  handleLabel,
  piecesOf,
  type SecretRedaction,
  type TextCleaner,
  type TextPiece,
} from "./text.ts";

/** The facts of a compaction: those carried so far and those of the messages that are folded now. */
export function collectFacts(input: FactsInput): CarriedFacts {
  const { carried, pieces, budget } = input;
  const words = collectUserWords(carried?.userWords ?? [], pieces, input.firstHandle);
  const files = collectFiles(
    { filesRead: carried?.filesRead ?? [], filesChanged: carried?.filesChanged ?? [] },
    input.folded,
    input.cleaner,
  );
  return {
    generation: (carried?.generation ?? 0) + 1,
    userWords: selectUserWords(words, { maxChars: budget.wordsChars, mustHandle: input.mustHandle }).words,
    pins: input.pins,
    ...files,
    anchors: collectAnchors(carried?.anchors ?? [], pieces),
  };
}

interface FactsInput {
  readonly carried: CarriedFacts | undefined;
  readonly pins: CarriedFacts["pins"];
  readonly folded: Transcript;
  readonly pieces: readonly TextPiece[];
  /** The message with which the conversation began. */
  readonly firstHandle: Handle | undefined;
  /** The folded message whose words have to stay whole. */
  readonly mustHandle: Handle | undefined;
  readonly budget: FactsBudget;
  readonly cleaner: TextCleaner;
}

/** How much room the facts may take in the summary, in characters. Pins and the first request are not counted. */
export interface FactsBudget {
  readonly wordsChars: number;
  readonly filesChars: number;
  readonly anchorsChars: number;
}

/** The room for facts, by what is replaced: they must not use up what the compaction gains. */
export function factsBudget(replacedTokens: number): FactsBudget {
  const room = (maxTokens: number, share: number): number =>
    Math.floor(Math.min(maxTokens, replacedTokens * share) * CHARS_PER_TOKEN);
  return { wordsChars: room(4_000, 0.1), filesChars: room(1_000, 0.03), anchorsChars: room(2_000, 0.06) };
}

/** The facts as text, with the given share of the room; what the frame says of them is part of it. */
export function renderFacts(facts: CarriedFacts, options: RenderFactsOptions): string {
  const { budget, share, pinsInPlace } = options;
  const { words, omittedMessages } = selectUserWords(facts.userWords, {
    maxChars: budget.wordsChars * share,
    mustHandle: options.mustHandle,
  });
  const quotes = words.map(({ handle, text }) => `[${handleLabel(handle)}]\n${fenceQuote(text)}`);
  if (omittedMessages > 0) quotes.push(`(${omittedMessages} more not shown)`);
  const pins = facts.pins
    .filter(({ handle }) => handle === undefined || !pinsInPlace.includes(handle))
    .map(pinText);
  const sections = [
    ...(quotes.length > 0 ? [element("user_words", quotes.join("\n\n"))] : []),
    ...(pins.length > 0 ? [element("pinned", pins.join("\n\n"))] : []),
    ...listOf("Files changed", newestPaths(facts.filesChanged, (budget.filesChars * share * 2) / 3)),
    ...listOf("Files read", newestPaths(facts.filesRead, (budget.filesChars * share) / 3)),
    ...anchorLines(facts, budget.anchorsChars * share),
  ];
  return sections.join("\n\n");
}

interface RenderFactsOptions {
  readonly budget: FactsBudget;
  /** From 0 to 1. */
  readonly share: number;
  /** Pins that stand before the model anyway. */
  readonly pinsInPlace: readonly Handle[];
  readonly mustHandle: Handle | undefined;
}

function listOf(title: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : [`${title}: ${items.map((item) => fenceQuote(item)).join(", ")}`];
}

function anchorLines({ anchors }: CarriedFacts, maxChars: number): readonly string[] {
  const byHandle = groupBy(selectAnchors(anchors, maxChars), ({ handle }) => handle);
  if (byHandle.size === 0) return [];
  const lines = Array.from(
    byHandle,
    ([handle, found]) => `- ${handleLabel(handle)}: ${fenceQuote(found.map(({ text }) => text).join(" · "))}`,
  );
  return [`Seen on the way, by handle:\n${lines.join("\n")}`];
}

/**
 * What a summary written by another program must not lose, as text: pins, the user's words, files touched, and exact
 * things such as paths, commands and errors.
 */
export function factsOf(transcript: Transcript, { pins, budget, redaction }: FactsOfOptions): string {
  const cleaner = createTextCleaner(redaction);
  const facts = collectFacts({
    carried: undefined,
    pins: resolvePins({ transcript, pins, carried: [], cleaner }).pins,
    folded: transcript,
    pieces: piecesOf(transcript, cleaner),
    firstHandle: transcript[0]?.id,
    mustHandle: undefined,
    budget,
    cleaner,
  });
  return renderFacts(facts, { budget, share: 1, pinsInPlace: [], mustHandle: undefined });
}

interface FactsOfOptions {
  readonly pins: readonly Pin[];
  readonly budget: FactsBudget;
  readonly redaction?: SecretRedaction;
}

/** Pins as text for a request that another program writes; empty when there are none. */
export function pinsOf(transcript: Transcript, { pins, redaction }: Omit<FactsOfOptions, "budget">): string {
  const cleaner: TextCleaner = createTextCleaner(redaction);
  const texts = resolvePins({ transcript, pins, carried: [], cleaner }).pins.map(pinText);
  return texts.length === 0 ? "" : element("pinned", texts.join("\n\n"));
}

/** What the user wrote, message by message, from the carried words and the pieces that are folded now. */
function collectUserWords(
  carried: readonly CarriedWords[],
  pieces: readonly TextPiece[],
  firstHandle: Handle | undefined,
): readonly CarriedWords[] {
  const words = new Map<Handle, CarriedWords>(carried.map((each) => [each.handle, each]));
  const hasFirst = carried.some((each) => each.first);
  for (const { type, message, text } of pieces) {
    if (type !== "typed") continue;
    const before = words.get(message.id);
    const isFirst = before?.first ?? (!hasFirst && message.id === firstHandle);
    words.set(message.id, {
      handle: message.id,
      text: before === undefined ? text : `${before.text}\n${text}`,
      ...(isFirst && { first: true as const }),
    });
  }
  return [...words.values()];
}

/**
 * The words that fit: the first request always, then what must be there, then the newest. Each stays whole;
 * only a first request of more than `FIRST_REQUEST_POINTS` is cut.
 */
export function selectUserWords(
  words: readonly CarriedWords[],
  options: WordsBudget,
): { readonly words: readonly CarriedWords[]; readonly omittedMessages: number } {
  const chosen = new Set<CarriedWords>();
  let leftChars = options.maxChars;
  const take = (each: CarriedWords): void => {
    chosen.add(each);
    leftChars -= each.text.length;
  };
  const fitted = words.map((each) =>
    each.first && each.handle !== options.mustHandle
      ? { ...each, text: cutCodePoints(each.text, FIRST_REQUEST_POINTS) }
      : each,
  );
  for (const each of fitted) if (each.first || each.handle === options.mustHandle) take(each);
  for (const each of fitted.toReversed()) {
    if (!chosen.has(each) && each.text.length <= leftChars) take(each);
  }
  const kept = fitted.filter((each) => chosen.has(each));
  return { words: kept, omittedMessages: words.length - kept.length };
}

interface WordsBudget {
  readonly maxChars: number;
  /** The message whose words stay whatever they cost: the request that is being worked on. */
  readonly mustHandle?: Handle | undefined;
}

/** How long the first request may be before its middle is left out, in code points. */
const FIRST_REQUEST_POINTS = 8_000;

/** Something that must stay visible to the model: a text, or what a handle of the transcript names. */
export type Pin = { readonly text: string } | { readonly handle: Handle };

/**
 * The pins with their texts, cleaned. Without pins of the caller those of the last compaction stay; the text of a handle is
 * read from the transcript while it is there. Handles that name nothing are listed and not kept.
 */
export function resolvePins(input: PinsInput): {
  readonly pins: readonly CarriedPin[];
  readonly unknownHandles: readonly Handle[];
} {
  const wanted: readonly (Pin | CarriedPin)[] = input.pins ?? input.carried;
  const pins = new Map<string, CarriedPin>();
  const unknownHandles: Handle[] = [];
  for (const pin of wanted) {
    const handle = "handle" in pin ? pin.handle : undefined;
    const found = handle === undefined ? undefined : textAt(input.transcript, handle);
    const known = input.carried.find((each) => handle !== undefined && each.handle === handle)?.text;
    const raw = found ?? known ?? ("text" in pin ? pin.text : "");
    const text = (handle === undefined ? input.cleaner.typed(raw) : input.cleaner.data(raw)).trim();
    if (text !== "") pins.set(text, { text, ...(handle !== undefined && { handle }) });
    else if (handle !== undefined) unknownHandles.push(handle);
  }
  return { pins: [...pins.values()], unknownHandles };
}

interface PinsInput {
  readonly transcript: Transcript;
  readonly pins: readonly Pin[] | undefined;
  readonly carried: readonly CarriedPin[];
  readonly cleaner: TextCleaner;
}

/** Tests whether a part is pinned: by its handle, with its whole message, or because it contains a pinned text. */
export function createPinGuard(pins: readonly Pin[]): (message: Message, partIndex: number) => boolean {
  const handles = new Set(pins.flatMap((pin) => ("handle" in pin ? [pin.handle] : [])));
  const texts = pins.flatMap((pin) => ("text" in pin && pin.text !== "" ? [pin.text] : []));
  return (message, partIndex) => {
    if (handles.has(message.id) || handles.has(handleOf(message, partIndex))) return true;
    const part = texts.length === 0 ? undefined : message.parts[partIndex];
    return part !== undefined && texts.some((text) => partText(part).includes(text));
  };
}

/** How a pin reads in a summary. */
export function pinText({ text }: CarriedPin): string {
  return fenceQuote(text);
}

/** The pinned handles that need no place in the summary, since what they name stays visible as it is. */
export function handlesInPlace(pins: readonly CarriedPin[], kept: Transcript): readonly Handle[] {
  const inPlace = new Set<Handle>();
  for (const message of kept) {
    const isShown = message.parts.map((part) => partText(part) === "" || isReadable(part));
    if (isShown.every(Boolean)) inPlace.add(message.id);
    for (const [partIndex, isPartShown] of isShown.entries()) {
      if (isPartShown) inPlace.add(handleOf(message, partIndex));
    }
  }
  return pins.flatMap(({ handle }) => (handle !== undefined && inPlace.has(handle) ? [handle] : []));
}

function isReadable(part: Part): boolean {
  return reachesModel(part) && !(part.type === "tool" && (isCleared(part) || hasOnlyStub(part)));
}

/** The text that a handle names: a part, or everything readable of a message. */
function textAt(transcript: Transcript, handle: Handle): string | undefined {
  const index = Number(handle.slice(handle.lastIndexOf("/") + 1));
  const message = transcript.findLast(
    (each) => each.id === handle || (each.parts[index] !== undefined && handleOf(each, index) === handle),
  );
  const part = message?.parts[index];
  if (message === undefined || message.id === handle) return message && messageText(message);
  return part && partText(part);
}

function messageText(message: Message): string {
  return message.parts
    .map(partText)
    .filter((text) => text.trim() !== "")
    .join("\n");
}
