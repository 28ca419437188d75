import { checkTranscript } from "../../transcript/check-transcript.ts";
import { type ApplyOptions, applyEdits, type Edit } from "../../transcript/edit.ts";
import type { Fault, Format } from "../../transcript/format.ts";
import type { Transcript } from "../../transcript/message.ts";
import type { BlockAdapter } from "./block-adapter.ts";
import { createSources, encodeBlocks } from "./encode-blocks.ts";
import { type PartOrigin, type Reading, readBlocks } from "./read-blocks.ts";
import { writeBlocks } from "./write-blocks.ts";

/** The format of an API whose wire is a list of turns made of blocks. */
export function createBlockFormat<Wire, Item, Value, Request extends Wire>(
  adapter: BlockAdapter<Wire, Item, Value>,
  faults: (wire: Wire) => readonly Fault[],
): WireFormat<Wire, Request> {
  const sources = createSources<Value>();
  return {
    name: adapter.name,
    faults,

    decode(wire) {
      const reading = readBlocks(adapter, wire);
      const transcript = markIrregular(adapter, wire, reading);
      sources.remember(transcript, reading);
      return transcript;
    },

    encode(transcript, request = {} as never) {
      checkTranscript(transcript, "transcript");
      return encodeBlocks(transcript, { adapter, sources, request }) as never;
    },

    apply(wire, edits, options) {
      if (edits.length === 0) return wire;
      const reading = readBlocks(adapter, wire);
      const edited = applyEdits(reading.transcript, edits, options);
      const firstChanged = firstDifference(reading.transcript, edited);
      if (firstChanged === undefined) return wire;
      const first = firstToWrite(reading, firstChanged);
      const kept = reading.items.slice(0, reading.origins[first]?.item ?? reading.items.length);
      const written = writeBlocks({ adapter, wire, reading, messages: edited.slice(first) });
      const items = [...kept, ...written];
      return adapter.close(wire, adapter.normalizeItems?.(items, wire) ?? items) as typeof wire;
    },
  };
}

/** A format that keeps the form it was given: a list stays a list, a request a request. */
export interface BlockFormat<Wire> extends Format<Wire> {
  apply<Given extends Wire>(wire: Given, edits: readonly Edit[], options: ApplyOptions): Given;
}

/** The format of requests to a provider: it also writes a transcript that no wire held before. */
export interface WireFormat<Wire, Request extends Wire> extends BlockFormat<Wire> {
  /**
   * The messages of any transcript, such as `session.messages()`, as the provider takes them, in a request with
   * whatever else is given. What is hidden is left out; a list that ends with an answer is asked to go on.
   */
  encode<Rest extends object = object>(
    transcript: Transcript,
    request?: Rest,
  ): Omit<Rest, keyof Request> & Request;
}

/**
 * Marks the first part whose form in the wire the API would refuse and that writing it again repairs, such as a result
 * that came late or a cache mark too many. Everything behind a rewritten part is repaired with it.
 */
function markIrregular<Wire, Item, Value>(
  adapter: BlockAdapter<Wire, Item, Value>,
  wire: Wire,
  reading: Reading<Item, Value>,
): Transcript {
  const { items, transcript, origins } = reading;
  const written = writeBlocks({ adapter, wire, reading, messages: transcript });
  const regular = adapter.normalizeItems?.(written, wire) ?? written;
  const index = firstDifference(items, regular);
  if (index === undefined) return transcript;
  const messageIndex = origins.findIndex(({ parts }) => parts.some((part) => isInItem(part, index)));
  const partIndex = origins[messageIndex]?.parts.findIndex((part) => isInItem(part, index));
  return transcript.map((message, place) =>
    place === messageIndex
      ? {
          ...message,
          parts: message.parts.map((part, i) => (i === partIndex ? { ...part, irregular: true } : part)),
        }
      : message,
  );
}

function isInItem({ main, result }: PartOrigin<unknown>, item: number): boolean {
  return main.item === item || result?.item === item;
}

/** The first place where two lists hold different things, or undefined. */
function firstDifference(one: readonly unknown[], other: readonly unknown[]): number | undefined {
  const length = Math.max(one.length, other.length);
  for (let index = 0; index < length; index++) {
    if (one[index] !== other[index]) return index;
  }
  return undefined;
}

/**
 * The first message that has to be written when this one changed: the one before, with which it may have to be one,
 * and every earlier one whose results are among what is written.
 */
function firstToWrite({ origins }: Reading<unknown, unknown>, firstChanged: number): number {
  let first = Math.max(0, Math.min(firstChanged, origins.length) - 1);
  for (let index = first - 1; index >= 0; index--) {
    const start = origins[first]?.item ?? 0;
    if ((origins[index]?.lastItem ?? 0) >= start) first = index;
  }
  return first;
}
