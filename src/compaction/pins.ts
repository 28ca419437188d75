import type { CarriedPin } from "../transcript/carried-facts.ts";
import type { Handle } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { handleOf } from "../transcript/tool-results.ts";
import { fenceQuote, type TextCleaner } from "./summary-clean-text.ts";

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

/** How a pin reads in a summary. */
export function pinText({ text }: CarriedPin): string {
  return fenceQuote(text);
}

/** True when a pin needs no place in the summary, since its message stays before the model. */
export function staysInPlace({ handle }: CarriedPin, keptIds: ReadonlySet<MessageId>): boolean {
  return handle !== undefined && keptIds.has(messageIdOf(handle, keptIds));
}

function messageIdOf(handle: Handle, ids: ReadonlySet<MessageId>): MessageId {
  return ids.has(handle) ? handle : handle.slice(0, Math.max(0, handle.lastIndexOf("/")));
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
  if (part.type !== "tool") return "";
  const { outcome } = part;
  if (outcome.status === "pending") return "";
  return outcome.status === "done" ? outcome.output : outcome.error;
}
