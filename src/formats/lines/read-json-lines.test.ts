import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LineProblem, readJsonLines } from "./read-json-lines.ts";

async function read(
  bytes: Uint8Array | string,
  chunkBytes = 7,
): Promise<{ values: unknown[]; numbers: number[]; problems: LineProblem[] }> {
  const all = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  const problems: LineProblem[] = [];
  const values: unknown[] = [];
  const numbers: number[] = [];
  for await (const batch of readJsonLines(chunked(all, chunkBytes), {
    onProblem: (each) => problems.push(each),
  })) {
    for (const { value, lineNumber } of batch) {
      values.push(value);
      numbers.push(lineNumber);
    }
  }
  return { values, numbers, problems };
}

async function* chunked(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += chunkBytes) yield bytes.slice(start, start + chunkBytes);
}

describe("readJsonLines", () => {
  it("gives the values of any lines, however the bytes come", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue(), { maxLength: 8 }),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom("\n", "\r\n", "\n\n", " \n"),
        async (values, chunkBytes, end) => {
          const text = values.map((value) => JSON.stringify(value) + end).join("");
          const found = await read(text, chunkBytes);
          expect(found.problems).toEqual([]);
          expect(found.values).toEqual(values.map((value) => JSON.parse(JSON.stringify(value))));
        },
      ),
    );
  });

  it("does not need an end of the last line", async () => {
    expect(await read('{"a":1}\n{"b":2}')).toMatchObject({ values: [{ a: 1 }, { b: 2 }], problems: [] });
  });

  it("passes over a byte-order mark", async () => {
    expect(await read('\uFEFF{"a":"é→😀"}\n')).toMatchObject({ values: [{ a: "é→😀" }], problems: [] });
  });

  it("says which line is broken and goes on behind it", async () => {
    expect(await read('{"a":1}\n\n{"b":\n{"c":3}\nnot json\n{"d":4')).toMatchObject({
      values: [{ a: 1 }, { c: 3 }],
      numbers: [1, 4],
      problems: [
        { lineNumber: 3, problem: "not-json" },
        { lineNumber: 5, problem: "not-json" },
        { lineNumber: 6, problem: "torn" },
      ],
    });
  });

  it("says where NUL bytes stand and keeps what is whole around them", async () => {
    expect(await read('\0\0\0\0{"a":1}\n\0\0\0\n{"b":\0\0\n{"c":3}\n')).toMatchObject({
      values: [{ a: 1 }, { c: 3 }],
      problems: [
        { lineNumber: 1, problem: "nul-bytes" },
        { lineNumber: 2, problem: "nul-bytes" },
        { lineNumber: 3, problem: "nul-bytes" },
      ],
    });
  });

  it("reads bytes that are no UTF-8 as replacement characters", async () => {
    const bytes = new Uint8Array([0x22, 0xff, 0x22, 0x0a]);
    expect(await read(bytes)).toMatchObject({ values: ["\uFFFD"], problems: [] });
  });

  it("reads a line of 100 MB", async () => {
    const line = new Uint8Array(100_000_002).fill(0x61);
    line[0] = 0x22;
    line[line.length - 1] = 0x22;
    const found = await read(line, 1 << 20);
    expect((found.values[0] as string).length).toBe(100_000_000);
  });

  it("gives nothing for nothing", async () => {
    expect(await read("")).toEqual({ values: [], numbers: [], problems: [] });
  });
});
