import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate, transcript } from "../../test/rig/notation.ts";
import { anyOpenCodeMessages } from "../../test/rig/random-history/lower-to-opencode.ts";
import { runs } from "../../test/rig/runs.ts";
import { opencode } from "../formats/wires/opencode/opencode.ts";
import { leastChars, renderMessage } from "../transcript/content.ts";
import { applyEdits, runStages } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { Part, ToolPart } from "../transcript/part.ts";
import { charBudget, fitsBudget, shrinkToChars } from "./char-budget.ts";

const budget = (messages: Transcript, maxChars: number) =>
  runStages(deepFreeze(messages), [charBudget({ maxChars })]).transcript;
const chars = (messages: Transcript) =>
  messages.reduce((sum, message) => sum + renderMessage(message).length, 0);

describe("charBudget", () => {
  it.each([
    { name: "hides the oldest first", before: "u:400 a:400 u:400", maxChars: 600, after: "u:400" },
    {
      name: "stops as soon as the rest fits",
      before: "u:400 a:400 u:400",
      maxChars: 850,
      after: "a:400 u:400",
    },
    {
      name: "never hides a summary",
      before: "s:300 u:400 a:100",
      maxChars: 600,
      after: "s:300 a:100",
    },
    { name: "hides a call together with its output", before: "a(bash:900) u:5", maxChars: 600, after: "u:5" },
    { name: "hides nothing that fits", before: "u:100 a:100", maxChars: 600, after: "u:100 a:100" },
  ])("$name", ({ before, maxChars, after }) => {
    expect(notate(budget(transcript(before), maxChars))).toBe(after);
  });

  it("shortens the newest message when it alone is too long", () => {
    const messages = budget(transcript("u:500000"), 200_000);
    expect(chars(messages)).toBeLessThanOrEqual(200_000);
    expect(chars(messages)).toBeGreaterThan(199_000);
  });

  it("shortens the largest text and leaves small ones alone", () => {
    const messages = budget(transcript("s:90 a:50(bash:500000,read:70)"), 200_000);
    expect(notate(messages)).toMatch(/^s:90 a:50\(bash:199\d{3},read:70\)$/);
  });

  it("drops parts, oldest first, when calls alone are too long", () => {
    const calls = Array.from({ length: 256 }, (_, n) => `${"t".repeat(100)}${n}:10`).join(",");
    const messages = budget(transcript(`a(${calls})`), 2_000);
    expect(chars(messages)).toBeLessThanOrEqual(2_000);
    expect(notate(messages)).toContain("t255:");
    expect(notate(messages)).not.toContain("t0:");
  });

  it("rejects a budget that could not hold a notice", () => {
    expect(() => charBudget({ maxChars: 511 })).toThrow(/maxChars is 511; give a number of 512 or more/);
    expect(() => charBudget({ maxChars: Number.NaN })).toThrow(/maxChars is NaN/);
  });

  it("holds for any history and any budget from 512 up", () => {
    fc.assert(
      fc.property(anyOpenCodeMessages, fc.integer({ min: 512, max: 9_000 }), (history, maxChars) => {
        expect(chars(budget(opencode.decode(history), maxChars))).toBeLessThanOrEqual(maxChars);
      }),
      { numRuns: runs(1_000) },
    );
  });

  it("says in each edit why, how much and where to recall it", () => {
    const edits = charBudget({ maxChars: 600 })(deepFreeze(transcript("u:400 a:900")));
    expect(edits).toEqual([
      {
        type: "hide-message",
        messageId: "m1",
        stage: "char-budget",
        reason: "over-budget",
        omitted: { chars: 400, handle: "m1" },
      },
      {
        type: "replace-part",
        messageId: "m2",
        partIndex: 0,
        part: expect.objectContaining({ type: "text" }),
        stage: "char-budget",
        reason: "oversize",
        omitted: { chars: expect.any(Number), handle: "m2/0" },
      },
    ]);
    const [, cut] = edits;
    const left = cut?.type === "replace-part" && cut.part.type === "text" ? cut.part.text.length : 0;
    expect(cut?.omitted?.chars).toBe(900 - left);
  });

  it("says of each dropped part why, how much and where to recall it", () => {
    const calls = Array.from({ length: 20 }, (_, n) => `${"t".repeat(100)}${n}?`).join(",");
    const edits = charBudget({ maxChars: 512 })(deepFreeze(transcript(`a(${calls})`)));
    expect(edits[0]).toEqual({
      type: "hide-part",
      messageId: "m1",
      partIndex: 0,
      what: "part",
      stage: "char-budget",
      reason: "oversize",
      omitted: { chars: `\nAgent:\n[Tool: ${"t".repeat(100)}0] {}`.length, handle: "m1/0" },
    });
    expect(edits).toHaveLength(16);
  });

  it("keeps a message that fits to the last character", () => {
    const exactly = transcript("u:250 a:247");
    const size = chars(exactly);
    expect(size).toBe(512);
    expect(charBudget({ maxChars: 512 })(exactly)).toEqual([]);
    expect(notate(budget(transcript("u:250 a:248"), 512))).toBe("a:248");
  });

  it("counts what is written around the messages, more when something is hidden", () => {
    const frameChars = (hidden: number) => (hidden === 0 ? 0 : 100);
    const left = (maxChars: number) =>
      notate(runStages(transcript("u:300 u:300 u:300"), [charBudget({ maxChars, frameChars })]).transcript);
    const one = chars(transcript("u:300"));
    expect(left(3 * one)).toBe("u:300 u:300 u:300");
    expect(left(3 * one - 1)).toBe("u:300 u:300");
    expect(left(2 * one + 100)).toBe("u:300 u:300");
    expect(left(2 * one + 99)).toBe("u:300");
  });

  it("hides what stands before a summary before it shortens anything", () => {
    expect(notate(budget(transcript("u:200 s:200 u:100 a:200"), 560))).toBe("s:200 u:100 a:200");
    expect(notate(budget(transcript("u:200 s:200 u:100 a:200"), 512))).toBe("s:200 a:200");
  });

  it("leaves alone what is not rendered", () => {
    const hidden = transcript("u:900 a:9 u:9").map((message, index) =>
      index === 0 ? { ...message, metadata: { agentVisible: false } } : message,
    );
    expect(charBudget({ maxChars: 512 })(hidden)).toEqual([]);
  });

  it("takes a way to render of the caller's own", () => {
    const render = () => "x".repeat(300);
    const edits = charBudget({ maxChars: 512, render })(transcript("u:1 u:1"));
    expect(edits.map(({ type }) => type)).toEqual(["hide-message"]);
  });

  it("shortens several texts to one length, also outputs and errors, and not what is cleared", () => {
    const messages = budget(transcript("a:2000(bash:2000,read!2000,read~2000,bash:10)"), 1_500);
    const lengths = [...notate(messages).matchAll(/(\d{2,})/g)].map(([, length]) => Number(length));
    expect(chars(messages)).toBeLessThanOrEqual(1_500);
    expect(chars(messages)).toBeGreaterThan(1_200);
    expect(new Set(lengths.slice(0, 3)).size).toBe(1);
    expect(lengths.slice(3)).toEqual([2000, 10]);
  });
});

const talk = transcript("u:10 a:20 u:30");
const talkChars = talk.map(renderMessage).join("").length;

describe("fitsBudget", () => {
  it("is true up to the last character, and false beyond it", () => {
    expect(fitsBudget(talk, { maxChars: talkChars })).toBe(true);
    expect(fitsBudget(talk, { maxChars: talkChars - 1 })).toBe(false);
  });

  it("counts the frame of a transcript of which nothing is hidden", () => {
    const frameChars = (hiddenMessages: number): number => (hiddenMessages === 0 ? 7 : 0);
    expect(fitsBudget(talk, { maxChars: talkChars + 7, frameChars })).toBe(true);
    expect(fitsBudget(talk, { maxChars: talkChars + 6, frameChars })).toBe(false);
  });

  it("renders from the newest on, no more than it takes to know", () => {
    const rendered: string[] = [];
    const render = (message: (typeof talk)[number]): string => {
      rendered.push(message.id);
      return renderMessage(message);
    };
    expect(fitsBudget(talk, { maxChars: 45, render })).toBe(false);
    expect(rendered).toEqual(["m3", "m2"]);
  });

  it("renders nothing where a lower bound tells", () => {
    const render = (): string => expect.unreachable();
    expect(fitsBudget(talk, { maxChars: 59, render, leastChars })).toBe(false);
    expect(fitsBudget(talk, { maxChars: talkChars, leastChars: () => 20 })).toBe(true);
  });

  it("holds of nothing at all", () => {
    expect(fitsBudget([], { maxChars: 0 })).toBe(true);
  });
});

function shrink(messages: Transcript, maxChars: number): Transcript {
  return applyEdits(messages, shrinkToChars(deepFreeze(messages), maxChars), { at: 0 });
}

const message = (...parts: Part[]): Message => ({ id: "m", role: "user", parts });
const said = (text: string, more = {}): Part => ({ type: "text", text, ...more });

describe("shrinkToChars", () => {
  it("cuts the long texts to one length and keeps both ends of each", () => {
    const messages = [message(said(`start${"x".repeat(900)}end`), said(`begin${"y".repeat(700)}stop`))];
    const [left] = shrink(messages, 600);
    const texts = left?.parts.map((part) => (part.type === "text" ? part.text : "")) ?? [];
    expect(texts[0]).toMatch(/^start[\s\S]*end$/);
    expect(texts[1]).toMatch(/^begin[\s\S]*stop$/);
    expect(Math.abs((texts[0]?.length ?? 0) - (texts[1]?.length ?? 0))).toBeLessThanOrEqual(2);
    expect(chars([left as Message])).toBeLessThanOrEqual(600);
    expect(chars([left as Message])).toBeGreaterThan(500);
  });

  it("keeps both ends of an output too, and notes the cut", () => {
    const [left] = shrink(transcript("a(bash:2000)"), 500);
    const [part] = left?.parts ?? [];
    expect(part).toMatchObject({ cut: { method: "head-tail", originalChars: 2_000 } });
  });

  it("gives way where most of what it cuts out would not have been shown", () => {
    const invisible = "\u001b[0m".repeat(500);
    const messages = [message(said("x".repeat(1_000) + invisible + "y".repeat(1_000)))];
    for (const maxChars of [300, 600, 1_200]) {
      const left = shrink(messages, maxChars);
      expect(chars(left)).toBeLessThanOrEqual(maxChars);
      expect(chars(left)).toBeGreaterThan(50);
    }
  });

  it("fits whatever grows when it is fenced", () => {
    const tags = [message(said("<inherited_context>".repeat(100)))];
    for (const maxChars of [60, 300, 1_500])
      expect(chars(shrink(tags, maxChars))).toBeLessThanOrEqual(maxChars);
  });

  it("does not touch what is not rendered, or cleared, or short", () => {
    const long = "x".repeat(2_000);
    const parts = [
      said(long, { ignored: true }),
      said(long, { own: true }),
      said(long, { agentVisible: false }),
      said("short"),
      said(long),
    ];
    expect(
      shrinkToChars(deepFreeze([message(...parts)]), 600).map(
        (edit) => "partIndex" in edit && edit.partIndex,
      ),
    ).toEqual([4]);
    expect(notate(shrink(transcript("a:900(bash~3000)"), 500))).toMatch(/^a:\d{3}\(bash~3000\)$/);
  });

  it("says in each edit how much it left out", () => {
    const messages = transcript("u:5 a:900(bash:900)");
    for (const edit of shrinkToChars(messages, 600)) {
      const before = messages.find(({ id }) => "messageId" in edit && id === edit.messageId);
      expect(edit).toMatchObject({ type: "replace-part", stage: "char-budget", reason: "oversize" });
      expect(before?.id).toBe("m2");
      const size = (part: Part | undefined) =>
        part?.type === "text"
          ? part.text.length
          : part?.type === "tool" && part.outcome.status === "done"
            ? part.outcome.output.length
            : 0;
      const after = edit.type === "replace-part" ? edit : undefined;
      expect(edit.omitted?.chars).toBe(size(before?.parts[after?.partIndex ?? 0]) - size(after?.part));
    }
  });
});

describe("parts that are dropped", () => {
  /** Calls without a result, each a line of a hundred characters. */
  const calls = (count: number, id: string): Message => ({
    id,
    role: "assistant",
    parts: Array.from({ length: count }, (_, number): Part => {
      const tool = `${number}`.padStart(2, "0");
      return {
        type: "tool",
        callId: `${id}${tool}`,
        tool: tool + "t".repeat(100 - "[Tool: 00]".length),
        input: undefined,
        outcome: { status: "pending" },
      };
    }),
  });
  const line = 101;
  const label = "\nAgent:".length;

  it("are the oldest, and no more than needed", () => {
    const messages = [calls(3, "a"), calls(3, "b")];
    expect(chars(messages)).toBe(6 * line + 2 * label);
    const dropped = (maxChars: number) =>
      shrinkToChars(messages, maxChars).map((edit) => edit.omitted?.handle);
    expect(dropped(6 * line + 2 * label)).toEqual([]);
    expect(dropped(6 * line + 2 * label - 1)).toEqual(["a/0"]);
    expect(dropped(5 * line + 2 * label)).toEqual(["a/0"]);
    expect(dropped(5 * line + 2 * label - 1)).toEqual(["a/0", "a/1"]);
    expect(dropped(4 * line + 2 * label - 1)).toEqual(["a/0", "a/1", "a/2"]);
    // The label goes with the last part.
    expect(dropped(3 * line + label)).toEqual(["a/0", "a/1", "a/2"]);
    expect(dropped(3 * line + label - 1)).toEqual(["a/0", "a/1", "a/2", "b/0"]);
  });

  it("are of a step the call last that is signed for the others, so that the limit holds", () => {
    const [first, ...others] = calls(3, "a").parts as readonly ToolPart[];
    const step = { ...calls(3, "a"), parts: [{ ...first, signed: true as const }, ...others] } as Message;
    const edits = shrinkToChars([step], 2 * line + label);
    expect(edits.map((edit) => edit.omitted?.handle)).toEqual(["a/1"]);
    expect(chars(applyEdits([step], shrinkToChars([step], 10), { at: 0 }))).toBe(0);
  });

  it("are not those that take no room", () => {
    const messages = [{ ...calls(3, "a"), parts: [said("", { ignored: true }), ...calls(3, "a").parts] }];
    expect(shrinkToChars(messages, 2 * line + label).map((edit) => edit.omitted?.handle)).toEqual(["a/1"]);
    expect(shrinkToChars(messages, line + label)).toMatchObject([
      { type: "hide-part", what: "part", partIndex: 1, omitted: { chars: line + label } },
      { partIndex: 2 },
    ]);
  });
});
