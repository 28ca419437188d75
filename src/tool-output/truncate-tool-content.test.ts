import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../test/rig/notation.ts";
import { DEFAULT_TOOL_OUTPUT_LIMITS } from "./limits.ts";
import type { OutputStore } from "./output-store.ts";
import type { TextBlock } from "./read-blocks.ts";
import { type ToolOutputResult, trimToolOutput, truncateToolContent } from "./truncate-tool-content.ts";

const text = (content: string): TextBlock => ({ type: "text", text: content });
const image = deepFreeze({ type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" });
const lineOf = (number: number): string => `${String(number).padStart(9, "0")} ${"x".repeat(49)}\n`;
const numberedLines = (count: number): string =>
  Array.from({ length: count }, (_, index) => lineOf(index + 1)).join("");

function texts(result: ToolOutputResult<{ readonly type: string }>): readonly string[] {
  return result.blocks.flatMap((block) =>
    block.type === "text" && "text" in block ? [String(block.text)] : [],
  );
}

/** A store that notes what it is given. */
function recordingStore() {
  const puts: (string | Uint8Array)[] = [];
  const store: OutputStore = {
    async put(content) {
      puts.push(content);
      return { status: "stored", handle: "h-1", sha256: "0".repeat(64), bytes: content.length };
    },
    get: async () => undefined,
  };
  return { store, puts };
}

describe("an output within the limits", () => {
  it("comes back as the very same list of the very same blocks", async () => {
    const blocks = deepFreeze([text("one\ntwo\n"), image, text("❤️ 日本語\r\n"), text("")]);
    const { store, puts } = recordingStore();
    const result = await truncateToolContent(blocks, DEFAULT_TOOL_OUTPUT_LIMITS, store);
    expect(result.blocks).toBe(blocks);
    expect(result).toMatchObject({ truncated: false, by: "none" });
    expect(result.stats.lines).toEqual({ shown: 3, omitted: 0, total: 3 });
    expect(puts).toEqual([]);
  });

  it("takes the default limits when none are given, and needs no store", async () => {
    const within = [text("x".repeat(51_200))];
    expect((await truncateToolContent(within)).blocks).toBe(within);
    expect((await truncateToolContent([text("x".repeat(51_201))])).by).toBe("bytes");
  });

  it("may be empty", async () => {
    const blocks: readonly TextBlock[] = [];
    const result = await truncateToolContent(blocks, undefined, recordingStore().store);
    expect(result.blocks).toBe(blocks);
    expect(result.stats.bytes).toEqual({ shown: 0, omitted: 0, total: 0 });
  });

  it("passes blocks of other types and broken blocks through", async () => {
    const blocks = deepFreeze([
      { type: "resource", uri: "file:///a" },
      { type: "text", text: 5 },
      { type: "bytes", bytes: "not bytes" },
      image,
    ]);
    expect((await truncateToolContent(blocks)).blocks).toBe(blocks);
  });

  it("comes back without escapes and overwritten states", async () => {
    const clean = text("kept");
    const result = await truncateToolContent(deepFreeze([text("\x1b[31mred\x1b[0m\n10%\r100%\n"), clean]));
    expect(result.blocks).toEqual([text("red\n100%\n"), clean]);
    expect(result.blocks[1]).toBe(clean);
    expect(result.truncated).toBe(false);
  });

  it("keeps its escapes when normalizing is off, and is still well-formed", async () => {
    const result = await truncateToolContent([text("\x1b[31mred\ud800")], {}, undefined, {
      normalize: "off",
    });
    expect(texts(result)).toEqual(["\x1b[31mred\ufffd"]);
  });

  it("keeps the other fields of a block that is cleaned", async () => {
    const result = await truncateToolContent([{ type: "text", text: "a\0b", annotations: { priority: 1 } }]);
    expect(result.blocks).toEqual([{ type: "text", text: "ab", annotations: { priority: 1 } }]);
  });

  it("is counted after folding, so a long progress line needs no cut", async () => {
    const progress = Array.from({ length: 50_000 }, (_, index) => `\rdownloading ${index}`).join("");
    const result = await truncateToolContent([text(progress)], undefined, recordingStore().store);
    expect(texts(result)).toEqual(["downloading 49999"]);
    expect(result.by).toBe("none");
  });
});

describe("the limits", () => {
  it("keep both ends and the marker of 3,000 lines of 60 bytes", async () => {
    const result = await truncateToolContent([text(numberedLines(3_000))], DEFAULT_TOOL_OUTPUT_LIMITS);
    const [shown = ""] = texts(result);
    expect(shown.startsWith(lineOf(1))).toBe(true);
    expect(shown).toContain(lineOf(3_000));
    expect(shown.match(/^\[\.\.\. .* omitted \.\.\.\]$/gm)).toEqual([
      "[... 2148 lines (128880 chars) omitted ...]",
    ]);
    expect(result.by).toBe("bytes");
    expect(result.stats).toEqual({
      lines: { shown: 852, omitted: 2_148, total: 3_000 },
      chars: { shown: 51_120, omitted: 128_880, total: 180_000 },
      bytes: { shown: 51_120, omitted: 128_880, total: 180_000 },
    });
  });

  it("count original lines only, never the marker", async () => {
    const result = await truncateToolContent([text("x\n".repeat(3_000))], { maxLines: 2_000 });
    const [shown = ""] = texts(result);
    expect(result.stats.lines).toEqual({ shown: 2_000, omitted: 1_000, total: 3_000 });
    expect(shown).toBe(
      `${"x\n".repeat(1_000)}[... 1000 lines (2000 chars) omitted ...]\n${"x\n".repeat(1_000)}\n` +
        "[Output truncated by lines: 2000 of 3000 lines, 3.9 KB of 5.9 KB, 4000 of 6000 chars shown.]",
    );
  });

  it.each([
    { name: "lines", limits: { maxLines: 10 } },
    { name: "chars", limits: { maxChars: 600 } },
    { name: "bytes", limits: { maxBytes: 600 } },
  ])("keep head and tail alike by $name", async ({ name, limits }) => {
    const result = await truncateToolContent([text(numberedLines(100))], limits);
    const [shown = ""] = texts(result);
    expect(result.by).toBe(name);
    expect(shown.startsWith(numberedLines(5))).toBe(true);
    expect(shown).toContain(`\n${lineOf(96)}`);
    expect(shown).toContain("[... 90 lines (5400 chars) omitted ...]");
  });

  it("keep the head alone below four lines and in head mode, with the notice and no marker", async () => {
    for (const limits of [{ maxLines: 3 }, { maxLines: 3, truncateMode: "head" as const }]) {
      const [shown] = texts(await truncateToolContent([text("1\n2\n3\n4\n5\n")], limits));
      expect(shown).toBe(
        "1\n2\n3\n\n[Output truncated by lines: 3 of 5 lines, 6 B of 10 B, 6 of 10 chars shown.]",
      );
    }
  });

  it("cut one line of 1 MB inside, with both ends", async () => {
    const line = `start${"漢".repeat(350_000)}end`;
    const result = await truncateToolContent([text(line)], {
      ...DEFAULT_TOOL_OUTPUT_LIMITS,
      largeOutputThreshold: 0,
    });
    const [shown = ""] = texts(result);
    expect(shown.startsWith("start漢")).toBe(true);
    expect(shown).toMatch(/漢end\n\n\[Output truncated by bytes: 1 of 1 lines/);
    expect(shown).toContain(`漢…\n[... ${result.stats.chars.omitted} chars omitted ...]\n…漢`);
    expect(result.stats.bytes.shown).toBeGreaterThan(51_176);
    expect(result.stats.lines).toEqual({ shown: 1, omitted: 0, total: 1 });
  });

  it("do not let a trailing line break or CRLF count as a line", async () => {
    for (const content of ["1\n2\n3\n4\n", "1\r\n2\r\n3\r\n4\r\n", "1\n2\n3\n4"]) {
      const blocks = [text(content)];
      expect((await truncateToolContent(blocks, { maxLines: 4 })).blocks).toBe(blocks);
    }
  });

  it("leave room for a notice even when nothing fits", async () => {
    const result = await truncateToolContent([text("漢字")], { maxBytes: 1 });
    expect(texts(result)).toEqual([
      "[Output truncated by bytes: 0 of 1 lines, 0 B of 6 B, 0 of 2 chars shown.]",
    ]);
  });
});

describe("images", () => {
  it("stay in place, and text stays on its side of them", async () => {
    const blocks = deepFreeze([
      text(numberedLines(50)),
      image,
      text("middle\n".repeat(50)),
      image,
      text("z\n".repeat(50)),
    ]);
    const result = await truncateToolContent(blocks, { maxLines: 10 });
    expect(result.blocks.map((block) => block.type)).toEqual(["text", "image", "image", "text"]);
    expect(result.blocks[1]).toBe(image);
    expect(result.blocks[2]).toBe(image);
    const [first = "", last = ""] = texts(result);
    expect(first).toBe(`${numberedLines(5)}[... 140 lines (3140 chars) omitted ...]`);
    expect(last.startsWith("z\n".repeat(5))).toBe(true);
    expect(last).toContain("10 of 150 lines");
  });

  it("stay when all the text around them goes", async () => {
    const result = await truncateToolContent([image, text("漢字"), image], { maxBytes: 1 });
    expect(result.blocks.map((block) => block.type)).toEqual(["image", "text", "image"]);
  });

  it("stay when the text is saved", async () => {
    const { store } = recordingStore();
    const result = await truncateToolContent(
      [text("a".repeat(300_000)), image, text("end")],
      undefined,
      store,
    );
    expect(result.by).toBe("saved");
    expect(result.blocks.map((block) => block.type)).toEqual(["text", "image", "text"]);
    expect(texts(result)[1]?.startsWith("end\n\n[Output too large")).toBe(true);
  });
});

describe("several text blocks", () => {
  it("are counted with a line break between them, and joined by it when cut", async () => {
    const whole = await truncateToolContent([text("a"), text("b\n"), text(""), text("c")], {});
    expect(whole.stats.lines.total).toBe(3);
    expect(whole.stats.chars.total).toBe(5);
    const result = await truncateToolContent([text("1"), text("2\n"), text("3"), text("4"), text("5")], {
      maxLines: 4,
    });
    expect(texts(result)).toEqual([
      "1\n2\n[... 1 line (2 chars) omitted ...]\n4\n5\n\n" +
        "[Output truncated by lines: 4 of 5 lines, 7 B of 9 B, 7 of 9 chars shown.]",
    ]);
  });

  it("are saved as one text with the same breaks", async () => {
    const { store, puts } = recordingStore();
    await truncateToolContent([text("1"), image, text("2\n"), text("\x1b[1m3")], { maxLines: 1 }, store);
    expect(puts).toEqual(["1\n2\n\x1b[1m3"]);
  });

  it("are saved as bytes when one of them is bytes", async () => {
    const { store, puts } = recordingStore();
    const raw = Uint8Array.of(0x61, 0xff, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a);
    await truncateToolContent([text("é"), { type: "bytes", bytes: raw }, text("z")], { maxChars: 4 }, store);
    expect(puts).toEqual([Uint8Array.of(0xc3, 0xa9, 0x0a, ...raw, 0x0a, 0x7a)]);
  });
});

describe("a trimmed output", () => {
  const trim = () => trimToolOutput([text(numberedLines(3_000)), image]);

  it("says what was left out of it, as a tool part records it", async () => {
    const { cut, stats } = await trim();
    expect(cut).toMatchObject({ method: "head-tail", originalChars: stats.chars.total });
    expect(cut?.omittedChars).toBe(stats.chars.omitted);
    expect(cut?.limitChars).toBe(stats.chars.shown);
    expect((await truncateToolContent([text("a\nb")], { maxLines: 1 })).cut?.method).toBe("head");
    expect((await trimToolOutput("short")).cut).toBeUndefined();
  });

  it("is left alone together with what was left out of it", async () => {
    const { blocks, cut } = await trim();
    const again = await truncateToolContent(blocks, { maxLines: 4 }, undefined, { cut });
    expect(again).toMatchObject({ truncated: false, by: "none" });
    expect(again.blocks).toBe(blocks);
  });

  it("is not recognised by its words: forged notices and marks are text like any other", async () => {
    const { blocks } = await trim();
    expect((await truncateToolContent(blocks)).by).toBe("bytes");
    const forged = { type: "text", text: "x\n".repeat(3_000), trimmed: true, cut: {}, truncated: true };
    expect((await truncateToolContent([forged])).by).toBe("lines");
  });

  it("keeps its blocks as the tool made them, but for their text", async () => {
    const { blocks } = await trim();
    expect(Object.keys(JSON.parse(JSON.stringify(blocks[0])))).toEqual(["type", "text"]);
  });
});

describe("trimToolOutput", () => {
  it("takes a text and gives one, with the default limits where none are given", async () => {
    expect(await trimToolOutput("a\x1b[31mb")).toMatchObject({ text: "ab", truncated: false });
    const long = await trimToolOutput(numberedLines(3_000), { limits: { maxLines: 10 } });
    expect(long.by).toBe("lines");
    expect(long.text).toContain("10 of 3000 lines");
    expect((await trimToolOutput("x".repeat(60_000), { limits: { maxLines: 10 } })).by).toBe("bytes");
  });

  it("keeps the whole output in the store", async () => {
    const { store, puts } = recordingStore();
    const { handle, text: shown } = await trimToolOutput(numberedLines(3_000), { store });
    expect(puts).toEqual([numberedLines(3_000)]);
    expect(handle).toBeDefined();
    expect(shown).toContain(handle);
  });
});
