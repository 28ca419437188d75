import { CHARS_PER_TOKEN } from "../text/estimate-tokens.ts";
import { normalizeText } from "../text/normalize-text.ts";
import type { CarriedFacts } from "../transcript/carried-facts.ts";
import type { Handle } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";
import { collectAnchors, selectAnchors } from "./anchor-index.ts";
import { pinText } from "./pins.ts";
import { fenceQuote, oneLine, type TextCleaner } from "./summary-clean-text.ts";
import { collectFiles, newestPaths } from "./summary-files.ts";
import type { Piece } from "./summary-pieces.ts";
import { element } from "./summary-prompt.ts";
import { collectUserWords, selectUserWords } from "./summary-user-words.ts";

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
    userWords: selectUserWords(words, { maxChars: budget.wordsChars, ...mustHandle(input) }).words,
    pins: input.pins,
    ...files,
    anchors: collectAnchors(carried?.anchors ?? [], pieces),
  };
}

export interface FactsInput {
  readonly carried: CarriedFacts | undefined;
  readonly pins: CarriedFacts["pins"];
  readonly folded: Transcript;
  readonly pieces: readonly Piece[];
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

/** Room by what is replaced: facts must not eat up what the compaction gains. */
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
    ...mustHandle(options),
  });
  const quotes = words.map(({ handle, text }) => `[${label(handle)}]\n${fenceQuote(text)}`);
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

export interface RenderFactsOptions {
  readonly budget: FactsBudget;
  /** From 0 to 1. */
  readonly share: number;
  /** Pins that stand before the model anyway. */
  readonly pinsInPlace: readonly Handle[];
  readonly mustHandle: Handle | undefined;
}

function mustHandle({ mustHandle: handle }: { readonly mustHandle: Handle | undefined }): {
  readonly mustHandle?: Handle;
} {
  return handle === undefined ? {} : { mustHandle: handle };
}

function listOf(title: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : [`${title}: ${items.map((item) => fenceQuote(item)).join(", ")}`];
}

function anchorLines({ anchors }: CarriedFacts, maxChars: number): readonly string[] {
  const byHandle = new Map<Handle, string[]>();
  for (const { handle, text } of selectAnchors(anchors, maxChars)) {
    const texts = byHandle.get(handle);
    if (texts === undefined) byHandle.set(handle, [text]);
    else texts.push(text);
  }
  if (byHandle.size === 0) return [];
  const lines = Array.from(
    byHandle,
    ([handle, texts]) => `- ${label(handle)}: ${fenceQuote(texts.join(" · "))}`,
  );
  return [`Seen on the way, by handle:\n${lines.join("\n")}`];
}

function label(handle: Handle): string {
  return fenceQuote(oneLine(normalizeText(handle), 120));
}
