import { asString, isObject } from "../text/unknown-value.ts";
import type { Handle } from "./part.ts";

/** Facts that a summary keeps as data beside its prose, so that the next compaction can keep them too. */
export interface CarriedFacts {
  /** How many compactions lie behind this summary, itself included. */
  readonly generation: number;
  /** Set when no model wrote the summary. */
  readonly degraded?: true;
  /** Oldest first. */
  readonly userWords: readonly CarriedWords[];
  /** How many more messages of the user were left out, over all compactions. */
  readonly omittedWords?: number;
  readonly pins: readonly CarriedPin[];
  /** Files by the last thing done to them, newest last; `filesRead` were neither created nor changed. */
  readonly filesRead: readonly string[];
  readonly filesCreated?: readonly string[];
  readonly filesChanged: readonly string[];
  readonly filesDeleted?: readonly string[];
  /** Most useful first. */
  readonly keyFacts: readonly KeyFact[];
}

/** What the user wrote in one message. */
export interface CarriedWords {
  readonly handle: Handle;
  readonly text: string;
  /** Set on the first request of the conversation. */
  readonly first?: true;
}

/** A text that every compaction keeps; the handle says where it came from, if known. */
export interface CarriedPin {
  readonly text: string;
  readonly handle?: Handle;
  /** Set when the user marked the message with `#pin`. */
  readonly marked?: true;
}

/** An exact value (path, error, id, …) and the last place where it was seen. */
export interface KeyFact {
  readonly type: KeyFactType;
  readonly text: string;
  readonly handle: Handle;
  /** The number of parts that contain it. */
  readonly seen: number;
}

export type KeyFactType = "path" | "error" | "command" | "identifier" | "url" | "sha";

/** The kinds of key facts. */
export const KEY_FACT_TYPES: readonly KeyFactType[] = [
  "path",
  "error",
  "command",
  "identifier",
  "url",
  "sha",
];

/** The facts in an unknown value; entries of the wrong shape are dropped, and what is not an object is undefined. */
export function readCarriedFacts(value: unknown): CarriedFacts | undefined {
  if (!isObject(value)) return undefined;
  try {
    return {
      generation: Number.isSafeInteger(value.generation) ? Math.max(1, value.generation as number) : 1,
      ...(value.degraded === true && { degraded: true as const }),
      userWords: readList(value.userWords, readWords),
      ...(isCount(value.omittedWords) && { omittedWords: value.omittedWords }),
      pins: readList(value.pins, readPin),
      filesRead: readList(value.filesRead, asString),
      filesChanged: readList(value.filesChanged, asString),
      ...(Array.isArray(value.filesCreated) && { filesCreated: readList(value.filesCreated, asString) }),
      ...(Array.isArray(value.filesDeleted) && { filesDeleted: readList(value.filesDeleted, asString) }),
      keyFacts: readList(value.keyFacts, readKeyFact),
    };
  } catch {
    // A getter or a proxy that throws.
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

const MAX_ENTRIES = 2_000;

function readList<T>(value: unknown, read: (item: unknown) => T | undefined): readonly T[] {
  if (!Array.isArray(value)) return [];
  return value
    .slice(0, MAX_ENTRIES)
    .map(read)
    .filter((item) => item !== undefined);
}

function readWords(item: unknown): CarriedWords | undefined {
  if (!isObject(item) || typeof item.text !== "string" || typeof item.handle !== "string") return undefined;
  return { handle: item.handle, text: item.text, ...(item.first === true && { first: true as const }) };
}

/** The pins in an unknown value. */
export function readPins(value: unknown): readonly CarriedPin[] {
  return readList(value, readPin);
}

function readPin(item: unknown): CarriedPin | undefined {
  if (!isObject(item) || typeof item.text !== "string") return undefined;
  return {
    text: item.text,
    ...(typeof item.handle === "string" && { handle: item.handle }),
    ...(item.marked === true && { marked: true as const }),
  };
}

function readKeyFact(item: unknown): KeyFact | undefined {
  if (!isObject(item) || typeof item.text !== "string" || typeof item.handle !== "string") return undefined;
  const type = KEY_FACT_TYPES.find((each) => each === item.type);
  if (type === undefined) return undefined;
  const seen = Number.isSafeInteger(item.seen) ? Math.max(1, item.seen as number) : 1;
  return { type, text: item.text, handle: item.handle, seen };
}
