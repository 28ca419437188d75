import { existsSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../test/rig/notation.ts";
import { anyText } from "../../test/rig/random-history/random-history.ts";
import { runs } from "../../test/rig/runs.ts";
import { normalizeText } from "../text/normalize.ts";
import { looksBinary } from "./binary-content.ts";
import type { RawToolOutputLimits } from "./limits.ts";
import type { OutputStore } from "./output-store.ts";
import type { ToolContentBlock } from "./read-blocks.ts";
import { textSize } from "./text-size.ts";
import { truncateToolContent } from "./truncate-tool-content.ts";

const anyLimit = fc.oneof(
  fc.constantFrom(0, 1, 3, 4, 5),
  fc.integer({ min: 1, max: 60 }),
  fc.integer({ min: 1, max: 3_000 }),
);

const anyLimits: fc.Arbitrary<RawToolOutputLimits> = fc.record({
  maxLines: anyLimit,
  maxBytes: anyLimit,
  maxChars: anyLimit,
  largeOutputThreshold: fc.oneof(fc.constant(-1), anyLimit),
  truncateMode: fc.constantFrom("head" as const, "head_tail" as const, "" as const),
});

const anyOutput = fc
  .array(anyText, { maxLength: 12 })
  .chain((parts) => fc.constantFrom("", "\n", "\r\n", "😀").map((between) => parts.join(between)));

const anyBlock: fc.Arbitrary<ToolContentBlock> = fc.oneof(
  { arbitrary: anyOutput.map((text) => ({ type: "text" as const, text })), weight: 6 },
  {
    arbitrary: anyOutput.map((text) => ({ type: "bytes" as const, bytes: new TextEncoder().encode(text) })),
    weight: 2,
  },
  {
    arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => ({ type: "bytes" as const, bytes })),
    weight: 1,
  },
  { arbitrary: fc.constant(deepFreeze({ type: "image", data: "AAAA" })), weight: 2 },
  { arbitrary: fc.constant(deepFreeze({ type: "resource" })), weight: 1 },
);

const stored: OutputStore = {
  put: async (content) => ({ status: "stored", handle: "h", sha256: "f".repeat(64), bytes: content.length }),
  get: async () => undefined,
};
const failed: OutputStore = {
  put: async () => ({ status: "failed", code: "ENOSPC", reason: "no space" }),
  get: async () => undefined,
};
const anyStore = fc.constantFrom(undefined, stored, failed);
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/;

function textsOf(blocks: readonly ToolContentBlock[]): readonly string[] {
  return blocks.flatMap((block) => (block.type === "text" && "text" in block ? [block.text] : []));
}

/** Line breaks before a marker or a notice may be ours or the text's own, and so may marks of a line that is cut inside. */
function withoutOurs(part: string): readonly string[] {
  const shorter = part.endsWith("\n") ? part.slice(0, -1) : part;
  const ends = [part, shorter, shorter.endsWith("\n") ? shorter.slice(0, -1) : shorter];
  return ends.flatMap((end) => [end, end.replace(/…$/, ""), end.replace(/^…/, "")]);
}

describe("truncateToolContent, for any blocks, limits and store", () => {
  it("keeps the limits, counts exactly, stays readable, gives the same again and leaves its own output alone", async () => {
    const run = async (
      blocks: readonly ToolContentBlock[],
      limits: RawToolOutputLimits,
      store: OutputStore | undefined,
    ): Promise<void> => {
      const result = await truncateToolContent(blocks, limits, store);
      const { lines, chars, bytes } = result.stats;
      for (const tally of [lines, chars, bytes]) {
        expect(tally.shown + tally.omitted).toBe(tally.total);
        expect(Math.min(tally.shown, tally.omitted)).toBeGreaterThanOrEqual(0);
      }
      for (const [shown, max] of [
        [lines.shown, limits.maxLines],
        [chars.shown, limits.maxChars],
        [bytes.shown, limits.maxBytes],
      ] as const) {
        if (max) expect(shown).toBeLessThanOrEqual(max);
      }
      expect(result.truncated).toBe(result.by !== "none");
      expect(result.truncated).toBe(bytes.omitted > 0);
      if (result.cut !== undefined) {
        expect(result.cut.originalChars).toBe(result.cut.omittedChars + result.cut.limitChars);
        expect(result.cut.omittedChars).toBeGreaterThan(0);
      }

      for (const text of textsOf(result.blocks)) {
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toMatch(CONTROL);
      }
      const others = (all: readonly ToolContentBlock[]) =>
        all.filter(({ type }) => type !== "text" && type !== "bytes");
      expect(others(result.blocks)).toEqual(others(blocks));

      const again = await truncateToolContent(blocks, limits, store);
      expect(again).toEqual(result);
      // What could not be stored is tried again.
      if (result.failure !== undefined) return;
      const second = await truncateToolContent(result.blocks, limits, store, { cut: result.cut });
      expect(second.blocks).toBe(result.blocks);
      expect(second.truncated).toBe(false);
    };
    await fc.assert(fc.asyncProperty(fc.array(anyBlock, { maxLength: 6 }), anyLimits, anyStore, run), {
      numRuns: runs(2_000),
    });
  });

  it("shows the beginning and the end of the text, and nothing else", async () => {
    const readable = anyOutput.filter((text) => !looksBinary(text));
    await fc.assert(
      fc.asyncProperty(readable, anyLimits, async (raw, limits) => {
        const text = normalizeText(raw);
        const result = await truncateToolContent([{ type: "text", text: raw }], limits, stored);
        const total = textSize(text);
        const { lines, chars, bytes } = result.stats;
        expect({ lines: lines.total, chars: chars.total, bytes: bytes.total }).toEqual(total);
        const [shown = ""] = textsOf(result.blocks);
        if (!result.truncated) {
          expect(shown).toBe(text);
          return;
        }

        const content = shown.slice(0, shown.lastIndexOf("[Output "));
        const omitted = chars.omitted === 1 ? "1 char" : `${chars.omitted} chars`;
        const marker =
          lines.omitted === 0
            ? `[... ${omitted} omitted ...]\n`
            : `[... ${lines.omitted} ${lines.omitted === 1 ? "line" : "lines"} (${omitted}) omitted ...]\n`;
        const at = content.indexOf(marker);
        const before = at < 0 ? content : content.slice(0, at);
        const after = at < 0 ? "" : content.slice(at + marker.length);
        const isExact = withoutOurs(before).some((head) =>
          withoutOurs(after).some(
            (tail) =>
              text.startsWith(head) &&
              text.endsWith(tail) &&
              textSize(head).chars + textSize(tail).chars === chars.shown &&
              textSize(head).bytes + textSize(tail).bytes === bytes.shown,
          ),
        );
        expect(isExact).toBe(true);
      }),
      { numRuns: runs(2_000) },
    );
  });
});

describe("an output of lines", () => {
  const aLine = fc.oneof(
    { arbitrary: fc.nat({ max: 99_999 }).map(String), weight: 8 },
    { arbitrary: fc.string({ unit: fc.constantFrom("a", "漢", "😀", " "), maxLength: 400 }), weight: 1 },
  );
  const someLines = fc.array(aLine, { minLength: 1, maxLength: 300 });
  const limits = fc.record({
    maxLines: fc.constantFrom(0, 40),
    maxChars: fc.oneof(fc.constant(0), fc.integer({ min: 16, max: 900 })),
    maxBytes: fc.oneof(fc.constant(0), fc.integer({ min: 16, max: 900 })),
    truncateMode: fc.constantFrom("head" as const, "head_tail" as const),
  });
  /** What is shown before what was left out, and behind it. */
  const endsOf = (shown: string) => {
    const [content = ""] = shown.split("\n[Output ");
    const [head = "", tail = ""] = content.split(/^\[\.\.\. .* omitted \.\.\.\]\n/m);
    return { head: head.replace(/\n$/, "").split("\n"), tail: tail.split("\n") };
  };

  it("shows whole lines of it, or says of a line that it is cut", async () => {
    await fc.assert(
      fc.asyncProperty(someLines, fc.constantFrom("\n", "\r\n"), limits, async (lines, lineBreak, raw) => {
        const text = normalizeText(lines.join(lineBreak));
        const result = await truncateToolContent([{ type: "text", text }], raw, stored);
        if (!result.truncated) return;
        const known = new Set([...text.split("\n"), ...text.split("\r\n"), ""]);
        const { head, tail } = endsOf(textsOf(result.blocks)[0] ?? "");
        for (const [at, line] of head.entries())
          if (!known.has(line)) expect([at, line.at(-1)]).toEqual([head.length - 1, "…"]);
        for (const [at, line] of tail.entries())
          if (!known.has(line)) expect([at, line[0]]).toEqual([0, "…"]);
      }),
      { numRuns: runs(1_000) },
    );
  });

  it("that are short is never cut inside a line", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 90_000, max: 99_000 }),
        fc.integer({ min: 30, max: 4_000 }),
        async (first, maxBytes) => {
          const text = Array.from({ length: 900 }, (_, at) => `${first + at}\n`).join("");
          const result = await truncateToolContent([{ type: "text", text }], { maxBytes }, stored);
          expect(textsOf(result.blocks)[0]).not.toContain("…");
          expect(result.stats.bytes.shown).toBeGreaterThan(maxBytes - 12);
        },
      ),
      { numRuns: runs(200) },
    );
  });
});

const hostileInputs = new URL("../../../shared/fixtures/hostile-inputs.mjs", import.meta.url);
const hasHostileInputs = existsSync(hostileInputs);
if (!hasHostileInputs) console.log("skipped: hostile outputs need ../shared/fixtures/hostile-inputs.mjs");

describe.skipIf(!hasHostileInputs)("hostile outputs", () => {
  it("come out trimmed, well-formed, without control characters, and pass a second time", async () => {
    const { texts } = (await import(hostileInputs.href)) as {
      texts: () => readonly { readonly id: string; readonly text: string }[];
    };
    for (const { id, text } of texts()) {
      for (const block of [
        { type: "text", text },
        { type: "bytes", bytes: new TextEncoder().encode(text) },
      ] as const) {
        for (const limits of [
          undefined,
          { maxLines: 4, maxBytes: 100 },
          { maxChars: 7, largeOutputThreshold: 20 },
        ]) {
          const result = await truncateToolContent([block], limits, stored);
          const [shown = ""] = textsOf(result.blocks);
          expect(shown.isWellFormed(), id).toBe(true);
          expect(shown, id).not.toMatch(CONTROL);
          expect(shown, id).not.toMatch(/[\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/);
          const { blocks, cut } = result;
          expect((await truncateToolContent(blocks, limits, stored, { cut })).blocks, id).toBe(blocks);
        }
      }
    }
  });
});
