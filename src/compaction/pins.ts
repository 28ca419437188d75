import type { CarriedPin } from "../transcript/carried-facts.ts";
import type { Handle } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { outcomeText, type Part } from "../transcript/part.ts";
import { handleOf, isCleared } from "../transcript/tool-results.ts";
import { reachesModel } from "../transcript/visibility.ts";
import { fenceQuote, type TextCleaner } from "./summary-clean-text.ts";
import { hasOnlyStub } from "./tool-summary-archive.ts";

/** Something the caller wants kept before the model: a text, or what stands at a handle of the transcript. */
export type Pin = { readonly text: string } | { readonly handle: Handle };

/**
 * The pins with their texts, cleaned. Without pins of the caller's own those of the last compaction go on; what a
 * handle meant is read again from the transcript while it is there. A handle that leads nowhere is named, not kept.
 */
export function resolvePins(input: PinsInput): ResolvedPins {
  const wanted: readonly (Pin | CarriedPin)[] = input.pins ?? input.carried;
  const lookup = createLookup(input.transcript);
  const pins = new Map<string, CarriedPin>();
  const unknownHandles: Handle[] = [];
  for (const pin of wanted) {
    const handle = "handle" in pin ? pin.handle : undefined;
    const found = handle === undefined ? undefined : lookup(handle);
    const known = input.carried.find((each) => handle !== undefined && each.handle === handle)?.text;
    const raw = found ?? known ?? ("text" in pin ? pin.text : "");
    const text = (handle === undefined ? input.cleaner.typed(raw) : input.cleaner.data(raw)).trim();
    if (text !== "") pins.set(text, { text, ...(handle !== undefined && { handle }) });
    else if (handle !== undefined) unknownHandles.push(handle);
  }
  return { pins: [...pins.values()], unknownHandles };
}

export interface PinsInput {
  readonly transcript: Transcript;
  readonly pins: readonly Pin[] | undefined;
  readonly carried: readonly CarriedPin[];
  readonly cleaner: TextCleaner;
}

export interface ResolvedPins {
  readonly pins: readonly CarriedPin[];
  readonly unknownHandles: readonly Handle[];
}

/** Says whether a part is pinned: by its handle, with its whole message, or because a pinned text stands in it. */
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

/** The handles that need no place in the summary, since what they name stays before the model as it is. */
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

/** Finds what a handle names: a part, or everything readable of a message. */
function createLookup(transcript: Transcript): (handle: Handle) => string | undefined {
  const texts = new Map<Handle, () => string>();
  for (const message of transcript) {
    texts.set(message.id, () => messageText(message));
    for (const [partIndex, part] of message.parts.entries()) {
      texts.set(handleOf(message, partIndex), () => partText(part));
    }
  }
  return (handle) => texts.get(handle)?.();
}

function messageText(message: Message): string {
  return message.parts
    .map(partText)
    .filter((text) => text.trim() !== "")
    .join("\n");
}

function partText(part: Part): string {
  if (part.type === "text") return part.text;
  return part.type === "tool" ? outcomeText(part.outcome) : "";
}
