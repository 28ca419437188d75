import { describe, expect, it } from "vitest";
import { buildForkPreamble, formatMessagesAsContext } from "../src/fork/context/format.ts";
import type { ForkOptions } from "../src/fork/context/options.ts";
import { processMessagesForFork } from "../src/fork/fork.ts";
import type { SessionMessage } from "../src/formats/wires/opencode/decode-messages.ts";
import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import { deepFreeze } from "./rig/notation.ts";
import { wireCompaction, wireMessage, wireText, wireTool } from "./rig/opencode-wire.ts";

/** What a child is given of an OpenCode session, from the wire on. */
function fork(session: readonly SessionMessage[], options: ForkOptions = {}) {
  const { messages, stats } = processMessagesForFork(opencode.decode(deepFreeze(session)), options);
  return formatMessagesAsContext(messages, stats, options);
}

const agent = (...parts: SessionMessage["parts"]) => wireMessage("assistant", parts);
const user = (text: string) => wireMessage("user", [wireText(text)]);

describe("defects of the original fork pipeline, each put right", () => {
  it("twenty real tool parts of 10,000 characters reach the child", () => {
    const { text, stats } = fork(
      Array.from({ length: 20 }, () => agent(wireTool("read", "x".repeat(10_000)))),
    );
    expect(stats.tierDistribution).toEqual({ tier1: 5, tier2: 10, tier3: 5 });
    expect(text.length).toBeGreaterThan(5 * 10_000 + 10 * 3_000 + 5 * 500);
  });

  it("inputs are cut at 500, 200 and 100 characters, by the tier of their result", () => {
    const calls = Array.from({ length: 20 }, (_, n) =>
      agent(wireTool("write", "ok", { input: { content: "y".repeat(2_000), n } })),
    );
    const lengths = [...fork(calls).text.matchAll(/\[Tool: write\] (.*)\.\.\.$/gm)].map(
      (match) => match[1]?.length,
    );
    expect(lengths).toEqual([...Array(5).fill(100), ...Array(10).fill(200), ...Array(5).fill(500)]);
  });

  it("one oversize message does not pass the cap", () => {
    const { text, stats } = fork([user("x".repeat(500_000))]);
    expect(text.length).toBeLessThanOrEqual(200_000);
    expect(stats).toMatchObject({ removedMessages: 0, oversizeTruncated: 1, totalChars: text.length });
  });

  it("the budget never removes the summary", () => {
    const { text, stats } = fork([
      ...wireCompaction("SUMMARY"),
      ...Array.from({ length: 30 }, (_, n) => user(`${n} ${"x".repeat(10_000)}`)),
    ]);
    expect(text).toContain("\nAgent:\nSUMMARY\n");
    expect(stats.removedMessages).toBeGreaterThan(0);
    expect(buildForkPreamble(stats)).toContain("Compaction summary included");
  });

  it("a failed, empty or unfinished summary is no boundary", () => {
    for (const broken of [{ error: { name: "APIError" } }, { finish: undefined }]) {
      const { text, stats } = fork([
        user("early work"),
        ...wireCompaction("half a summ", broken),
        user("later"),
      ]);
      expect(text).toContain("early work");
      expect(stats.compactionDetected).toBe(false);
    }
    expect(fork([user("early work"), ...wireCompaction(""), user("later")]).text).toContain("early work");
  });

  it("a pending marker does not hide an older completed one", () => {
    const pending = wireMessage("user", [{ type: "compaction", auto: true }]);
    const { text, stats } = fork([user("early work"), ...wireCompaction("GOOD"), user("later"), pending]);
    expect(text).toContain("GOOD");
    expect(text).not.toContain("early work");
    expect(stats.compactionSliceIndex).toBe(2);
  });

  it("quoting the placeholder exempts nothing; the timestamp, a number or a string, clears", () => {
    const quoting = `[Old tool result content cleared] ${"x".repeat(100_000)}`;
    const newer = Array.from({ length: 15 }, () => agent(wireTool("read", "ok")));
    expect(fork([agent(wireTool("read", quoting)), ...newer]).text.length).toBeLessThan(5_000);
    expect(fork([agent(wireTool("grep", "[Old tool result content cleared] is in 2 files"))]).text).toContain(
      "is in 2 files",
    );
    for (const compacted of [1_700_000_000_000, "2026-01-01T00:00:00Z"]) {
      const { text, stats } = fork([
        agent(wireTool("read", "PRUNED", { time: { start: 1, end: 2, compacted } })),
      ]);
      expect(text).not.toContain("PRUNED");
      expect(text).toContain("[Old tool result content cleared]");
      expect(stats.clearedResults).toBe(1);
    }
  });

  it("empty results shift no tier", () => {
    const results = Array.from({ length: 5 }, () => agent(wireTool("read", "x".repeat(9_000))));
    const empty = Array.from({ length: 10 }, () => agent(wireTool("write", "")));
    expect(fork([...results, ...empty]).stats).toMatchObject({
      tierDistribution: { tier1: 5, tier2: 0, tier3: 0 },
      truncatedResults: 0,
    });
  });

  it("no surrogate pair is split, in results or in inputs", () => {
    const emoji = "😀".repeat(4_000);
    const session = Array.from({ length: 17 }, (_, n) =>
      agent(
        wireTool(n % 2 ? "bash" : "read", `${"x".repeat(n % 3)}${emoji}`, {
          input: { text: `${"x".repeat(n % 2)}${emoji}` },
        }),
      ),
    );
    const { text } = fork(session);
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain("\ufffd");
  });

  it("nothing grows, and a second pass changes nothing", () => {
    const results = Array.from({ length: 20 }, (_, n) =>
      agent(wireTool("bash", "x".repeat(n < 5 ? 501 : 9_000))),
    );
    const once = processMessagesForFork(opencode.decode(results));
    const twice = processMessagesForFork(once.messages);
    expect(formatMessagesAsContext(once.messages, once.stats).text).toContain(`\n${"x".repeat(501)}\n`);
    expect(twice.edits).toEqual([]);
    expect(formatMessagesAsContext(twice.messages, twice.stats).text).toBe(
      formatMessagesAsContext(once.messages, once.stats).text,
    );
  });

  it("tiny limits cut, they do not give everything back", () => {
    const limits = {
      tier1Count: 0,
      tier2Count: 0,
      resultChars: { 1: 1, 2: 1, 3: 4 },
      paramsChars: { 1: 1, 2: 1, 3: 1 },
    };
    expect(fork([agent(wireTool("bash", "x".repeat(5_000)))], { limits }).text).toContain(
      "\nxxx\n...[truncated 4996 chars]...\nx\n",
    );
  });

  it("content cannot close the wrapper", () => {
    const { text } = fork([user("a</inherited_context>b"), agent(wireTool("read", "<inherited_context>"))]);
    expect(text.match(/<\/?inherited_context>/g)).toEqual(["<inherited_context>", "</inherited_context>"]);
    expect(text).toContain("a&lt;/inherited_context>b");
  });

  it("ten thousand messages over budget are rendered once each, not once per removal", () => {
    let reads = 0;
    const parts = [
      {
        type: "text" as const,
        get text() {
          reads++;
          return "x".repeat(2_000);
        },
      },
    ];
    const messages = Array.from({ length: 10_000 }, (_, n) => ({ id: `m${n}`, role: "user", parts }));
    const { stats } = processMessagesForFork(messages);
    expect(stats.removedMessages).toBeGreaterThan(9_800);
    expect(reads).toBeLessThan(10_000 * 12);
  });

  it("the preamble counts what was really cut, among what survived", () => {
    const short = fork(Array.from({ length: 20 }, () => agent(wireTool("read", "short"))));
    expect(buildForkPreamble(short.stats)).toContain(
      "Tool results: 20 full, 0 truncated to 3000 chars, 0 truncated to 500 chars",
    );
  });

  it("a Python traceback keeps both ends", () => {
    const newer = Array.from({ length: 5 }, () => agent(wireTool("read", "ok")));
    const { stats } = fork([
      agent(wireTool("read", `Traceback (most recent call last)\n${"x".repeat(9_000)}`)),
      ...newer,
    ]);
    expect(stats.headTailApplied).toBe(1);
  });

  it("errors are shown as such, attachments named, empty messages skipped, launches and hints left out", () => {
    const { text, stats } = fork([
      wireMessage("user", [
        wireText("HINT", { metadata: { carryover: true } }),
        wireText("IGNORED", { ignored: true }),
      ]),
      agent(wireTool("bash", "", { status: "error", error: "exit code 1" })),
      agent(
        wireTool("shot", "see", {
          attachments: [
            { type: "file", mime: "image/png", filename: "shot.png", url: "data:image/png;base64,AAAA" },
          ],
        }),
      ),
      agent({ type: "step-start" }),
      agent(wireTool("fork", "", { status: "running", output: undefined })),
    ]);
    expect(text).toBe(
      [
        "<inherited_context>",
        "Agent:",
        '[Tool: bash] {"filePath":"src/a.ts"}',
        "[Tool error]",
        "exit code 1",
        "Agent:",
        '[Tool: shot] {"filePath":"src/a.ts"}',
        "[Tool result]",
        "see",
        "[File: image/png shot.png]",
        "</inherited_context>",
      ].join("\n"),
    );
    expect(stats).toMatchObject({ errorResults: 1, finalCount: 2 });
  });

  it("cyclic inputs do not throw", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const { messages, stats } = processMessagesForFork(
      opencode.decode([agent(wireTool("x", "out", { input: cyclic }))]),
    );
    expect(formatMessagesAsContext(messages, stats).text).toContain("[Tool: x] {...}");
  });

  it("the tail that OpenCode keeps is kept", () => {
    const tail = user("kept word for word");
    const { text } = fork([
      user("early"),
      tail,
      agent(wireText("answer")),
      ...wireCompaction("SUMMARY", {}, { tail_start_id: tail.info.id }),
      user("later"),
    ]);
    expect(text).toBe(
      "<inherited_context>\nAgent:\nSUMMARY\nUser:\nkept word for word\nAgent:\nanswer\nUser:\nlater\n</inherited_context>",
    );
  });

  it("formatting twice reports the removals once", () => {
    const { messages, stats } = processMessagesForFork(
      opencode.decode(Array.from({ length: 20 }, () => user("x".repeat(20_000)))),
    );
    const before = JSON.stringify(stats);
    const first = formatMessagesAsContext(messages, stats);
    const second = formatMessagesAsContext(messages, stats);
    expect([first.stats.removedMessages, second.stats.removedMessages]).toEqual([11, 11]);
    expect(JSON.stringify(stats)).toBe(before);
  });
});
