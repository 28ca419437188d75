import { asArray, asObject, asString } from "../../../text/unknown-value.ts";
import type { Fault } from "../../../transcript/format.ts";
import { safeCallId } from "../../content/call-ids.ts";
import { contentBlocks } from "../../content/text-blocks.ts";
import { findCommonFaults, isCompaction } from "../../faults/find-common-faults.ts";
import { someString } from "../../faults/some-string.ts";
import {
  faultAt,
  type WireBlock,
  type WireMessage,
  wireList,
  wireMessage,
} from "../../faults/wire-message.ts";
import { readImageSize } from "./image-size.ts";
import {
  type AnthropicWire,
  hasBoundThoughts,
  isBlankText,
  isMarked,
  isThinkingOn,
  MAX_CACHE_MARKS,
  openAnthropic,
  readAnthropicMessage,
} from "./read-message.ts";

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
    ...sizeFaults(wire, messages),
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
  const items = openAnthropic(wire as AnthropicWire);
  const systems = items.length - wireList(wire, "messages").length;
  return items.flatMap((item, index) => {
    const messageId = index < systems ? "system" : `messages[${index - systems}]`;
    return isSettings(item)
      ? []
      : [
          wireMessage(readAnthropicMessage(item), messageId, (value, partIndex) => ({
            partIndex,
            wire: value,
          })),
        ];
  });
}

/** Claude Code changes settings between turns by a system message that holds them and says nothing. */
function isSettings(message: unknown): boolean {
  const { role, content, ...settings } = asObject(message);
  return role === "system" && asArray(content).length === 0 && Object.keys(settings).length > 0;
}

/** anthropic-25: what is too large for Anthropic, the request as a whole or one of its images. */
function* sizeFaults(wire: unknown, messages: readonly WireMessage[]): Generator<Fault> {
  const blocks = messages.flatMap((message) => message.blocks);
  const images = blocks.flatMap(imagesOf);
  const maxPixels = images.length > MANY_IMAGES ? MAX_PIXELS_OF_MANY : MAX_PIXELS;
  for (const { base64, block } of images) {
    if (base64.length > MAX_IMAGE_CHARS)
      yield faultAt("anthropic-25", block, "an image of more than 5 MB: make it smaller");
    const size = readImageSize(base64);
    if (size !== undefined && Math.max(size.widthPixels, size.heightPixels) > maxPixels)
      yield faultAt("anthropic-25", block, `an image of more than ${maxPixels} pixels: make it smaller`);
  }
  if (isTooLong(wire, blocks))
    yield faultAt("anthropic-25", { messageId: "" }, "more than 32 MB: leave out the oldest images");
}

const MAX_REQUEST_BYTES = 32 * 2 ** 20;
const MAX_IMAGE_CHARS = 5 * 2 ** 20;
const MAX_PIXELS = 8_000;
const MAX_PIXELS_OF_MANY = 2_000;
const MANY_IMAGES = 20;

/** The images of a block, also those in a result. */
function imagesOf(block: WireBlock): readonly { readonly base64: string; readonly block: WireBlock }[] {
  return [block.wire, ...contentBlocks(asObject(block.wire).content)].flatMap((item) => {
    const { type, source } = asObject(item);
    const base64 = asString(asObject(source).data);
    return type === "image" && base64 !== undefined ? [{ base64, block }] : [];
  });
}

/** Says whether the request is over its limit; its bytes are counted only when its characters could be too many. */
function isTooLong(wire: unknown, blocks: readonly WireBlock[]): boolean {
  const pieces = [asObject(wire).tools, ...blocks.flatMap(piecesOf)];
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

/** What is sent of a block, piece by piece: an image that stands there twice is sent twice. */
function piecesOf({ wire }: WireBlock): readonly unknown[] {
  const { content } = asObject(wire);
  return Array.isArray(content) ? content : [wire];
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
