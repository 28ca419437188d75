import { array as arrayOf, assert, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../test/rig/runs.ts";
import { createInternTable, numberOf } from "./intern-table.ts";

describe("createInternTable", () => {
  it("counts new hashes from 0 and knows them again", () => {
    const table = createInternTable();
    expect([7, -7, 0, 7, 0, -7].map((hash) => numberOf(table, hash))).toEqual([0, 1, 2, 0, 2, 1]);
    expect(table.size).toBe(3);
  });

  it("tells hashes apart that fall on the same place", () => {
    const hashes = Array.from({ length: 32 }, (_, index) => index << 27);
    const table = createInternTable();
    for (const [number, hash] of hashes.entries()) expect(numberOf(table, hash)).toBe(number);
    for (const [number, hash] of hashes.entries()) expect(numberOf(table, hash)).toBe(number);
  });

  it("keeps the numbers when it grows", () => {
    const hashes = Array.from({ length: 10_000 }, (_, index) => Math.imul(index, 0x9e3779b1) | 0);
    const table = createInternTable();
    for (const [number, hash] of hashes.entries()) if (numberOf(table, hash) !== number) expect.unreachable();
    for (const [number, hash] of hashes.entries()) if (numberOf(table, hash) !== number) expect.unreachable();
    expect(table.size).toBe(hashes.length);
  });

  it("gives the numbers that a map would give", () => {
    assert(
      property(arrayOf(integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })), (hashes) => {
        const table = createInternTable();
        const known = new Map<number, number>();
        for (const hash of hashes) {
          if (!known.has(hash)) known.set(hash, known.size);
          expect(numberOf(table, hash)).toBe(known.get(hash));
        }
        expect(table.size).toBe(known.size);
      }),
      { numRuns: runs(100) },
    );
  });
});
