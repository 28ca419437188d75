import { asArray, asObject, asString } from "../../../text/unknown-value.ts";
import type { Fault } from "../../../transcript/format.ts";
import { contentBlocks, safeCallId } from "../../blocks/message-content.ts";
import {
  faultAt,
  findCommonFaults,
  isCompaction,
  someString,
  type WireBlock,
  type WireMessage,
  type WirePlace,
  wireList,
} from "../../faults/find-common-faults.ts";
import { hasBoundThoughts, isBlankText, isMarked, isThinkingOn, MAX_CACHE_MARKS } from "./read-message.ts";

/**
 * What Anthropic's Messages API would refuse in a request, or in its bare list of messages. Checks common-01 to
 * common-12 and anthropic-19, 20, 22, 23, 25, 26, 27, and anthropic-24 when told which signatures the model made.
 */
export function findAnthropicFaults(wire: unknown, options: AnthropicFaultOptions = {}): readonly Fault[] {
  const messages = readAnthropicWire(wire);
  const conversation = messages.filter((message) => message.side !== "system");
  return [
    ...findCommonFaults(messages),
    ...resultOrderFaults(conversation),
    ...blockFaults(conversation),
    ...thinkingFaults(wire, conversation),
    ...foreignSignatureFaults(conversation, options),
    ...cacheMarkFaults(wire, messages),
    ...roleFaults(conversation),
    ...findAnthropicSizeFaults(wire),
  ];
}

interface AnthropicFaultOptions {
  /** Says of a thinking block's signature whether the model that is asked made it; all are taken for its own when unset. */
  readonly isOwnSignature?: (signature: string) => boolean;
}

/** anthropic-19: results come first in their message; no turn's results are in two messages. */
function* resultOrderFaults(conversation: readonly WireMessage[]): Generator<Fault> {
  for (const [index, { side, blocks }] of conversation.entries()) {
    const before = conversation[index - 1];
    const isSecond = side === "user" && before?.side === "user" && hasBlock(before, "result");
    let isBehind = false;
    for (const block of blocks) {
      if (block.type !== "result") isBehind = true;
      else if (isBehind)
        yield faultAt("anthropic-19", block, "a result behind other content: put results first");
      else if (isSecond)
        yield faultAt("anthropic-19", block, "results in two messages: put all of a turn's into the first");
    }
  }
}

function hasBlock(message: WireMessage | undefined, type: WireBlock["type"]): boolean {
  return message?.blocks.some((block) => block.type === type) === true;
}

/** anthropic-20, and blank texts inside results. */
function* blockFaults(conversation: readonly WireMessage[]): Generator<Fault> {
  for (const block of conversation.flatMap(({ blocks }) => blocks)) {
    if (block.callId !== undefined && safeCallId(block.callId) !== block.callId)
      yield faultAt("anthropic-20", block, "an id that is not 1 to 64 of a-zA-Z0-9_-: rename both sides");
    const { content } = asObject(block.wire);
    if (block.type === "result" && asArray(content).some(isBlankText))
      yield faultAt("common-10", block, "a blank text in a result: leave it out");
  }
}

/** anthropic-22: with thinking on, the last turn that called a tool starts with its thinking, but for models that bind it. */
function* thinkingFaults(wire: unknown, conversation: readonly WireMessage[]): Generator<Fault> {
  const isLoopOpen = hasBlock(conversation.at(-1), "result");
  const last = isLoopOpen ? conversation.findLast((message) => message.side === "assistant") : undefined;
  if (last === undefined || !hasBlock(last, "call") || last.blocks[0]?.type === "reasoning") return;
  if (hasBoundThoughts(wire)) return;
  if (isThinkingOn(wire) || hasBlock(last, "reasoning"))
    yield faultAt(
      "anthropic-22",
      last,
      "the turn whose tools were called must start with its thinking: keep it",
    );
}

/** anthropic-24: a signature that another model made. */
function* foreignSignatureFaults(
  conversation: readonly WireMessage[],
  { isOwnSignature = () => true }: AnthropicFaultOptions,
): Generator<Fault> {
  for (const block of conversation.flatMap(({ blocks }) => blocks)) {
    const signature = signatureOf(block);
    if (block.type === "reasoning" && signature !== undefined && !isOwnSignature(signature))
      yield faultAt("anthropic-24", block, "thinking that another model signed: leave it out");
  }
}

/** anthropic-23: where cache marks may be, and how many. */
function* cacheMarkFaults(wire: unknown, messages: readonly WireMessage[]): Generator<Fault> {
  let marks = asArray(asObject(wire).tools).filter(isMarked).length;
  for (const block of messages.flatMap(({ blocks }) => blocks)) {
    const inner = contentBlocks(asObject(block.wire).content);
    marks += (isMarked(block.wire) ? 1 : 0) + inner.filter(isMarked).length;
    if (isMarked(block.wire) && (block.type === "reasoning" || isBlankText(block.wire)))
      yield faultAt("anthropic-23", block, "a cache mark on thinking or on a blank text: take it off");
  }
  if (marks > MAX_CACHE_MARKS)
    yield faultAt("anthropic-23", { messageId: "" }, `${marks} cache marks: keep ${MAX_CACHE_MARKS}`);
}

/** anthropic-26 and anthropic-27: the roles take turns and the user has the last word. */
function* roleFaults(conversation: readonly WireMessage[]): Generator<Fault> {
  for (const [index, message] of conversation.entries()) {
    if (message.side === conversation[index - 1]?.side)
      yield faultAt("anthropic-27", message, `two ${message.side} messages in a row: make them one`);
  }
  const last = conversation.at(-1);
  if (last?.side === "assistant" && !isCompaction(last.blocks.at(-1)))
    yield faultAt("anthropic-26", last, "the model has the last word: end with a user message");
}

/** What the provider signed a thinking block with, or the sealed thinking itself. */
export function signatureOf({ wire }: WireBlock): string | undefined {
  const { signature, data } = asObject(wire);
  return asString(signature) ?? asString(data);
}

/** The messages of an Anthropic request as the rules see them, the system text first; total. */
export function readAnthropicWire(wire: unknown): readonly WireMessage[] {
  const system = Array.isArray(wire) ? undefined : asObject(wire).system;
  const messages = wireList(wire, "messages").flatMap((message, index) =>
    isSettings(message) ? [] : [readMessage(message, index)],
  );
  if (system === undefined || system === null) return messages;
  const place = { messageId: "system" };
  return [{ ...place, side: "system", blocks: contentBlocks(system).map(readBlock(place)) }, ...messages];
}

/** Claude Code changes settings between turns by a system message that holds them and says nothing. */
function isSettings(message: unknown): boolean {
  const { role, content, ...settings } = asObject(message);
  return role === "system" && asArray(content).length === 0 && Object.keys(settings).length > 0;
}

function readMessage(message: unknown, index: number): WireMessage {
  const { role, content } = asObject(message);
  const place = { messageId: `messages[${index}]` };
  return {
    ...place,
    side: role === "assistant" ? "assistant" : role === "system" ? "system" : "user",
    blocks: contentBlocks(content).map(readBlock(place)),
  };
}

function readBlock({ messageId }: WirePlace): (block: unknown, partIndex: number) => WireBlock {
  return (block, partIndex) => {
    const { type, text, id, tool_use_id: resultOf, name, input, content } = asObject(block);
    const place = { messageId, partIndex, wire: block };
    switch (type) {
      case "text":
        return { ...place, type: "text", read: text };
      case "thinking":
      case "redacted_thinking":
        return { ...place, type: "reasoning" };
      case "tool_use":
        return { ...place, type: "call", callId: asString(id) ?? "", read: [name, input] };
      case "tool_result":
        return { ...place, type: "result", callId: asString(resultOf) ?? "", read: resultTexts(content) };
      case "image":
      case "document":
        return { ...place, type: "media" };
      default:
        return { ...place, type: "opaque" };
    }
  };
}

/** The texts of a result, its images left out. */
function resultTexts(content: unknown): readonly unknown[] {
  return contentBlocks(content).map((block) => asObject(block).text);
}

/** anthropic-25: what is too large for Anthropic, the request as a whole or one of its images. */
function* findAnthropicSizeFaults(wire: unknown): Generator<Fault> {
  const images = wireList(wire, "messages").flatMap(imagesOf);
  const maxPixels = images.length > MANY_IMAGES ? MAX_PIXELS_OF_MANY : MAX_PIXELS;
  for (const { base64, ...place } of images) {
    if (base64.length > MAX_IMAGE_CHARS)
      yield faultAt("anthropic-25", place, "an image of more than 5 MB: make it smaller");
    const size = readImageSize(base64);
    if (size !== undefined && Math.max(size.widthPixels, size.heightPixels) > maxPixels)
      yield faultAt("anthropic-25", place, `an image of more than ${maxPixels} pixels: make it smaller`);
  }
  if (isTooLong(wire))
    yield faultAt("anthropic-25", { messageId: "" }, "more than 32 MB: leave out the oldest images");
}

const MAX_REQUEST_BYTES = 32 * 2 ** 20;
const MAX_IMAGE_CHARS = 5 * 2 ** 20;
const MAX_PIXELS = 8_000;
const MAX_PIXELS_OF_MANY = 2_000;
const MANY_IMAGES = 20;

interface WireImage extends WirePlace {
  readonly base64: string;
}

function imagesOf(message: unknown, index: number): readonly WireImage[] {
  return contentBlocks(asObject(message).content).flatMap((block, partIndex) =>
    [block, ...contentBlocks(asObject(block).content)].flatMap((item) => {
      const { type, source } = asObject(item);
      const base64 = asString(asObject(source).data);
      return type === "image" && base64 !== undefined
        ? [{ messageId: `messages[${index}]`, partIndex, base64 }]
        : [];
    }),
  );
}

/** Says whether the request is over its limit; its bytes are counted only when its characters could be too many. */
function isTooLong(wire: unknown): boolean {
  const { system, tools } = asObject(Array.isArray(wire) ? undefined : wire);
  const pieces = [system, tools, ...wireList(wire, "messages").flatMap(piecesOf)];
  return (
    isMoreThan(MAX_REQUEST_BYTES, pieces, (text) => text.length * MOST_BYTES_PER_CHAR) &&
    isMoreThan(MAX_REQUEST_BYTES, pieces, utf8Bytes)
  );
}

function isMoreThan(
  maxBytes: number,
  pieces: readonly unknown[],
  bytesOf: (text: string) => number,
): boolean {
  let bytes = 0;
  return pieces.some((piece) =>
    someString(piece, (text) => {
      bytes += bytesOf(text);
      return bytes > maxBytes;
    }),
  );
}

/** The blocks of a message one by one: an image that stands there twice is sent twice. */
function piecesOf(message: unknown): readonly unknown[] {
  return contentBlocks(asObject(message).content).flatMap((block) => {
    const { content } = asObject(block);
    return Array.isArray(content) ? content : [block];
  });
}

const MOST_BYTES_PER_CHAR = 3;

function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0x80) bytes++;
    // The halves of a pair are two units of two bytes each.
    if (unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff)) bytes++;
  }
  return bytes;
}

/** The size that a PNG, GIF or JPEG in base64 says it has, read from its first bytes; undefined for anything else. */
function readImageSize(base64: string): ImageSize | undefined {
  const bytes = decodeStart(base64);
  const at = (index: number) => bytes[index] ?? 0;
  if (startsWith(bytes, PNG)) {
    const number = (index: number) =>
      at(index) * 2 ** 24 + at(index + 1) * 65_536 + at(index + 2) * 256 + at(index + 3);
    return { widthPixels: number(16), heightPixels: number(20) };
  }
  if (startsWith(bytes, GIF)) {
    return { widthPixels: at(6) + at(7) * 256, heightPixels: at(8) + at(9) * 256 };
  }
  return startsWith(bytes, JPEG) ? readJpegSize(bytes) : undefined;
}

interface ImageSize {
  readonly widthPixels: number;
  readonly heightPixels: number;
}

const PNG: readonly number[] = [0x89, 0x50, 0x4e, 0x47];
const GIF: readonly number[] = [0x47, 0x49, 0x46, 0x38];
const JPEG: readonly number[] = [0xff, 0xd8, 0xff];

/** Walks the segments of a JPEG to the one that holds its size. */
function readJpegSize(bytes: readonly number[]): ImageSize | undefined {
  const word = (index: number) => (bytes[index] ?? 0) * 256 + (bytes[index + 1] ?? 0);
  for (let index = 2; bytes[index] === 0xff; index += 2 + Math.max(2, word(index + 2))) {
    const kind = bytes[index + 1] ?? 0;
    const isFrame = kind >= 0xc0 && kind <= 0xcf && !NOT_FRAMES.includes(kind);
    if (isFrame) return { widthPixels: word(index + 7), heightPixels: word(index + 5) };
  }
  return undefined;
}

/** Markers among those of frames that start none: tables and a reserved one. */
const NOT_FRAMES: readonly number[] = [0xc4, 0xc8, 0xcc];

function startsWith(bytes: readonly number[], start: readonly number[]): boolean {
  return start.every((byte, index) => bytes[index] === byte);
}

/** Large enough for the profiles and previews that stand before a JPEG's size. */
const START_CHARS = 65_536;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The first bytes of a base64 text; a PNG or GIF needs few of them. */
function decodeStart(base64: string): readonly number[] {
  const bytes: number[] = [];
  const limit = Math.min(base64.length, base64.startsWith("/9j/") ? START_CHARS : 64);
  let bits = 0;
  let bitCount = 0;
  for (let index = 0; index < limit; index++) {
    const value = ALPHABET.indexOf(base64.charAt(index));
    if (value === -1) break;
    bits = ((bits << 6) | value) & 0xffff;
    bitCount += 6;
    if (bitCount < 8) continue;
    bitCount -= 8;
    bytes.push((bits >> bitCount) & 0xff);
  }
  return bytes;
}
