import { asObject, asString } from "../../../text/json.ts";
import type { Fault } from "../../../transcript/format.ts";
import { contentBlocks } from "../../blocks/block-content.ts";
import { faultAt, someString, type WirePlace, wireList } from "../../faults/wire-message.ts";

/** anthropic-25: what is too large for Anthropic, the request as a whole or one of its images. */
export function* findAnthropicSizeFaults(wire: unknown): Generator<Fault> {
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
