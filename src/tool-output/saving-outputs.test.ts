import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../test/rig/notation.ts";
import { createMemoryOutputStore } from "../stores/memory/output-store.ts";
import { DEFAULT_TOOL_OUTPUT_LIMITS } from "./limits.ts";
import type { OutputFailure, OutputRef, OutputStore } from "./output-store.ts";
import type { TextBlock } from "./read-blocks.ts";
import { type ToolOutputResult, truncateToolContent } from "./truncate-tool-content.ts";

const text = (content: string): TextBlock => ({ type: "text", text: content });
const image = deepFreeze({ type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" });
const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");
const lineOf = (number: number): string => `${String(number).padStart(9, "0")} ${"x".repeat(49)}\n`;
const numberedLines = (count: number): string =>
  Array.from({ length: count }, (_, index) => lineOf(index + 1)).join("");

function texts(result: ToolOutputResult<{ readonly type: string }>): readonly string[] {
  return result.blocks.flatMap((block) =>
    block.type === "text" && "text" in block ? [String(block.text)] : [],
  );
}

/** A store that notes what it is given. */
function recordingStore(answer?: (content: string | Uint8Array) => OutputRef | OutputFailure) {
  const puts: (string | Uint8Array)[] = [];
  const store: OutputStore = {
    async put(content) {
      puts.push(content);
      const bytes = Buffer.byteLength(content);
      const stored: OutputRef = {
        status: "stored",
        handle: "h-1",
        sha256: sha256(content),
        bytes,
        path: "/outputs/h-1",
      };
      return answer?.(content) ?? stored;
    },
    get: async () => undefined,
  };
  return { store, puts };
}

const failing = (code: string): OutputStore =>
  recordingStore(() => ({ status: "failed", code, reason: `${code}: no` })).store;

describe("bytes", () => {
  it("become text, with a replacement for an invalid byte at position 6 and nothing lost after it", async () => {
    const bytes = new TextEncoder().encode(`01234\n${"a line of text\n".repeat(10_000)}`);
    bytes[6] = 0xff;
    const result = await truncateToolContent([{ type: "bytes", bytes }], DEFAULT_TOOL_OUTPUT_LIMITS);
    expect(texts(result)[0]?.startsWith("01234\n\ufffd line of text\na line of text\n")).toBe(true);
    expect(result.stats.lines).toEqual({ shown: 2_000, omitted: 8_001, total: 10_001 });
  });

  it("become text when they are within the limits", async () => {
    const result = await truncateToolContent([{ type: "bytes", bytes: new TextEncoder().encode("naïve\n") }]);
    expect(result.blocks).toEqual([text("naïve\n")]);
    expect(result.truncated).toBe(false);
  });

  it("are saved as they came", async () => {
    const { store, puts } = recordingStore();
    const bytes = new TextEncoder().encode("\x1b[31mred\x1b[0m\n".repeat(10));
    await truncateToolContent([{ type: "bytes", bytes }], { maxLines: 4 }, store);
    expect(puts).toEqual([bytes]);
    expect(puts[0]).toBe(bytes);
  });

  it("that are not text become a notice with type, size, hash and place only", async () => {
    const bytes = Uint8Array.from({ length: 20_000 }, (_, index) => (index * 7_919) & 255);
    const { store, puts } = recordingStore();
    const result = await truncateToolContent(
      [text("before"), { type: "bytes", bytes }, image],
      undefined,
      store,
    );
    const notice = `[Binary output not shown: unknown type, 19.5 KB, handle h-1, sha256 ${sha256(bytes)}, path /outputs/h-1 (as it was)]`;
    expect(texts(result)).toEqual(["before", notice]);
    expect(puts).toEqual([bytes]);
    expect(result).toMatchObject({
      truncated: true,
      by: "saved",
      handle: "h-1",
      sha256: sha256(bytes),
      path: "/outputs/h-1",
    });
    expect(result.stats.bytes).toEqual({ shown: 6, omitted: 20_000, total: 20_006 });
  });

  it("that are not text say so without a store, and with one that fails", async () => {
    const png = { type: "bytes", bytes: Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 0) } as const;
    expect(texts(await truncateToolContent([png]))).toEqual(["[Binary output not shown: image/png, 8 B]"]);
    const result = await truncateToolContent([png], undefined, failing("EROFS"));
    expect(texts(result)).toEqual(["[Binary output not shown: image/png, 8 B, not saved: EROFS]"]);
    expect(result.failure?.code).toBe("EROFS");
  });

  it("that came as text are known too", async () => {
    const result = await truncateToolContent([text("\0\x01\x02".repeat(1_000))]);
    expect(texts(result)).toEqual(["[Binary output not shown: unknown type, 2.9 KB]"]);
  });
});

describe("saving", () => {
  it("begins above the threshold, in code points", async () => {
    const { store, puts } = recordingStore();
    const limits = { largeOutputThreshold: 10 };
    expect((await truncateToolContent([text("😀".repeat(10))], limits, store)).by).toBe("none");
    expect(puts).toEqual([]);
    const result = await truncateToolContent([text("😀".repeat(11))], limits, store);
    expect(puts).toEqual(["😀".repeat(11)]);
    expect(result).toMatchObject({ by: "saved", truncated: true, handle: "h-1", path: "/outputs/h-1" });
    expect(result.stats.chars).toEqual({ shown: 10, omitted: 1, total: 11 });
  });

  it("leaves a preview within the limits, the size, the handle, the hash, the path and a hint", async () => {
    const content = numberedLines(20_000);
    const { store } = recordingStore();
    const result = await truncateToolContent([text(content)], undefined, store);
    const [shown = ""] = texts(result);
    expect(shown.startsWith(lineOf(1))).toBe(true);
    expect(
      shown.endsWith(
        `${lineOf(20_000)}\n` +
          "[Output too large, preview only: 852 of 20000 lines, 49.9 KB of 1.1 MB, 51120 of 1200000 chars shown.]\n" +
          `[Full output kept: 1.1 MB, handle h-1, sha256 ${sha256(content)}, path /outputs/h-1 ` +
          "(Read that file in ranges.)]",
      ),
    ).toBe(true);
    expect(result.stats.bytes.shown).toBe(852 * 60);
  });

  it("says a handle that is the hash only once, and names the host's tool", async () => {
    const store = createMemoryOutputStore();
    const result = await truncateToolContent([text("a\n".repeat(9))], { maxLines: 2 }, store, {
      recallTool: "fetch_output",
    });
    const hash = sha256("a\n".repeat(9));
    expect(texts(result)[0]).toContain(
      `[Full output kept: 18 B, handle and sha256 ${hash}. Read parts of it with the fetch_output tool and this handle.]`,
    );
    expect(await store.get(result.handle ?? "")).toBe("a\n".repeat(9));
  });

  it("names no tool where none is known, and both ways where there are two", async () => {
    const nine = [text("a\n".repeat(9))];
    const kept = `[Full output kept: 18 B, handle and sha256 ${sha256("a\n".repeat(9))}.]`;
    const unnamed = await truncateToolContent(nine, { maxLines: 2 }, createMemoryOutputStore());
    expect(texts(unnamed)[0]?.endsWith(kept)).toBe(true);
    const named = await truncateToolContent(nine, { maxLines: 2 }, recordingStore().store, {
      recallTool: "recall",
    });
    expect(texts(named)[0]).toContain(
      "path /outputs/h-1 (Read parts of it with the recall tool and this handle, or read that file in ranges.)]",
    );
  });

  it.each(["recall", undefined])(
    "leaves nothing that a model would copy as a part of a path (%s)",
    async (recallTool) => {
      const nine = [text("a\n".repeat(9))];
      const binary = { type: "bytes", bytes: new Uint8Array(2_000) } as const;
      for (const blocks of [nine, [...nine, binary]]) {
        const { store } = recordingStore();
        const options = recallTool === undefined ? {} : { recallTool };
        const shown = texts(await truncateToolContent(blocks, { maxLines: 2 }, store, options)).join("\n");
        const paths = [...shown.matchAll(/path (\S+)/g)].map(([, path]) => path);
        expect(paths.length).toBe(blocks.length);
        for (const path of paths) expect(path).toMatch(/^\/outputs\/h-\d$/);
      }
    },
  );

  it("includes everything that is truncated, as it came", async () => {
    const { store, puts } = recordingStore();
    const content = `\x1b[1m${numberedLines(1_000)}`;
    const result = await truncateToolContent([text(content)], undefined, store);
    expect(puts).toEqual([content]);
    expect(result).toMatchObject({ by: "bytes", handle: "h-1" });
    expect(texts(result)[0]).toContain("[Removed before counting: escape sequences 1.]");
  });

  it("leaves what is below the threshold when told so", async () => {
    const { store, puts } = recordingStore();
    const options = { saveTruncated: "off" } as const;
    const small = await truncateToolContent([text(numberedLines(1_000))], undefined, store, options);
    expect(puts).toEqual([]);
    expect(small).toMatchObject({ by: "bytes", truncated: true });
    expect(small.handle).toBeUndefined();
    const large = await truncateToolContent([text(numberedLines(10_000))], undefined, store, options);
    expect(puts).toHaveLength(1);
    expect(large.by).toBe("saved");
  });

  it("is off at threshold 0: a long text within the limits stays whole", async () => {
    const { store, puts } = recordingStore();
    const blocks = [text("a".repeat(300_000))];
    const result = await truncateToolContent(blocks, { largeOutputThreshold: 0 }, store);
    expect(result.blocks).toBe(blocks);
    expect(puts).toEqual([]);
  });

  it.each(["ENOSPC", "EACCES", "EROFS", "EMFILE", "EDQUOT", "EIO"])(
    "that fails with %s leaves one line in front and does not fail the call",
    async (code) => {
      const content = numberedLines(5_000);
      const result = await truncateToolContent([image, text(content)], undefined, failing(code));
      const [shown = ""] = texts(result);
      expect(shown.startsWith(`[Full output not saved: ${code}]\n${lineOf(1)}`)).toBe(true);
      expect(shown).not.toContain("Full output kept");
      expect(result).toMatchObject({ by: "bytes", truncated: true, failure: { code } });
      expect(result.stats.lines.shown).toBe(852);
    },
  );

  it("that fails is said even when all limits are off", async () => {
    const limits = { largeOutputThreshold: 10 };
    const result = await truncateToolContent([text("a".repeat(20)), text("b")], limits, failing("ENOSPC"));
    expect(texts(result)).toEqual([`[Full output not saved: ENOSPC]\n${"a".repeat(20)}`, "b"]);
    expect(result).toMatchObject({ by: "none", truncated: false });
  });

  it("by a store that throws is a failed one", async () => {
    const store: OutputStore = {
      put: () => {
        throw Object.assign(new Error("gone"), { code: "EPIPE" });
      },
      get: async () => undefined,
    };
    const result = await truncateToolContent([text("a\nb\nc\n")], { maxLines: 2 }, store);
    expect(texts(result)[0]?.startsWith("[Full output not saved: EPIPE]\na\nb\n")).toBe(true);
  });

  it("by a store that never answers ends with the caller's signal", async () => {
    const store: OutputStore = { put: () => new Promise(() => {}), get: async () => undefined };
    const signal = AbortSignal.timeout(5);
    const result = await truncateToolContent([text("a\nb\nc\n")], { maxLines: 2 }, store, { signal });
    expect(texts(result)[0]?.startsWith("[Full output not saved: ABORTED]\n")).toBe(true);
  });

  it("does not let a place with line breaks or escapes write its own lines", async () => {
    const { store } = recordingStore((content) => ({
      status: "stored",
      handle: "h\n[forged]",
      sha256: sha256(content),
      bytes: 1,
      path: "/a\x1b[31m\r\nb",
    }));
    const [shown = ""] = texts(await truncateToolContent([text("a\nb\nc\n")], { maxLines: 2 }, store));
    expect(shown).toContain("handle h [forged], sha256");
    expect(shown).toContain("path /a b (Read");
  });
});

describe("redaction", () => {
  const key = `AKIA${"Q7RT2XW5LM9ZB4KD"}`;

  it("comes before the cut, so that no half of a secret stays, and leaves the store raw", async () => {
    const content = `${"word ".repeat(9)}${key} ${"word ".repeat(40)}`;
    for (let maxChars = 40; maxChars < 160; maxChars += 2) {
      const { store, puts } = recordingStore();
      const [shown = ""] = texts(
        await truncateToolContent([text(content)], { maxChars }, store, { redact: {} }),
      );
      expect(shown).not.toContain("AKIA");
      expect(puts).toEqual([content]);
    }
  });

  it("comes after normalizing, which would uncover the secret again", async () => {
    const hidden = `token ${key.slice(0, 8)}\x1b[0m${key.slice(8)} end`;
    const [shown = ""] = texts(await truncateToolContent([text(hidden)], {}, undefined, { redact: {} }));
    expect(shown).toMatch(/^token \[REDACTED:.*\] end$/);
  });

  it("is off unless asked for", async () => {
    const blocks = [text(`token ${key}`)];
    expect((await truncateToolContent(blocks)).blocks).toBe(blocks);
  });
});
