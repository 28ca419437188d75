import { describe, expect, it } from "vitest";
import { createSession, type EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { outcomeText } from "../transcript/content.ts";
import type { Message } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import type { Session } from "./session.ts";

const ASK: Message = { id: "u", role: "user", parts: [{ type: "text", text: "go" }] };
const line = (index: number): string => `line ${index} of a log that goes on for a while\n`;
const text = (bytes: number): string =>
  Array.from({ length: Math.ceil(bytes / 40) }, (_, index) => line(index))
    .join("")
    .slice(0, bytes);
const calls = (...sizes: readonly number[]): Message => ({
  id: "a",
  role: "assistant",
  finish: "tool-calls",
  parts: sizes.map(
    (bytes, index): Part => ({
      type: "tool",
      callId: `c${index}`,
      tool: "bash",
      input: {},
      outcome: { status: "done", output: text(bytes), attachments: [] },
    }),
  ),
});

async function trimmed(message: Message, options: EngineOptions): Promise<Session> {
  const session = createSession({ clock: createFakeClock() }, options);
  session.observe([ASK, message]);
  await session.prepare();
  return session;
}

const shownBytes = (session: Session): readonly number[] =>
  session
    .messages()
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === "tool" ? [outcomeText(part.outcome).length] : []));

describe("the limits of an output", () => {
  it("are the defaults in a large window", async () => {
    const session = await trimmed(calls(80_000), { limits: { contextTokens: 200_000, outputTokens: 8_000 } });
    const [bytes = 0] = shownBytes(session);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(52_500);
  });

  it("are a quarter of what a small window holds", async () => {
    const session = await trimmed(calls(80_000), { limits: { contextTokens: 32_000, outputTokens: 4_000 } });
    const [bytes = 0] = shownBytes(session);
    expect(bytes).toBeGreaterThan(22_000);
    expect(bytes).toBeLessThan(24_500);
  });

  it("leave alone what was trimmed before, which its cut tells, and trim anything else that is over them", async () => {
    const limits = { contextTokens: 200_000, outputTokens: 8_000 };
    const over = calls(51_300);
    expect(shownBytes(await trimmed(over, { limits }))).not.toEqual([51_300]);
    const cut = { method: "head", originalChars: 60_000, omittedChars: 8_800, limitChars: 51_200 } as const;
    const parts = over.parts.map((part): Part => (part.type === "tool" ? { ...part, cut } : part));
    expect(shownBytes(await trimmed({ ...over, parts }, { limits }))).toEqual([51_300]);
  });

  it("leave half of the window free however many outputs come at once, and short ones whole", async () => {
    const session = await trimmed(calls(1_000, 60_000, 60_000, 60_000, 60_000, 3_000), {
      limits: { contextTokens: 32_000, outputTokens: 4_000 },
    });
    const bytes = shownBytes(session);
    expect([bytes[0], bytes[5]]).toEqual([1_000, 3_000]);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(24_000 * 2 + 4 * 400);
    expect(session.nextAction()).toMatchObject({ type: "none", fits: true });
  });

  it("are kept as they were asked for", async () => {
    const session = await trimmed(calls(80_000, 80_000), {
      limits: { contextTokens: 32_000, outputTokens: 4_000 },
      compactAt: "never",
      toolOutput: { maxBytes: 70_000 },
    });
    expect(shownBytes(session).every((bytes) => bytes > 69_000)).toBe(true);
  });
});

describe("an output that was trimmed without a store", () => {
  it("names the handle under which the transcript still has it", async () => {
    const session = await trimmed(calls(80_000), { limits: { contextTokens: 200_000, outputTokens: 8_000 } });
    // Nobody has said that there is a tool to read it with.
    expect(JSON.stringify(session.messages())).toContain("[Full output kept: handle a/0.]");
    const found = await session.recall("a/0", { fromLine: 1_000, toLine: 1_000 });
    expect(found).toMatchObject({ status: "found", text: line(999) });
  });

  it("leaves what was counted before it in force", async () => {
    const usage = {
      inputTokens: 5_000,
      outputTokens: 20,
      reasoningTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    };
    const session = await trimmed(
      { ...calls(80_000), usage },
      { limits: { contextTokens: 200_000, outputTokens: 8_000 } },
    );
    expect(session.ledger().map(({ step }) => step)).toEqual(["trim-outputs"]);
    expect(session.status().estimate).toMatchObject({ source: "usage", usageTokens: 5_020 });
  });
});
