import { crc32, deflateSync, inflateSync } from "node:zlib";

/** A picture of few colours with a palette: a third of its size. Colours beyond 256 become the nearest of them. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const counts = new Map<number, number>();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const palette = [...counts].sort((one, other) => other[1] - one[1]).slice(0, 256);
  const colours = palette.map(([colour]) => colour);
  const known = new Map(colours.map((colour, index) => [colour, index]));
  const rows = Buffer.alloc(height * (width + 1));
  for (const [at, pixel] of pixels.entries()) {
    const index = known.get(pixel) ?? nearest(pixel, colours);
    known.set(pixel, index);
    rows[Math.floor(at / width) * (width + 1) + 1 + (at % width)] = index;
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const plte = Buffer.from(colours.flatMap(channels));
  return Buffer.concat([
    png.subarray(0, 8),
    chunk("IHDR", head),
    chunk("PLTE", plte),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const channels = (colour: number): number[] => [colour >> 16, (colour >> 8) & 255, colour & 255];

function nearest(colour: number, among: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = channels(colour);
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, other] of among.entries()) {
    const [r = 0, g = 0, b = 0] = channels(other);
    const distance = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

/** The pixels of a picture of eight bits, without what shines through. */
function decode(png: Buffer): {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array;
} {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const size = png[25] === 6 ? 4 : 3;
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12)
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * size;
  const out = Buffer.alloc(height * stride);
  for (let row = 0; row < height; row += 1) {
    const filter = raw[row * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const left = x < size ? 0 : (out[row * stride + x - size] ?? 0);
      const up = row === 0 ? 0 : (out[(row - 1) * stride + x] ?? 0);
      const corner = row === 0 || x < size ? 0 : (out[(row - 1) * stride + x - size] ?? 0);
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      out[row * stride + x] = ((raw[row * (stride + 1) + 1 + x] ?? 0) + guess) & 255;
    }
  }
  const pixels = new Uint32Array(width * height);
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = out.readUIntBE(at * size, 3);
  return { width, height, pixels };
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [left, up, corner].map((each) => Math.abs(guess - each)) as [number, number, number];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
