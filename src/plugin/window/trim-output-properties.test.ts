import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "../../../test/rig/random-history/random-history.ts";
import { runs } from "../../../test/rig/runs.ts";
import { isMalformed } from "../../text/normalize.ts";
import { DEFAULT_TOOL_OUTPUT_LIMITS, type ToolOutputLimits } from "../../tool-output/limits.ts";
import type { OutputStore } from "../../tool-output/output-store.ts";
import { textSize } from "../../tool-output/text-size.ts";
import { NOTICE_CHARS, trimShownOutput } from "./trim-output.ts";

const hasRecall = async () => true;
const HASH = "f".repeat(64);
const store: OutputStore = {
  put: async (content) => ({
    status: "stored",
    handle: HASH,
    sha256: HASH,
    bytes: content.length,
    path: "/ours",
  }),
  get: async () => undefined,
};

/** Pieces of outputs that agents meet: words, colours, progress, other encodings, long lines. */
const anyPiece = fc.oneof(
  anyText,
  fc.constantFrom(
    "\u001b[31mred\u001b[0m\n",
    "\r 12%\r 90%\r100%\n",
    "Gr\ufffd\ufffde\n",
    "a\0b\0",
    "😀",
    "编译成功\n",
    "\r\n",
  ),
);

const anyOutput = fc
  .array(fc.tuple(anyPiece, fc.integer({ min: 1, max: 60 })), { minLength: 1, maxLength: 8 })
  .map((pieces) => pieces.map(([piece, times]) => piece.repeat(times)).join(""));

const anyLimit = fc.integer({ min: 1, max: 3_000 });
const anyLimits: fc.Arbitrary<ToolOutputLimits> = fc.record({
  maxLines: fc.integer({ min: 1, max: 300 }),
  maxBytes: anyLimit,
  maxChars: anyLimit,
  largeOutputThreshold: fc.constantFrom(0, 500, 204_800),
  truncateMode: fc.constantFrom("head" as const, "head_tail" as const),
});

const anyPath = fc.integer({ min: 1, max: 380 }).map((length) => `/${"p".repeat(length)}`);

/** What an agent shows that keeps one end of an output, by lines, and names its file. */
const anyCut = fc.record({
  whole: anyOutput,
  path: anyPath,
  limits: anyLimits,
  keptLines: fc.integer({ min: 0, max: 200 }),
  end: fc.constantFrom("head", "tail"),
});

describe("for every output", () => {
  it("what an agent cut is at most a notice larger than it showed, and readable", async () => {
    await fc.assert(
      fc.asyncProperty(anyCut, async ({ whole, path, limits, keptLines, end }) => {
        const lines = whole.split("\n");
        const kept =
          end === "tail" ? lines.slice(Math.max(0, lines.length - keptLines)) : lines.slice(0, keptLines);
        const shown = `...output truncated...\n\nFull output saved to: ${path}\n\n${kept.join("\n")}`;
        const trimmed = await trimShownOutput({
          shown,
          whole: { text: whole, path },
          limits,
          store,
          hasRecall,
        });
        const text = textOf(trimmed);
        if (text === undefined) return;
        expectNotLarger(text, shown);
        if (text !== whole) expect(isMalformed(text)).toBe(false);
        expect(text).not.toContain("/ours");
        if (trimmed.status === "cut") expect(text).toContain(HASH);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it("what no agent cut gets shorter or stays", async () => {
    await fc.assert(
      fc.asyncProperty(anyOutput, anyLimits, async (shown, limits) => {
        const text = textOf(
          await trimShownOutput({ shown, whole: { text: shown }, limits, store, hasRecall }),
        );
        if (text !== undefined) expect(text.length).toBeLessThanOrEqual(shown.length);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it("with the default limits as well, for outputs as long as they bound", async () => {
    await fc.assert(
      fc.asyncProperty(anyPiece, fc.integer({ min: 40_000, max: 400_000 }), async (piece, chars) => {
        const whole = (piece || "x").repeat(Math.ceil(chars / Math.max(1, piece.length)));
        const shown = `...output truncated...\n\n${Buffer.from(whole).subarray(-51_200).toString()}`;
        const text = textOf(
          await trimShownOutput({
            shown,
            whole: { text: whole },
            limits: DEFAULT_TOOL_OUTPUT_LIMITS,
            store,
            hasRecall,
          }),
        );
        if (text !== undefined) expectNotLarger(text, shown);
      }),
      { numRuns: runs(60) },
    );
  });
});

function textOf(trimmed: Awaited<ReturnType<typeof trimShownOutput>>): string | undefined {
  if (trimmed.status === "cut") return trimmed.output.text;
  return trimmed.status === "whole" ? trimmed.text : undefined;
}

function expectNotLarger(text: string, shown: string): void {
  const [is, was] = [textSize(text.toWellFormed()), textSize(shown.toWellFormed())];
  expect(text.length).toBeLessThanOrEqual(shown.length + NOTICE_CHARS);
  expect(is.chars).toBeLessThanOrEqual(was.chars + NOTICE_CHARS);
  expect(is.bytes).toBeLessThanOrEqual(was.bytes + NOTICE_CHARS);
}
