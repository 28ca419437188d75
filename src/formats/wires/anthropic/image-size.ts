/** The size that a PNG, GIF or JPEG in base64 states in its first bytes; undefined for anything else. */
export function readImageSize(base64: string): ImageSize | undefined {
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
