import { commonLimit } from "../../text/clip.ts";
import { CHARS_PER_TOKEN } from "../../text/tokens/estimate-tokens.ts";
import type { CarriedPin } from "../../transcript/carried-facts.ts";
import { handleOf, hasOnlyStub, isCleared, partText } from "../../transcript/content.ts";
import type { Handle } from "../../transcript/edit.ts";
import { type Message, reachesModel, type Transcript } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { element } from "./request.ts";
import {
  createTextCleaner,
  cutCodePoints,
  fenceQuote,
  handleLabel,
  type SecretRedaction,
  type TextCleaner,
} from "./text.ts";

/** Something that must stay visible to the model: a text, or what a handle of the transcript names. */
export type Pin = { readonly text: string } | { readonly handle: Handle };

/**
 * The pins with their texts, cleaned: those of the caller, or without any those of the last compaction, and the messages
 * that the user marked. A mark counts as long as its message has it, and for good once the message is gone. Handles that
 * name nothing are listed and not kept.
 */
export function resolvePins(input: PinsInput): {
  readonly pins: readonly CarriedPin[];
  readonly unknownHandles: readonly Handle[];
} {
  const { transcript, marked, carried, cleaner } = input;
  const there = new Set(transcript.map(({ id }) => id));
  const kept = carried.filter(({ marked: isMarked, handle = "" }) => isMarked && !there.has(handle));
  const wanted: readonly (Pin | CarriedPin)[] = input.pins ?? carried.filter((pin) => !pin.marked);
  const pins = new Map<string, CarriedPin>();
  const unknownHandles: Handle[] = [];
  for (const pin of wanted) {
    const handle = "handle" in pin ? pin.handle : undefined;
    const found = handle === undefined ? undefined : textAt(transcript, handle);
    const known = carried.find((each) => handle !== undefined && each.handle === handle)?.text;
    const raw = found ?? known ?? ("text" in pin ? pin.text : "");
    const text = (handle === undefined ? cleaner.typed(raw) : cleaner.data(raw)).trim();
    if (text !== "") pins.set(text, { text, ...(handle !== undefined && { handle }) });
    else if (handle !== undefined) unknownHandles.push(handle);
  }
  for (const pin of [...kept, ...marked]) {
    const text = cleaner.typed(pin.text);
    pins.set(text, { ...pin, text });
  }
  return { pins: [...pins.values()], unknownHandles };
}

interface PinsInput {
  readonly transcript: Transcript;
  readonly pins: readonly Pin[] | undefined;
  /** Messages of the transcript that the user marked. */
  readonly marked: readonly CarriedPin[];
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

/**
 * The pins as they stand in a summary, those in place left out. Where they are too long together the longest are cut to
 * one length, or, where that would leave nothing to read, the last are left out; each says so and names where the whole is.
 */
export function renderPins(pins: readonly CarriedPin[], options: RenderPinsOptions): readonly string[] {
  const { maxChars, isInPlace = () => false, handleFor = carriedHandle } = options;
  const shown = pins.flatMap((pin, index) =>
    isInPlace(pin) ? [] : [{ text: pinText(pin), handle: handleFor(pin, index) }],
  );
  const lengths = shown.map(({ text }) => text.length);
  const limitChars = Math.floor(commonLimit(lengths, maxChars));
  if (limitChars >= MIN_PIN_CHARS)
    return shown.map((pin) => (pin.text.length <= limitChars ? pin.text : cutPin(pin, limitChars)));
  let leftChars = maxChars;
  const [whole, missing] = [[] as string[], [] as ShownPin[]];
  for (const pin of shown) {
    if (pin.text.length > leftChars) missing.push(pin);
    else whole.push(pin.text);
    if (pin.text.length <= leftChars) leftChars -= pin.text.length;
  }
  return missing.length === 0 ? whole : [...whole, missingNotice(missing)];
}

interface RenderPinsOptions {
  readonly maxChars: number;
  /** True for a pin that the model sees elsewhere. */
  readonly isInPlace?: (pin: CarriedPin) => boolean;
  /** Under which the whole of a pin can be recalled. */
  readonly handleFor?: (pin: CarriedPin, index: number) => Handle | undefined;
}

interface ShownPin {
  readonly text: string;
  readonly handle: Handle | undefined;
}

/** The handle of a pin in the summary that carries it: a text that came from no place is found by its number. */
function carriedHandle({ handle }: CarriedPin, index: number): Handle {
  return handle ?? `${TEXT_PIN}${index + 1}`;
}

/** The text of a pin that came from no place, by the handle that its summary names. */
export function pinByHandle(handle: Handle, pins: readonly CarriedPin[]): string | undefined {
  const number = handle.startsWith(TEXT_PIN) ? Number(handle.slice(TEXT_PIN.length)) : Number.NaN;
  const pin = pins[number - 1];
  return pin?.handle === undefined ? pin?.text : undefined;
}

const TEXT_PIN = "pin-";

/** A pin cut to less than this says nothing. */
const MIN_PIN_CHARS = 600;
const NOTICE_CHARS = 260;
const MAX_NAMED_PINS = 20;

function cutPin({ text, handle }: ShownPin, limitChars: number): string {
  const cut = cutCodePoints(text, limitChars - NOTICE_CHARS);
  return `${cut}\n[This pin of ${text.length} characters does not fit the window; ${whereabouts(handle)}.]`;
}

function whereabouts(handle: Handle | undefined): string {
  return handle === undefined
    ? "the whole of it is in the settings"
    : `the whole of it is kept under the handle ${handleLabel(handle)}`;
}

function missingNotice(pins: readonly ShownPin[]): string {
  const named = pins
    .slice(0, MAX_NAMED_PINS)
    .map(({ handle }) => (handle ? handleLabel(handle) : "settings"));
  const more = pins.length > named.length ? ` and ${pins.length - named.length} more` : "";
  const many = pins.length === 1 ? "1 pin does" : `${pins.length} pins do`;
  return `[${many} not fit the window and can be recalled by handle: ${named.join(", ")}${more}.]`;
}

/** How many characters pins may have together: a share of what the window leaves beside system prompt and tools. */
export function pinsRoom(windowTokens: number, { systemChars = 0, toolsChars = 0 }: Overhead): number {
  return Math.max(0, windowTokens * CHARS_PER_TOKEN - systemChars - toolsChars) * PINS_SHARE;
}

interface Overhead {
  readonly systemChars?: number;
  readonly toolsChars?: number;
}

/** Leaves room for the summary, what is kept behind it, and new work. */
const PINS_SHARE = 0.4;

/** Pins as text for a request that another program writes; empty when there are none. */
export function pinsOf(transcript: Transcript, options: PinsOfOptions): string {
  const { pins, marked = [], stillInWindow = "", maxChars, redaction } = options;
  const cleaner = createTextCleaner(redaction);
  const resolved = resolvePins({ transcript, pins, marked, carried: [], cleaner }).pins;
  // A model writes other line breaks than a file may have.
  const held = stillInWindow.replaceAll("\r", "");
  const isHeld = (text: string): boolean => held.includes(text.replaceAll("\r", "").trim());
  const texts = renderPins(resolved, {
    maxChars: maxChars ?? Number.POSITIVE_INFINITY,
    isInPlace: (pin) => isHeld(pin.text) || isHeld(pinText(pin)),
    handleFor: ({ handle }) => handle,
  });
  return texts.length === 0 ? "" : element("pinned", texts.join("\n\n"));
}

interface PinsOfOptions {
  readonly pins: readonly Pin[];
  /** Messages that the user marked. */
  readonly marked?: readonly CarriedPin[];
  /** A text before the model: a pin that stands in it word for word is left out. */
  readonly stillInWindow?: string;
  readonly maxChars?: number;
  readonly redaction?: SecretRedaction;
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
