import { CHARS_PER_TOKEN } from "../text/estimate-tokens.ts";
import { applyEdits } from "../transcript/apply-edits.ts";
import type { Edit, Place } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { charsOf } from "../transcript/size.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { filterCompacted } from "./filter-compacted.ts";
import type { CacheProfile } from "./provider-cache-profiles.ts";

/** Lays the messages that are sent side by side with their sizes, and finds the edits on them; one pass over each. */
export function layOutWire(request: WireRequest): CachedWire {
  const { transcript, edits, tokensOf = quarterOfChars } = request;
  const window = filterCompacted(transcript);
  const indexes = new Map(window.map(({ id }, index) => [id, index]));
  const tokensBefore = runningTotals(window.map(tokensOf), request.leadingTokens ?? 0);
  // The newest answer and what came after it have not been part of any request yet.
  const cachedEnd = Math.max(
    0,
    window.findLastIndex(({ role }) => role === "assistant"),
  );
  const places = placesOf(edits, indexes);
  const savedAt = savedTokensAt({ transcript, window, edits, places, tokensOf });
  const reusableBefore = reusableTokens(request, { indexes, tokensBefore });
  const cachedTokens = cachedEnd === 0 ? 0 : (tokensBefore[cachedEnd] ?? 0);

  const editedPlaces = [...savedAt].map(([index, savedTokens]): EditedPlace => {
    const isCached = index < cachedEnd;
    const cachedTokensBehind = isCached ? cachedTokens - (reusableBefore[index] ?? 0) : 0;
    return { index, savedTokens, isCached, cachedTokensBehind };
  });
  return {
    totalTokens: tokensBefore.at(-1) ?? 0,
    cachedTokens,
    editedPlaces: editedPlaces.sort((left, right) => right.index - left.index),
    placeOfEdit: (index) => places[index] ?? NOWHERE,
  };
}

export interface WireRequest {
  readonly transcript: Transcript;
  /** Edits of which each could be left out, like those of `prune` and `supersede`. */
  readonly edits: readonly Edit[];
  readonly profile: CacheProfile;
  /** System prompt and tool definitions, which stand before all messages. */
  readonly leadingTokens?: number;
  /** Messages behind which the host marked the prompt for caching; unset means that any prefix can be reused. */
  readonly breakpoints?: readonly MessageId[];
  /** The size of a message as the model sees it; the default is a quarter of its characters. */
  readonly tokensOf?: (message: Message) => number;
}

/** The messages of the next request, as a provider's cache sees them. */
export interface CachedWire {
  readonly totalTokens: number;
  /** The part of it that was in the last request. */
  readonly cachedTokens: number;
  /** The places with an edit, last first. */
  readonly editedPlaces: readonly EditedPlace[];
  /** Where an edit changes the wire first; Infinity when it does not. */
  readonly placeOfEdit: (index: number) => number;
}

export interface EditedPlace {
  readonly index: number;
  readonly savedTokens: number;
  readonly isCached: boolean;
  /** Cached tokens that a change at this place makes useless. */
  readonly cachedTokensBehind: number;
}

const NOWHERE = Number.POSITIVE_INFINITY;

function quarterOfChars(message: Message): number {
  return Math.round(charsOf(message) / CHARS_PER_TOKEN);
}

/** Entry `i` is what stands before item `i`; there is one entry more than items. */
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
  const behind = (after: Place): number => (after === null ? 0 : (known.get(after) ?? -1) + 1);
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

interface SavingsSubject {
  readonly transcript: Transcript;
  readonly window: Transcript;
  readonly edits: readonly Edit[];
  readonly places: readonly number[];
  readonly tokensOf: (message: Message) => number;
}

/** What the edits of each place take off the wire, by place. */
function savedTokensAt({
  transcript,
  window,
  edits,
  places,
  tokensOf,
}: SavingsSubject): ReadonlyMap<number, number> {
  const before = new Map(window.map((message) => [message.id, message]));
  const after = new Map(applyEdits(transcript, edits, { at: 0 }).map((message) => [message.id, message]));
  const sizeOf = (message: Message | undefined): number =>
    message !== undefined && isVisibleToModel(message) ? tokensOf(message) : 0;
  const saved = new Map<number, number>();
  const measured = new Set<MessageId>();
  for (const [index, edit] of edits.entries()) {
    const place = places[index] ?? NOWHERE;
    if (place === NOWHERE) continue;
    const id = edit.type === "insert-message" ? edit.message.id : edit.messageId;
    // Several edits of one message are measured once, by what they do together.
    const savedTokens = measured.has(id) ? 0 : sizeOf(before.get(id)) - sizeOf(after.get(id));
    measured.add(id);
    saved.set(place, (saved.get(place) ?? 0) + savedTokens);
  }
  return saved;
}

/** For each message, how much of the prompt before it a provider can still read when the message changes. */
function reusableTokens(
  { breakpoints, profile }: WireRequest,
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
