import { describe, expect, it } from "vitest";
import { workingSession } from "../../../test/rig/eval-session.ts";
import { deepFreeze } from "../../../test/rig/notation.ts";
import type { Message } from "../../transcript/message.ts";
import { plainMessages } from "../probe/history-text.ts";
import { createRefillWindow, createSessionWindow, loopMessages } from "./loop-policies.ts";

const charsOf = (window: readonly string[]): number => window.reduce((sum, { length }) => sum + length, 0);

describe("createRefillWindow", () => {
  const history = loopMessages(
    Array.from({ length: 30 }, (_, number): Message => {
      const text = Array.from({ length: 20 }, (__, line) => `line ${line} of message ${number}`).join("\n");
      return { id: `m${number}`, role: "assistant", parts: [{ type: "text", text }] };
    }),
  );

  it("sends everything until enough has gathered", async () => {
    const window = createRefillWindow({ gatherChars: 1_000_000, keepChars: 1_000 });
    expect(await window(history, 0)).toEqual(history.map((message) => message.as("whole")));
  });

  it("then fills the window anew, and only adds to it from there on", async () => {
    const window = createRefillWindow({ gatherChars: 6_000, keepChars: 2_000 });
    const sizes: number[] = [];
    let previous: readonly string[] = [];
    let refills = 0;
    for (let end = 1; end <= history.length; end++) {
      const current = await window(history.slice(0, end), 0);
      sizes.push(charsOf(current));
      if (previous.some((text, index) => text !== current[index])) {
        refills++;
        expect(charsOf(current)).toBeLessThanOrEqual(2_000);
      }
      previous = current;
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(6_000);
    expect(refills).toBeGreaterThan(1);
    expect(refills).toBeLessThan(10);
  });
});

const session = deepFreeze(workingSession({ steps: 150 }));
const history = loopMessages(session);

describe("createSessionWindow", () => {
  it("sends everything, written like any other window, until it pays to leave something out", async () => {
    const window = createSessionWindow({});
    const messages = session.slice(0, 5);
    expect(await window(history.slice(0, 5), 0)).toEqual(plainMessages(messages));
  });

  it("then changes the beginning seldom, and only adds to the end in between", async () => {
    const window = createSessionWindow({});
    let before: readonly string[] = [];
    let breaks = 0;
    for (let end = 1; end <= history.length; end++) {
      const current = await window(history.slice(0, end), 0);
      if (before.some((text, index) => text !== current[index])) breaks++;
      before = current;
    }
    expect(breaks).toBeGreaterThan(0);
    expect(breaks).toBeLessThan(10);
    const whole = charsOf(plainMessages(session));
    expect(charsOf(before)).toBeLessThan(whole / 2);
  });

  it("does not believe what was counted and summed up in the window that was really sent", async () => {
    const counted = (message: Message, step: number): Message => ({
      ...message,
      ...(message.role === "assistant" && {
        usage: {
          inputTokens: 30_000 + 2_500 * step,
          outputTokens: 1,
          reasoningTokens: 0,
          cacheReadTokens: 0,
          cacheWriteTokens: 0,
        },
      }),
      ...(message.id === history[4]?.message.id && { summary: true as const }),
    });
    const recorded = loopMessages(session.map(counted));
    const [believing, bare] = [createSessionWindow({}), createSessionWindow({})];
    for (let end = 1; end <= recorded.length; end++)
      expect(await believing(recorded.slice(0, end), 0)).toEqual(await bare(history.slice(0, end), 0));
  });

  it("leaves out more where the provider's cache has gone cold", async () => {
    const marks = { highTokens: 2_000, lowTokens: 1_000 };
    const some = history.slice(0, 20);
    const warm = charsOf(await createSessionWindow(marks)(some, 0));
    expect(charsOf(await createSessionWindow(marks)(some, 3_600_000))).toBeLessThanOrEqual(warm);
  });
});
