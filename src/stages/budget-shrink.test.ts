import { describe, expect, it } from "vitest";
import { deepFreeze, notate, transcript } from "../testing/notation.ts";
import { applyEdits } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { renderMessage } from "../transcript/render.ts";
import { shrinkToChars } from "./budget.ts";

const chars = (messages: Transcript) =>
  messages.reduce((sum, message) => sum + renderMessage(message).length, 0);

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

  it("are not those that take no room", () => {
    const messages = [{ ...calls(3, "a"), parts: [said("", { ignored: true }), ...calls(3, "a").parts] }];
    expect(shrinkToChars(messages, 2 * line + label).map((edit) => edit.omitted?.handle)).toEqual(["a/1"]);
    expect(shrinkToChars(messages, line + label)).toMatchObject([
      { type: "hide-part", what: "part", partIndex: 1, omitted: { chars: line + label } },
      { partIndex: 2 },
    ]);
  });
});
