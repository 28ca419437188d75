import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byteChunks, CHUNK_BYTES } from "./output-store.ts";

const joined = (content: string | Uint8Array): Buffer =>
  Buffer.concat(Array.from(byteChunks(content), (chunk) => Buffer.from(chunk)));

describe("byteChunks", () => {
  it("gives the UTF-8 bytes of any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(joined(text).equals(Buffer.from(text))).toBe(true);
      }),
    );
  });

  it.each(["a", "é", "漢", "😀", "a😀", "\ud800", "\udc00\ud800x"])(
    "never splits %j over its pieces",
    (unit) => {
      for (const prefix of ["", "x", "xy"]) {
        const text = prefix + unit.repeat(Math.ceil(800_000 / unit.length));
        expect(joined(text).equals(Buffer.from(text))).toBe(true);
        for (const chunk of byteChunks(text)) expect(chunk.byteLength).toBeLessThanOrEqual(CHUNK_BYTES);
      }
    },
  );

  it("cuts bytes into pieces without changing them", () => {
    const bytes = Buffer.alloc(CHUNK_BYTES * 2 + 5, "abc");
    expect(joined(bytes).equals(bytes)).toBe(true);
    expect([...byteChunks(bytes)].map((chunk) => chunk.byteLength)).toEqual([CHUNK_BYTES, CHUNK_BYTES, 5]);
  });
});
