import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../test/rig/notation.ts";
import { runs } from "../../test/rig/runs.ts";
import { estimateTokens } from "../text/tokens/estimate-tokens.ts";
import {
  charsOf,
  charsOfPart,
  estimateMessageTokens,
  estimateResultTokens,
  estimateThoughtTokens,
  startCalibration,
} from "./estimate-message.ts";
import type { Message } from "./message.ts";
import { CLEARED_PLACEHOLDER, type Part, type ReasoningPart, type ToolPart } from "./part.ts";

function message(...parts: readonly Part[]): Message {
  return deepFreeze({ id: "m1", role: "assistant", parts });
}

const text = (chars: number): Part => ({ type: "text", text: "x".repeat(chars) });
const image: Part = { type: "file", mime: "image/png" };

function tool(change: Partial<ToolPart> = {}): ToolPart {
  return {
    type: "tool",
    callId: "call-1",
    tool: "bash",
    input: { command: "ls" },
    outcome: { status: "done", output: "x".repeat(1000), attachments: [] },
    ...change,
  };
}

const CALL_CHARS = "bash".length + JSON.stringify({ command: "ls" }).length;
const ceilQuarter = (chars: number): number => Math.ceil(chars / 4);

describe("estimateMessageTokens", () => {
  it.each<{ name: string; parts: readonly Part[]; chars: number }>([
    { name: "text", parts: [text(10)], chars: 10 },
    { name: "the sum of its parts, rounded up once", parts: [text(1), text(1), text(1)], chars: 3 },
    { name: "reasoning", parts: [{ type: "reasoning", text: "x".repeat(41) }], chars: 41 },
    { name: "a call's name, input and output", parts: [tool()], chars: CALL_CHARS + 1000 },
    {
      name: "a call's name, input and error",
      parts: [tool({ outcome: { status: "failed", error: "x".repeat(77) } })],
      chars: CALL_CHARS + 77,
    },
    {
      name: "only name and input of a pending call",
      parts: [tool({ outcome: { status: "pending" } })],
      chars: CALL_CHARS,
    },
    { name: "no input where there is none", parts: [tool({ input: undefined })], chars: 4 + 1000 },
    { name: "an image as 4,800 characters", parts: [image], chars: 4800 },
    {
      name: "an attached image as 4,800 characters",
      parts: [
        tool({
          outcome: { status: "done", output: "", attachments: [{ type: "file", mime: "image/jpeg" }] },
        }),
      ],
      chars: CALL_CHARS + 4800,
    },
    { name: "a PDF like an image", parts: [{ type: "file", mime: "application/pdf" }], chars: 4800 },
    {
      name: "no text file, whose text is a part of its own",
      parts: [{ type: "file", mime: "text/plain" }],
      chars: 0,
    },
    {
      name: "no ignored text",
      parts: [text(8), { type: "text", text: "x".repeat(80), ignored: true }],
      chars: 8,
    },
    {
      name: "no marker, no opaque part",
      parts: [
        { type: "compaction", trigger: "auto" },
        { type: "opaque", name: "step-start" },
      ],
      chars: 0,
    },
    { name: "nothing of no parts", parts: [], chars: 0 },
  ])("counts $name", ({ parts, chars }) => {
    expect(estimateMessageTokens(message(...parts))).toBe(ceilQuarter(chars));
  });

  it("counts UTF-16 units, not bytes", () => {
    expect(estimateMessageTokens(message({ type: "text", text: "汉字".repeat(200) }))).toBe(100);
  });

  it("counts a cleared output as its placeholder, without its attachments", () => {
    const outcome = {
      status: "done" as const,
      output: "x".repeat(90_000),
      attachments: [{ type: "file" as const, mime: "image/png" }],
    };
    expect(estimateMessageTokens(message(tool({ outcome, clearedAt: 5 })))).toBe(
      ceilQuarter(CALL_CHARS + CLEARED_PLACEHOLDER.length),
    );
  });

  it("counts an output whole that merely holds the placeholder's text", () => {
    const output = `${CLEARED_PLACEHOLDER}${"x".repeat(5000)}`;
    expect(
      estimateMessageTokens(message(tool({ outcome: { status: "done", output, attachments: [] } }))),
    ).toBe(ceilQuarter(CALL_CHARS + output.length));
  });

  it("counts nothing of a message hidden from the model, and everything of one hidden from the user", () => {
    const shown = message(text(400), image);
    expect(estimateMessageTokens({ ...shown, metadata: { agentVisible: false } })).toBe(0);
    expect(estimateMessageTokens({ ...shown, metadata: { userVisible: false } })).toBe(1300);
  });

  it("counts nothing of a hidden part", () => {
    const hidden: Part = { ...tool(), agentVisible: false };
    expect(estimateMessageTokens(message(text(40), hidden, { ...image, agentVisible: false } as Part))).toBe(
      10,
    );
  });

  it.each([
    {
      name: "a cycle",
      input: (() => {
        const cycle: Record<string, unknown> = {};
        cycle.self = cycle;
        return cycle;
      })(),
    },
    { name: "a BigInt", input: { size: 10n } },
    {
      name: "a toJSON that throws",
      input: {
        toJSON() {
          throw new Error("no");
        },
      },
    },
    { name: "a function", input: () => 1 },
  ])("counts {...} for an input that has no JSON: $name", ({ input }) => {
    const part = tool({ input, outcome: { status: "pending" } });
    expect(estimateMessageTokens({ id: "m", role: "assistant", parts: [part] })).toBe(
      ceilQuarter("bash".length + "{...}".length),
    );
  });

  it("asks an estimator function for each text, and measures a message once", () => {
    let asked = 0;
    const estimator = (value: string): number => {
      asked += 1;
      return value.length;
    };
    const counted = message(text(10), { type: "reasoning", text: "abc" });
    expect(estimateMessageTokens(counted, { estimator })).toBe(13);
    expect(estimateMessageTokens(counted, { estimator })).toBe(13);
    expect(asked).toBe(2);
    expect(estimateMessageTokens(counted)).toBe(ceilQuarter(13));
  });

  it("uses the calibrated estimate when asked, with the family's price of a call", () => {
    const output = '{"id":"7f3a","size":12}\n'.repeat(40);
    const part = tool({ outcome: { status: "done", output, attachments: [] } });
    const texts = ["bash", JSON.stringify({ command: "ls" }), output];
    const shape = texts.reduce((sum, value) => sum + estimateTokens(value, { estimator: "calibrated" }), 0);
    const ofGpt = estimateMessageTokens(message(part), { estimator: "calibrated" });
    const ofClaude = estimateMessageTokens(message(part), { estimator: "calibrated", family: "claude" });
    expect(Math.abs(ofGpt - (shape + 12))).toBeLessThanOrEqual(2);
    expect(Math.abs(ofClaude - (shape * 1.13 + 80))).toBeLessThanOrEqual(2);
  });

  it("prefers the scale that the session has taught, and never scales media by it", () => {
    const calibration = { ...startCalibration("some-model", "gpt"), scale: 2 };
    const words = message({ type: "text", text: "some words here ".repeat(50) });
    const plain = estimateMessageTokens(words, { estimator: "calibrated" });
    expect(
      Math.abs(estimateMessageTokens(words, { estimator: "calibrated", calibration }) - 2 * plain),
    ).toBeLessThanOrEqual(2);
    expect(estimateMessageTokens(message(image), { estimator: "calibrated", calibration })).toBe(1200);
  });
});

describe("thoughts", () => {
  const calibrated = { estimator: "calibrated", family: "claude-4.7" } as const;
  const words = "first look at the tests, then at the code ".repeat(10);
  const thought = (change: Partial<ReasoningPart> = {}): Part => ({
    type: "reasoning",
    text: words,
    ...change,
  });
  const usage = (reasoningTokens: unknown) => ({
    inputTokens: 10,
    outputTokens: 10,
    reasoningTokens: reasoningTokens as number,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  });
  const ofText = estimateMessageTokens(message({ type: "text", text: words }), calibrated);

  it("count as their text where nothing else is known of them", () => {
    expect(estimateMessageTokens(message(thought()), calibrated)).toBe(ofText);
    expect(estimateMessageTokens(message(thought({ sealedChars: 40 })), calibrated)).toBe(ofText);
  });

  it("count as what is sealed where only a summary can be read, or nothing", () => {
    expect(estimateMessageTokens(message(thought({ sealedChars: 10_000 })), calibrated)).toBe(2400);
    expect(estimateMessageTokens(message(thought({ text: "", sealedChars: 1000 })), calibrated)).toBe(240);
    const one = thought({ text: "", sealedChars: 1000 });
    expect(estimateMessageTokens(message(one, one), calibrated)).toBe(480);
  });

  it("count as the provider counted them", () => {
    const counted = { ...message(thought({ text: "" })), usage: usage(700) };
    expect(estimateMessageTokens(counted, calibrated)).toBe(700);
    expect(estimateThoughtTokens(counted, calibrated)).toBe(700);
    expect(estimateMessageTokens({ ...message(text(40)), usage: usage(700) })).toBe(10);
  });

  it.each([0, -700, Number.NaN, Number.POSITIVE_INFINITY, 10_000_000, "700", undefined])(
    "are not believed to be %s tokens long",
    (reasoningTokens) => {
      const counted = { ...message(thought()), usage: usage(reasoningTokens) };
      expect(estimateMessageTokens(counted, calibrated)).toBe(ofText);
    },
  );

  it("count nothing when they are hidden, and as characters where the documents say so", () => {
    const hidden = { ...thought({ sealedChars: 10_000 }), agentVisible: false } as Part;
    expect(estimateMessageTokens({ ...message(hidden), usage: usage(700) }, calibrated)).toBe(0);
    expect(estimateMessageTokens({ ...message(thought({ sealedChars: 10_000 })), usage: usage(700) })).toBe(
      ceilQuarter(words.length),
    );
  });
});

describe("estimateResultTokens", () => {
  it("counts what came in after the model had written the message", () => {
    const outcome = {
      status: "done" as const,
      output: "x".repeat(41),
      attachments: [{ type: "file" as const, mime: "image/png" }],
    };
    expect(estimateResultTokens(message(text(400), image, tool({ outcome })))).toBe(ceilQuarter(41 + 4800));
    expect(estimateResultTokens(message(text(400), tool({ outcome: { status: "pending" } })))).toBe(0);
  });
});

describe("estimateMessageTokens, for any message", () => {
  const anyText = fc.string({ unit: "binary", maxLength: 60 });
  const anyPart: fc.Arbitrary<Part> = fc.oneof(
    anyText.map((value): Part => ({ type: "text", text: value })),
    anyText.map((value): Part => ({ type: "reasoning", text: value })),
    fc.constant(image),
    fc.record({ input: fc.anything(), output: anyText, cleared: fc.boolean() }).map(
      ({ input, output, cleared }): Part =>
        tool({
          input,
          outcome: { status: "done", output, attachments: [] },
          ...(cleared && { clearedAt: 1 }),
        }),
    ),
  );
  const anyParts = fc.array(anyPart, { maxLength: 6 });

  it("is a whole number, never negative, the same for an equal message, and never falls when a part is added", () => {
    fc.assert(
      fc.property(
        anyParts,
        anyPart,
        fc.constantFrom("documented" as const, "calibrated" as const),
        (parts, more, estimator) => {
          const before = estimateMessageTokens({ id: "a", role: "user", parts }, { estimator });
          expect(Number.isSafeInteger(before) && before >= 0).toBe(true);
          expect(estimateMessageTokens({ id: "b", role: "user", parts: [...parts] }, { estimator })).toBe(
            before,
          );
          const after = estimateMessageTokens(
            { id: "c", role: "user", parts: [...parts, more] },
            { estimator },
          );
          expect(after).toBeGreaterThanOrEqual(before);
        },
      ),
      { numRuns: runs(300) },
    );
  });
});

function callOf(notation: string): ToolPart {
  const part = transcript(notation)[0]?.parts[0];
  if (part?.type !== "tool") throw new Error(`there is no call in ${notation}`);
  return part;
}

describe("sizes", () => {
  it("are the characters that reach the window", () => {
    const input = { path: "a" };
    const inputChars = JSON.stringify(input).length;
    expect(charsOfPart({ ...callOf("a(read:9)"), input })).toBe(inputChars + 9);
    expect(charsOfPart({ ...callOf("a(read!4)"), input })).toBe(inputChars + 4);
    expect(charsOfPart({ ...callOf("a(read?)"), input })).toBe(inputChars);
    expect(charsOfPart({ ...callOf("a(read~9)"), input })).toBe(inputChars + CLEARED_PLACEHOLDER.length);
    expect(charsOfPart({ ...callOf("a(read:9)"), input: undefined })).toBe(9);
    expect(charsOfPart({ ...callOf("a(read:9)"), agentVisible: false })).toBe(0);
    expect(charsOfPart({ type: "text", text: "abc" })).toBe(3);
    expect(charsOfPart({ type: "text", text: "abc", ignored: true })).toBe(0);
    expect(charsOfPart({ type: "reasoning", text: "abc" })).toBe(0);
  });

  it("of a message are those of its parts, and none of a hidden one", () => {
    const [, message] = transcript("u:5 a:3(read:9,bash!4,bash?)") as readonly [Message, Message];
    expect(charsOf(message)).toBe(message.parts.reduce((sum, part) => sum + charsOfPart(part), 0));
    expect(charsOf({ ...message, metadata: { agentVisible: false } })).toBe(0);
  });
});
