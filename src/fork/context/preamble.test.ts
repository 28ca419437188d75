import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../../test/rig/notation.ts";
import type { Message } from "../../transcript/message.ts";
import { processMessagesForFork } from "../fork.ts";
import {
  buildForkPreamble,
  omitNestedPreamble,
  PREAMBLE_FIRST_LINE,
  type ProcessingStats,
} from "./format.ts";

const nine: ProcessingStats = {
  originalCount: 3,
  finalCount: 3,
  totalChars: 0,
  removedMessages: 0,
  compactionDetected: false,
  compactionSliceIndex: -1,
  truncatedResults: 0,
  tierDistribution: { tier1: 5, tier2: 10, tier3: 2 },
  headTailApplied: 0,
};

describe("buildForkPreamble", () => {
  it("says what document 000 says, from the nine fields alone", () => {
    expect(buildForkPreamble(nine)).toBe(
      [
        "You are working with forked context from a parent agent session.",
        "Context processing applied:",
        "- No compaction detected",
        "- Tool results: 5 full, 10 truncated to 3000 chars, 2 truncated to 500 chars",
        "- All messages preserved",
        "If you need complete file contents or detailed results, re-read the files directly.",
      ].join("\n"),
    );
  });

  it("names the summary and what the budget removed", () => {
    const lines = buildForkPreamble({ ...nine, compactionDetected: true, removedMessages: 4 }).split("\n");
    expect(lines[2]).toBe("- Compaction summary included (messages before compaction removed)");
    expect(lines[4]).toBe("- 4 oldest messages removed to fit 200000 char budget");
  });

  it("calls what was left out of a filled budget older, and counts its texts", () => {
    const applied = { tier2Chars: 3_000, tier3Chars: 500, budgetChars: 900, profile: "default" } as const;
    const preamble = buildForkPreamble({ ...nine, removedMessages: 2, oversizeTruncated: 2, applied });
    expect(preamble).toContain("- 2 older messages removed to fit 900 char budget");
    expect(preamble).toContain("To keep that budget, 2 long texts were shortened further.");
  });

  it("calls short results full, however old they are", () => {
    const { stats } = processMessagesForFork(transcript(Array(20).fill("a(read:20)").join(" ")));
    expect(buildForkPreamble(stats)).toContain(
      "- Tool results: 20 full, 0 truncated to 3000 chars, 0 truncated to 500 chars",
    );
  });

  it("counts what was really cut, with the limits really applied", () => {
    const limits = {
      tier1Count: 1,
      tier2Count: 1,
      resultChars: { 1: Infinity, 2: 300, 3: 100 },
      paramsChars: { 1: 500, 2: 200, 3: 100 },
    };
    const { stats } = processMessagesForFork(transcript("a(read:999) a(read:9) a(read:999) a(read:999)"), {
      limits,
      budgetChars: 9_000,
    });
    expect(buildForkPreamble(stats)).toContain(
      "- Tool results: 2 full, 1 truncated to 300 chars, 1 truncated to 100 chars",
    );
  });

  it("adds lines only when they are true, and stays under 1,000 characters", () => {
    const { stats } = processMessagesForFork(transcript("u:500000"));
    const preamble = buildForkPreamble(stats, { recall: "the recall tool" });
    expect(preamble).toMatch(
      /Inherited context: (199|200)\d{3} chars in all\.\nTo keep that budget, 1 long text was shortened further\.\nWhat is missing can be read with the recall tool\.$/,
    );
    const worst = {
      ...stats,
      totalChars: 1e15,
      removedMessages: 1e15,
      oversizeTruncated: 1e15,
      compactionDetected: true,
    };
    expect(buildForkPreamble(worst, { recall: "the recall tool" }).length).toBeLessThanOrEqual(1_000);
  });
});

const preamble = `${PREAMBLE_FIRST_LINE}\nMore of it.\n\n`;
const context = "<inherited_context>\nUser:\nhello\n</inherited_context>";

function user(text: string, more: Partial<Message> = {}): Message {
  return { id: "u", role: "user", parts: [{ type: "text", text }], ...more };
}

it("takes exactly the preamble off an inherited context", () => {
  expect(omitNestedPreamble(deepFreeze([user(preamble + context)]))).toEqual([
    {
      type: "replace-part",
      messageId: "u",
      partIndex: 0,
      part: { type: "text", text: context },
      stage: "omit-nested-preamble",
      reason: "nested-preamble",
      omitted: { chars: preamble.length, handle: "u/0" },
    },
  ]);
});

it.each([
  { name: "a text that only quotes the preamble", message: user(`He said: ${preamble}${context}`) },
  { name: "a preamble without a context", message: user(preamble) },
  { name: "a hidden message", message: user(preamble + context, { metadata: { agentVisible: false } }) },
])("leaves $name alone", ({ message }) => {
  expect(omitNestedPreamble([message])).toEqual([]);
});
