import { CACHE_PROFILE_RULE, type CacheProfile } from "../models/cache-profile.ts";
import {
  callback,
  limitFrom,
  listOf,
  numberFrom,
  objectOf,
  optionsCheck,
  required,
  rule,
  type Shape,
  text,
} from "../text/check.ts";
import { CHARS_PER_TOKEN } from "../text/tokens/estimate-tokens.ts";
import { applyEdits, type Edit, type Position } from "../transcript/edit.ts";
import { charsOf } from "../transcript/estimate-message.ts";
import { isVisibleToModel, type Message, type MessageId, type Transcript } from "../transcript/message.ts";
import { filterCompacted } from "./boundary.ts";

/**
 * Decides which edits pay for themselves: what they save on every later request, against sending again everything
 * that was cached after the first edit. The others wait until they pay or the cache expires. A cached prefix ends at
 * the first changed byte, so once one message is edited, edits of later messages cost nothing more. The best choice
 * is therefore always all edits from some message on.
 */
export function planEdits(request: PlanEditsRequest): EditPlan {
  checkRequest(request);
  const wire = measureWire(request);
  const prices = pricesOf(request, wire);
  const tallies = tallyFromEachPlace(wire, prices);
  const chosen = choose(tallies, request.neededTokens ?? 0);
  const isChosen = (_: Edit, index: number): boolean => wire.placeOfEdit(index) >= chosen.firstIndex;
  return {
    apply: request.edits.filter(isChosen),
    wait: request.edits.filter((edit, index) => !isChosen(edit, index)),
    lackingTokens: lackingTokens(tallies, prices, { behindTokens: wire.behindTokens, ...request }),
    arithmetic: { ...prices, chosen, all: tallies.at(-1) ?? NOTHING },
  };
}

/** The edits in question, and the requests that they affect. */
export interface PlanEditsRequest {
  /** The messages as they are before the edits. */
  readonly transcript: Transcript;
  /** Edits of which each could be left out, like those of `prune` and `supersede`. */
  readonly edits: readonly Edit[];
  /** The prices of the provider's cache. */
  readonly profile: CacheProfile;
  /** System prompt and tool definitions, which stand before all messages. @default 0 */
  readonly leadingTokens?: number;
  /** Messages behind which the host marked the prompt for caching; unset means that any prefix can be reused. @default any prefix can be reused */
  readonly breakpoints?: readonly MessageId[];
  /** The size of a message as the model sees it. @default characters / 4 */
  readonly tokensOf?: (message: Message) => number;
  /** Requests still to come, counting the next one. */
  readonly expectedTurns: number;
  /** Time since the last request of this conversation; unset means that its cache is still there. @default 0 */
  readonly idleMs?: number;
  /** Tokens that have to go whatever it costs, because the window is full. @default 0 */
  readonly neededTokens?: number;
  /** Edits that save less are of no use; matters for `lackingTokens` alone. @default 0 */
  readonly leastTokens?: number;
  /** Thoughts that are lost when something before them is edited; unset where none is. @default none */
  readonly thoughts?: LostThoughts;
}

/** The price of thinking again. */
export interface LostThoughts {
  /** Tokens of the thoughts of a message; 0 when it has none or they are already lost. */
  readonly tokensOf: (message: Message) => number;
  /** The price of output in multiples of the price of input. */
  readonly multiplier: number;
}

/** Which edits to apply now and which to keep for later. */
export interface EditPlan {
  /** In the given order. */
  readonly apply: readonly Edit[];
  readonly wait: readonly Edit[];
  /** How many more tokens must arrive before an edit can pay, at least; 0 when one pays now. */
  readonly lackingTokens: number;
  readonly arithmetic: CacheArithmetic;
}

/** All numbers behind a plan. `BaseTokens` are weighted by price: one costs as much as an uncached input token. */
export interface CacheArithmetic extends CachePrices {
  readonly chosen: EditTally;
  /** The same sums for all edits together, whether or not they are applied. */
  readonly all: EditTally;
}

/** Assumptions about the provider's cache. */
export interface CachePrices {
  /**
   * `cold`: the prefix has expired, or nothing was sent yet. `uncached`: the provider does not cache, or not prompts
   * this short.
   */
  readonly cache: "warm" | "cold" | "uncached";
  readonly cachedTokens: number;
  readonly readMultiplier: number;
  readonly writeMultiplier: number;
  readonly expectedTurns: number;
}

/** The sums for all edits from one message on. */
export interface EditTally {
  /** Index of the first changed message that is sent; Infinity when none changes. */
  readonly firstIndex: number;
  readonly savedTokensPerTurn: number;
  /** Cached tokens that have to be sent again. */
  readonly rewrittenTokens: number;
  readonly savedBaseTokens: number;
  readonly rewriteBaseTokens: number;
  /** The price of thinking again after the first edit; unset when no thought is lost. */
  readonly thoughtBaseTokens?: number;
  /** The saving minus the cache miss and the lost thoughts. */
  readonly netBaseTokens: number;
  /** The number of requests from which on it pays. */
  readonly breakEvenTurns: number;
}

const NOTHING: EditTally = {
  firstIndex: Number.POSITIVE_INFINITY,
  savedTokensPerTurn: 0,
  rewrittenTokens: 0,
  savedBaseTokens: 0,
  rewriteBaseTokens: 0,
  netBaseTokens: 0,
  breakEvenTurns: Number.POSITIVE_INFINITY,
};

const SHAPE: Shape<PlanEditsRequest> = {
  transcript: required(rule("a transcript", Array.isArray)),
  edits: required(rule("a list of edits", Array.isArray)),
  profile: required(CACHE_PROFILE_RULE),
  leadingTokens: numberFrom(0),
  breakpoints: listOf(text),
  tokensOf: callback,
  expectedTurns: required(numberFrom(1)),
  idleMs: limitFrom(0),
  neededTokens: numberFrom(0),
  leastTokens: numberFrom(0),
  thoughts: objectOf({ tokensOf: required(callback), multiplier: required(numberFrom(0)) }),
};

const checkRequest = optionsCheck(SHAPE);

function pricesOf({ profile, expectedTurns, idleMs = 0 }: PlanEditsRequest, wire: CachedWire): CachePrices {
  const { readMultiplier, writeMultiplier } = profile;
  const { cachedTokens } = wire;
  if (readMultiplier >= writeMultiplier || wire.totalTokens < profile.minimumTokens) {
    return { cache: "uncached", cachedTokens: 0, readMultiplier: 1, writeMultiplier: 1, expectedTurns };
  }
  const isCold = idleMs > profile.ttlMs || cachedTokens < profile.minimumTokens;
  const state = isCold
    ? ({ cache: "cold", cachedTokens: 0 } as const)
    : ({ cache: "warm", cachedTokens } as const);
  return { ...state, readMultiplier, writeMultiplier, expectedTurns };
}

/** One tally for each edited message, from the last to the first. */
function tallyFromEachPlace(wire: CachedWire, prices: CachePrices): readonly EditTally[] {
  const { cache, readMultiplier, writeMultiplier, expectedTurns } = prices;
  const premium = writeMultiplier - readMultiplier;
  const tallies: EditTally[] = [];
  let cachedSavedTokens = 0;
  let freshSavedTokens = 0;
  for (const { index, savedTokens, isCached, cachedTokensBehind, thoughtTokensBehind } of wire.editedPlaces) {
    if (isCached && cache === "warm") cachedSavedTokens += savedTokens;
    else freshSavedTokens += savedTokens;
    const savedTokensPerTurn = cachedSavedTokens + freshSavedTokens;
    const rewrittenTokens = cache === "warm" ? Math.max(0, cachedTokensBehind - cachedSavedTokens) : 0;
    // Tokens that are not cached yet would have been written once before they could be read.
    const freshBaseTokens = freshSavedTokens * premium;
    const savedBaseTokens = savedTokensPerTurn * expectedTurns * readMultiplier + freshBaseTokens;
    const rewriteBaseTokens = rewrittenTokens * premium;
    const thoughtBaseTokens = thoughtTokensBehind * wire.thoughtMultiplier;
    const costBaseTokens = rewriteBaseTokens + thoughtBaseTokens;
    tallies.push({
      firstIndex: index,
      savedTokensPerTurn,
      rewrittenTokens,
      savedBaseTokens,
      rewriteBaseTokens,
      ...(thoughtBaseTokens > 0 && { thoughtBaseTokens }),
      netBaseTokens: savedBaseTokens - costBaseTokens,
      breakEvenTurns: turnsUntil(costBaseTokens - freshBaseTokens, savedTokensPerTurn * readMultiplier),
    });
  }
  return tallies;
}

function turnsUntil(costBaseTokens: number, savedBaseTokensPerTurn: number): number {
  if (savedBaseTokensPerTurn <= 0) return costBaseTokens < 0 ? 0 : Number.POSITIVE_INFINITY;
  return Math.max(0, costBaseTokens / savedBaseTokensPerTurn);
}

/**
 * The tally with the largest net saving. When tokens are needed, the cheapest one that frees enough, or all edits
 * when none does.
 */
function choose(tallies: readonly EditTally[], neededTokens: number): EditTally {
  if (neededTokens > 0) {
    const enough = tallies.filter((tally) => tally.savedTokensPerTurn >= neededTokens);
    return bestOf(enough) ?? tallies.at(-1) ?? NOTHING;
  }
  const best = bestOf(tallies);
  return best !== undefined && best.netBaseTokens > 0 ? best : NOTHING;
}

/**
 * How many new tokens make an edit pay. A new token lets an old one be removed, which then is not read on every
 * request. Tokens after the newest edit may soon be old enough too; removing those also saves writing them again.
 */
function lackingTokens(
  tallies: readonly EditTally[],
  { readMultiplier, writeMultiplier, expectedTurns }: CachePrices,
  { leastTokens = 0, behindTokens }: { readonly leastTokens?: number; readonly behindTokens: number },
): number {
  const readBaseTokens = expectedTurns * readMultiplier;
  const behindBaseTokens = behindTokens * (readBaseTokens + writeMultiplier - readMultiplier);
  let lacking = tallies.length === 0 ? leastTokens : Number.POSITIVE_INFINITY;
  for (const { netBaseTokens, savedTokensPerTurn } of tallies) {
    const toPay = (-netBaseTokens - behindBaseTokens) / readBaseTokens;
    lacking = Math.min(lacking, Math.max(toPay, leastTokens - savedTokensPerTurn - behindTokens));
  }
  return Math.max(0, lacking);
}

function bestOf([first, ...others]: readonly EditTally[]): EditTally | undefined {
  if (first === undefined) return undefined;
  return others.reduce((best, tally) => (tally.netBaseTokens > best.netBaseTokens ? tally : best), first);
}

/** Measures the messages of the next request, and finds where each edit changes them first. */
function measureWire(request: PlanEditsRequest): CachedWire {
  const { transcript, edits, tokensOf = quarterOfChars, thoughts } = request;
  const window = filterCompacted(transcript);
  const indexes = new Map(window.map(({ id }, index) => [id, index]));
  const tokensBefore = runningTotals(window.map(tokensOf), request.leadingTokens ?? 0);
  // The newest answer and everything after it were not part of a request yet.
  const cachedEnd = Math.max(
    0,
    window.findLastIndex(({ role }) => role === "assistant"),
  );
  const places = placesOf(edits, indexes);
  const savedAt = savedTokensAt(request, window, places);
  const reusableBefore = reusableTokens(request, { indexes, tokensBefore });
  const cachedTokens = cachedEnd === 0 ? 0 : (tokensBefore[cachedEnd] ?? 0);

  const thoughtsBefore = runningTotals(
    window.map((message) => thoughts?.tokensOf(message) ?? 0),
    0,
  );
  const editedPlaces = [...savedAt].map(([index, savedTokens]): EditedPlace => {
    const isCached = index < cachedEnd;
    const cachedTokensBehind = isCached ? cachedTokens - (reusableBefore[index] ?? 0) : 0;
    // Thoughts in the edited message itself come before the edit and stay valid.
    const thoughtTokensBehind = (thoughtsBefore.at(-1) ?? 0) - (thoughtsBefore[index + 1] ?? 0);
    return { index, savedTokens, isCached, cachedTokensBehind, thoughtTokensBehind };
  });
  const sorted = editedPlaces.sort((left, right) => right.index - left.index);
  const totalTokens = tokensBefore.at(-1) ?? 0;
  return {
    totalTokens,
    cachedTokens,
    editedPlaces: sorted,
    thoughtMultiplier: thoughts?.multiplier ?? 0,
    behindTokens: totalTokens - cachedTokens + (sorted[0]?.cachedTokensBehind ?? 0),
    placeOfEdit: (index) => places[index] ?? NOWHERE,
  };
}

/** The messages of the next request, as a provider's cache sees them. */
interface CachedWire {
  readonly totalTokens: number;
  /** Tokens that were in the last request. */
  readonly cachedTokens: number;
  /** The edited messages, last first. */
  readonly editedPlaces: readonly EditedPlace[];
  readonly thoughtMultiplier: number;
  /** Tokens sent from the last edited message on, the newest answer included. */
  readonly behindTokens: number;
  /** The index of the first message that an edit changes; Infinity when it changes none. */
  readonly placeOfEdit: (index: number) => number;
}

interface EditedPlace {
  readonly index: number;
  readonly savedTokens: number;
  readonly isCached: boolean;
  /** Cached tokens that a change here invalidates. */
  readonly cachedTokensBehind: number;
  /** Tokens of the thoughts after it. */
  readonly thoughtTokensBehind: number;
}

const NOWHERE = Number.POSITIVE_INFINITY;

function quarterOfChars(message: Message): number {
  return Math.round(charsOf(message) / CHARS_PER_TOKEN);
}

/** Running totals: entry `i` is the sum before item `i`, so there is one entry more than items. */
function runningTotals(sizes: readonly number[], start: number): readonly number[] {
  const totals = [start];
  let total = start;
  for (const size of sizes) {
    total += size;
    totals.push(total);
  }
  return totals;
}

function placesOf(edits: readonly Edit[], indexes: ReadonlyMap<MessageId, number>): readonly number[] {
  const known = new Map(indexes);
  const behind = (after: Position): number => (after === null ? 0 : (known.get(after) ?? -1) + 1);
  return edits.map((edit) => {
    switch (edit.type) {
      case "insert-message": {
        const place = behind(edit.after);
        if (!known.has(edit.message.id)) known.set(edit.message.id, place);
        return place;
      }
      case "move-message":
        return Math.min(known.get(edit.messageId) ?? NOWHERE, behind(edit.after));
      default:
        return known.get(edit.messageId) ?? NOWHERE;
    }
  });
}

/** Tokens that the edits save in each message, by its index. */
function savedTokensAt(
  { edits, tokensOf = quarterOfChars }: PlanEditsRequest,
  window: Transcript,
  places: readonly number[],
): ReadonlyMap<number, number> {
  const before = new Map(window.map((message) => [message.id, message]));
  const after = new Map(applyEdits(window, edits, { at: 0 }).map((message) => [message.id, message]));
  const sizeOf = (message: Message | undefined): number =>
    message !== undefined && isVisibleToModel(message) ? tokensOf(message) : 0;
  const saved = new Map<number, number>();
  const measured = new Set<MessageId>();
  for (const [index, edit] of edits.entries()) {
    const place = places[index] ?? NOWHERE;
    if (place === NOWHERE) continue;
    const id = edit.type === "insert-message" ? edit.message.id : edit.messageId;
    // Several edits of one message are measured together.
    const savedTokens = measured.has(id) ? 0 : sizeOf(before.get(id)) - sizeOf(after.get(id));
    measured.add(id);
    saved.set(place, (saved.get(place) ?? 0) + savedTokens);
  }
  return saved;
}

/**
 * For each message: how much of the prompt before it the provider can still read from the cache when this message
 * changes.
 */
function reusableTokens(
  { breakpoints, profile }: PlanEditsRequest,
  { indexes, tokensBefore }: { indexes: ReadonlyMap<MessageId, number>; tokensBefore: readonly number[] },
): readonly number[] {
  const ends = new Set(breakpoints?.map((id) => (indexes.get(id) ?? -1) + 1));
  let reusable = 0;
  return tokensBefore.map((tokens, index) => {
    if (breakpoints === undefined || index === 0 || ends.has(index)) {
      const wholeSteps = Math.floor(tokens / profile.stepTokens) * profile.stepTokens;
      reusable = wholeSteps < profile.minimumTokens ? 0 : wholeSteps;
    }
    return reusable;
  });
}
