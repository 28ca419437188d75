import { describe, expect, it } from "vitest";
import type { Message } from "../../transcript/message.ts";
import { createRefillWindow, type Refillable } from "./loop-policies.ts";

const history = Array.from({ length: 30 }, (_, number): Refillable => {
  const text = Array.from({ length: 20 }, (__, line) => `line ${line} of message ${number}`).join("\n");
  const message: Message = { id: `m${number}`, role: "assistant", parts: [{ type: "text", text }] };
  return { message, as: () => `\nAgent:\n${text}` };
});
const charsOf = (window: readonly string[]): number => window.reduce((sum, { length }) => sum + length, 0);

describe("refilled", () => {
  it("sends everything until enough has gathered", () => {
    const window = createRefillWindow({ gatherChars: 1_000_000, keepChars: 1_000 });
    expect(window(history)).toEqual(history.map((message) => message.as("whole")));
  });

  it("then fills the window anew, and only adds to it from there on", () => {
    const window = createRefillWindow({ gatherChars: 6_000, keepChars: 2_000 });
    const sizes: number[] = [];
    let previous: readonly string[] = [];
    let refills = 0;
    for (let end = 1; end <= history.length; end++) {
      const current = window(history.slice(0, end));
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
