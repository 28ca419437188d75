import { listFiles, NO_FILES, newestFiles, recordFiles } from "../../stages/file-access.ts";
import { plural } from "../../text/format-number.ts";
import { groupBy } from "../../text/group-by.ts";
import { CHARS_PER_TOKEN } from "../../text/tokens/estimate-tokens.ts";
import type { CarriedFacts, CarriedWords } from "../../transcript/carried-facts.ts";
import type { Handle } from "../../transcript/edit.ts";
import type { Transcript } from "../../transcript/message.ts";
import { collectKeyFacts, selectKeyFacts } from "./key-facts.ts";
import { type Pin, renderPins, resolvePins } from "./pins.ts";
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

/**
 * The facts of a compaction: of those carried so far and those of the messages that are replaced now as many as can be
 * shown, so that neither the window nor what is stored grows with the age of a conversation.
 */
export function collectFacts(input: FactsInput): CarriedFacts {
  const { carried, pieces, budget } = input;
  const { words, omitted } = selectUserWords(
    collectUserWords(carried?.userWords ?? [], pieces, input.firstHandle),
    { maxChars: budget.wordsChars, mustHandle: input.mustHandle },
  );
  // What is pinned is shown as a pin.
  const pinned = new Set(input.pins.map(({ handle }) => handle));
  const omittedNow = omitted.filter(({ handle }) => !pinned.has(handle)).length;
  const omittedWords = (carried?.omittedWords ?? 0) + omittedNow;
  const files = recordFiles(carried ?? NO_FILES, input.replaced, (path) =>
    input.cleaner.line(path, MAX_PATH_CHARS),
  );
  return {
    generation: (carried?.generation ?? 0) + 1,
    userWords: words,
    ...(omittedWords > 0 && { omittedWords }),
    pins: input.pins,
    ...newestFiles(files, budget.filesChars),
    keyFacts: selectKeyFacts(collectKeyFacts(carried?.keyFacts ?? [], pieces), budget.keyFactsChars),
  };
}

interface FactsInput {
  readonly carried: CarriedFacts | undefined;
  readonly pins: CarriedFacts["pins"];
  readonly replaced: Transcript;
  readonly pieces: readonly TextPiece[];
  /** The message with which the conversation began. */
  readonly firstHandle: Handle | undefined;
  /** The replaced message whose words have to stay whole. */
  readonly mustHandle: Handle | undefined;
  readonly budget: FactsBudget;
  readonly cleaner: TextCleaner;
}

/**
 * How much room the facts may take in the summary, in characters, with handles and everything else that is written around
 * them. Pins are not counted; the first request and the one that is being worked on stay whatever they cost.
 */
export interface FactsBudget {
  readonly wordsChars: number;
  readonly filesChars: number;
  readonly keyFactsChars: number;
}

/**
 * The room for facts. What the user said has a share of the window, whatever was said beside it; the others have one of
 * what is replaced, since they must not use up what the compaction gains.
 */
export function factsBudget(replacedTokens: number, windowTokens: number = replacedTokens): FactsBudget {
  const room = (maxTokens: number, shareTokens: number): number =>
    Math.floor(Math.min(maxTokens, shareTokens) * CHARS_PER_TOKEN);
  return {
    wordsChars: room(6_000, Math.max(replacedTokens, windowTokens) * 0.1),
    filesChars: room(1_000, replacedTokens * 0.03),
    keyFactsChars: room(2_000, replacedTokens * 0.06),
  };
}

/** The facts as text, with the given shares of the room; what the frame says of them is part of it. */
export function renderFacts(facts: CarriedFacts, options: RenderFactsOptions): string {
  const { budget, share, wordsShare, mustHandle } = options;
  // What is pinned stands there once: the request that has to stay whole among the words, everything else as a pin.
  const pinned = new Set(facts.pins.flatMap(({ handle, text }) => [handle, text]));
  const { words, omitted } = selectUserWords(
    facts.userWords.filter(
      ({ handle, text }) => handle === mustHandle || !(pinned.has(handle) || pinned.has(text)),
    ),
    { maxChars: budget.wordsChars * wordsShare, mustHandle },
  );
  const quotes = words.map(quoteWords);
  const omittedWords = (facts.omittedWords ?? 0) + omitted.length;
  if (omittedWords > 0)
    quotes.push(
      `(${plural(omittedWords, "more message")} of the user not shown; a search recalls what they say)`,
    );
  const pins = shownPins(facts, options);
  const sections = [
    ...(quotes.length > 0 ? [element("user_words", quotes.join("\n\n"))] : []),
    ...(pins.length > 0 ? [element("pinned", pins.join("\n\n"))] : []),
    ...listFiles(newestFiles(facts, budget.filesChars * share), fenceQuote),
    ...keyFactLines(facts, budget.keyFactsChars * share),
  ];
  return sections.join("\n\n");
}

function quoteWords({ handle, text }: CarriedWords): string {
  return `[${handleLabel(handle)}]\n${fenceQuote(text)}`;
}

const MAX_PATH_CHARS = 300;

/** The pins as they stand in a summary: without those in place, and without the request that stands among the words. */
export function shownPins(facts: CarriedFacts, options: ShownPinsOptions): readonly string[] {
  const { pinsInPlace, pinsMaxChars: maxChars, mustHandle } = options;
  const request = facts.userWords.find(({ handle }) => handle === mustHandle)?.text;
  return renderPins(facts.pins, {
    maxChars,
    isInPlace: ({ handle, text }) =>
      handle !== undefined && (pinsInPlace.includes(handle) || text === request),
  });
}

interface ShownPinsOptions {
  /** Pins that stand before the model anyway. */
  readonly pinsInPlace: readonly Handle[];
  /** What the pins may take together; longer ones are cut. */
  readonly pinsMaxChars: number;
  readonly mustHandle: Handle | undefined;
}

interface RenderFactsOptions extends ShownPinsOptions {
  readonly budget: FactsBudget;
  /** Of the room of files and key facts, from 0 to 1. */
  readonly share: number;
  /** Of the room of the user's words, from 0 to 1. */
  readonly wordsShare: number;
}

function keyFactLines({ keyFacts }: CarriedFacts, maxChars: number): readonly string[] {
  const byHandle = groupBy(selectKeyFacts(keyFacts, maxChars), ({ handle }) => handle);
  if (byHandle.size === 0) return [];
  const lines = Array.from(
    byHandle,
    ([handle, found]) => `- ${handleLabel(handle)}: ${fenceQuote(found.map(({ text }) => text).join(" · "))}`,
  );
  return [`Seen on the way, by handle:\n${lines.join("\n")}`];
}

/**
 * What a summary written by another program must not lose, as text: pins, the user's words, files touched. Nothing that a tool
 * printed: an agent may show this text in the name of the user or of the system.
 */
export function factsOf(transcript: Transcript, options: FactsOfOptions): string {
  const { pins, marked = [], redaction } = options;
  const budget = { ...options.budget, keyFactsChars: 0 };
  const cleaner = createTextCleaner(redaction);
  const said = transcript.filter(({ role }) => role === "user");
  const facts = collectFacts({
    carried: undefined,
    pins: resolvePins({ transcript, pins, marked, carried: [], cleaner }).pins,
    replaced: transcript,
    pieces: piecesOf(said, cleaner),
    firstHandle: transcript[0]?.id,
    mustHandle: undefined,
    budget,
    cleaner,
  });
  return renderFacts(facts, {
    budget,
    share: 1,
    wordsShare: 1,
    pinsInPlace: [],
    pinsMaxChars: Number.POSITIVE_INFINITY,
    mustHandle: undefined,
  });
}

interface FactsOfOptions {
  readonly pins: readonly Pin[];
  /** Messages that the user marked. */
  readonly marked?: CarriedFacts["pins"];
  readonly budget: Omit<FactsBudget, "keyFactsChars">;
  readonly redaction?: SecretRedaction;
}

/** What the user wrote, message by message, from the carried words and the pieces that are replaced now. */
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
 * The words that fit: the first request always, then what must be there, then the newest. Each stays whole, so that
 * instructions are read as they were given; only where not all of them fit, one that is longer than a quarter of the room
 * keeps its beginning and its end, as a first request of more than `FIRST_REQUEST_POINTS` always does. The handle beside it
 * recalls the whole.
 */
export function selectUserWords(
  words: readonly CarriedWords[],
  options: WordsBudget,
): { readonly words: readonly CarriedWords[]; readonly omitted: readonly CarriedWords[] } {
  const { mustHandle } = options;
  const isKept = ({ first, handle }: CarriedWords): boolean => first === true || handle === mustHandle;
  const roomChars = options.maxChars - WORDS_FRAME_CHARS;
  const fitted = words.map((each) =>
    each.first && each.handle !== mustHandle ? cutWords(each, FIRST_REQUEST_POINTS) : each,
  );
  const charsOf = (some: readonly CarriedWords[]): number =>
    some.reduce((sum, each) => sum + writtenChars(each), 0);
  // A long request with which everything began takes at most half of the room from what was said since.
  let leftChars = Math.max(roomChars - charsOf(fitted.filter(isKept)), roomChars / 2);
  const fits = charsOf(fitted.filter((each) => !isKept(each))) <= leftChars;
  const chosen = new Map<CarriedWords, CarriedWords>();
  for (const each of fitted.toReversed()) {
    if (isKept(each)) {
      chosen.set(each, each);
      continue;
    }
    const shown = fits ? each : cutWords(each, Math.floor(roomChars * PASTED_SHARE));
    const chars = writtenChars(shown);
    if (chars > leftChars) continue;
    chosen.set(each, shown);
    leftChars -= chars;
  }
  return {
    words: fitted.flatMap((each) => chosen.get(each) ?? []),
    omitted: fitted.filter((each) => !chosen.has(each)),
  };
}

function cutWords(words: CarriedWords, maxPoints: number): CarriedWords {
  if (words.text.length <= maxPoints || maxPoints < MIN_CUT_POINTS) return words;
  return { ...words, text: cutCodePoints(words.text, maxPoints) };
}

/** The share of the room that a text keeps which does not fit: it was mostly pasted. */
const PASTED_SHARE = 0.25;
/** Less says nothing of a long text. */
const MIN_CUT_POINTS = 200;

/** What the words of a message take where they stand, with the handle and the blank line behind them. */
function writtenChars(words: CarriedWords): number {
  return quoteWords(words).length + 2;
}

/** The tags around the words, and the line that says how many are missing. */
const WORDS_FRAME_CHARS = 100;

interface WordsBudget {
  readonly maxChars: number;
  /** The message whose words stay whatever they cost: the request that is being worked on. */
  readonly mustHandle?: Handle | undefined;
}

/** How long the first request may be before its middle is left out, in code points. */
const FIRST_REQUEST_POINTS = 8_000;
