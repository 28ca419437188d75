import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { packingOf, unpack, unpackedBytes } from "./unpack.ts";

/** Two lines of a rollout, packed by the zstd of a Linux distribution. */
const PACKED_ROLLOUT = Buffer.from(
  "KLUv/QRo9QQAcgohGXB5AxjNN6Wt8EiFMf93bX5YY2rPK1W6wALAvcxlwbUP/IOvmSs8+fFv/c1nV6WWyV/7q2Nts8oxftwStbYtq59q2la/bGPAvZw5N7Tl06A9/PgwDoeIbSCSJtChjgMLKREIRfGBTciONBI8GaK4mwxRrzh68WP6bTXVKWvb8uS+uOcuCAAq4jutk4UgaIYvWgRm8K8M9REM1BmCuqEc",
  "base64",
);

/** A frame of zstd in which every four bytes stand for 128 KiB. */
function bomb(blocks: number): Uint8Array {
  const block = (isLast: boolean): readonly number[] => {
    const head = (isLast ? 1 : 0) | (1 << 1) | (131_072 << 3);
    return [head & 0xff, (head >> 8) & 0xff, head >> 16, 0x20];
  };
  const body = Array.from({ length: blocks }, (_, index) => block(index === blocks - 1));
  return Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, ...body.flat()]);
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function read(bytes: Uint8Array, limits = {}): Promise<number> {
  let count = 0;
  for await (const chunk of unpack(inPieces(bytes, 700), packingOf(bytes), limits)) count += chunk.length;
  return count;
}

describe("a packed file", () => {
  it("is recognized by its bytes and unpacked", async () => {
    const text = "one\ntwo\n";
    const plain = Buffer.from(text);
    expect(packingOf(PACKED_ROLLOUT)).toBe("zstd");
    expect(Buffer.from(await unpackedBytes(PACKED_ROLLOUT)).toString()).toMatch(/^\{.*Count to two.*\}\n$/s);
    expect(Buffer.from(await unpackedBytes(gzipSync(text))).toString()).toBe(text);
    expect(await unpackedBytes(plain)).toBe(plain);
    expect(await read(bomb(3))).toBe(3 * 131_072);
  });

  it("that would become too large is given up, and not only at the end", async () => {
    await expect(read(bomb(10), { maxBytes: 1_000_000 })).rejects.toThrow("larger than 1,000,000 bytes");
    await expect(read(bomb(200))).rejects.toThrow("more than 1,000 times as large");
    await expect(read(gzipSync(Buffer.alloc(20_000_000)), { maxRatio: 500 })).rejects.toThrow(
      "more than 500 times as large",
    );
  });

  it("that is broken is said to be", async () => {
    await expect(read(PACKED_ROLLOUT.subarray(0, 100))).rejects.toThrow("its zstd is broken");
    await expect(read(gzipSync("some text").subarray(0, 15))).rejects.toThrow("its gzip is broken");
  });
});
