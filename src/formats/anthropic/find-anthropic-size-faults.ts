import type { Fault } from "../../transcript/find-faults.ts";
import { fields, stringField } from "../fields.ts";
import { readImageSize } from "../wire-faults/read-image-size.ts";
import { someString } from "../wire-faults/some-string.ts";
import { contentBlocks, wireList } from "../wire-faults/wire-list.ts";
import { faultAt, type WirePlace } from "../wire-faults/wire-message.ts";

/** anthropic-25: what is too large for Anthropic, the request as a whole or one of its images. */
export function findAnthropicSizeFaults(wire: unknown): readonly Fault[] {
  const faults: Fault[] = [];
  const images = wireList(wire, "messages").flatMap(imagesOf);
  const maxPixels = images.length > MANY_IMAGES ? MAX_PIXELS_OF_MANY : MAX_PIXELS;
  for (const { base64, ...place } of images) {
    if (base64.length > MAX_IMAGE_CHARS)
      faults.push(faultAt("anthropic-25", place, "an image of more than 5 MB: make it smaller"));
    const size = readImageSize(base64);
    if (size !== undefined && Math.max(size.widthPixels, size.heightPixels) > maxPixels)
      faults.push(
        faultAt("anthropic-25", place, `an image of more than ${maxPixels} pixels: make it smaller`),
      );
  }
  if (isTooLong(wire))
    faults.push(faultAt("anthropic-25", { messageId: "" }, "more than 32 MB: leave out the oldest images"));
  return faults;
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
  return contentBlocks(fields(message).content).flatMap((block, partIndex) =>
    [block, ...contentBlocks(fields(block).content)].flatMap((item) => {
      const { type, source } = fields(item);
      const base64 = stringField(fields(source).data);
      return type === "image" && base64 !== undefined
        ? [{ messageId: `messages[${index}]`, partIndex, base64 }]
        : [];
    }),
  );
}

/** Says whether the request is over its limit; its bytes are counted only when its characters could be too many. */
function isTooLong(wire: unknown): boolean {
  const { system, tools } = fields(Array.isArray(wire) ? undefined : wire);
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
  return contentBlocks(fields(message).content).flatMap((block) => {
    const { content } = fields(block);
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
