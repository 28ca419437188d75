import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../test/rig/notation.ts";
import { runs } from "../../test/rig/runs.ts";
import { getToolResultTier, minimumsFor } from "../stages/tiers.ts";
import { handleOf, toolResults } from "../transcript/content.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { type ForkContext, forkContext } from "./fork.ts";

/** Lines as a program prints them, with names of their own; a file that was read has padded line numbers. */
function output(number: number, chars: number): string {
  const isRead = number % 2 === 1;
  let text = "";
  for (let line = 1; text.length < chars; line++)
    text += `${isRead ? `${String(line).padStart(6)}→` : ""}const v_${number}_${line % 97} = load("src/${line % 13}.ts");\n`;
  return text.slice(0, chars);
}

function session(sizes: readonly number[]): Transcript {
  const steps = sizes.map((chars, number): Message => {
    const outcome = { status: "done", output: output(number, chars), attachments: [] } as const;
    const input = { filePath: `src/f${number}.ts` };
    const tool = number % 2 === 1 ? "read" : "grep";
    return {
      id: `a${number}`,
      role: "assistant",
      parts: [{ type: "tool", callId: `c${number}`, tool, input, outcome }],
    };
  });
  return deepFreeze([{ id: "u", role: "user", parts: [{ type: "text", text: "go" }] }, ...steps]);
}

/** What is left of each result, newest first; 0 where nothing is. */
function keptChars(messages: Transcript, { messages: kept }: ForkContext): readonly number[] {
  const lengths = new Map(
    toolResults(kept).map(({ message, partIndex, text }) => [handleOf(message, partIndex), text.length]),
  );
  return toolResults(messages)
    .toReversed()
    .map(({ message, partIndex }) => lengths.get(handleOf(message, partIndex)) ?? 0);
}

describe("the minimums of a fork", () => {
  it("are kept at 200,000 characters: the newest 5 whole, the next 10 at 3,000, the rest at 500", () => {
    const messages = session(Array.from({ length: 90 }, () => 7_000));
    const fork = forkContext(messages);
    const kept = keptChars(messages, fork);
    expect(kept.slice(0, 5)).toEqual([7_000, 7_000, 7_000, 7_000, 7_000]);
    for (const chars of kept.slice(5, 15)) expect(chars).toBeGreaterThanOrEqual(3_000);
    for (const chars of kept.slice(15)) expect(chars).toBeGreaterThanOrEqual(500);
    expect(fork.stats.missedMinimums).toBeUndefined();
    expect(fork.text.length).toBeLessThanOrEqual(200_000);
    expect(fork.text.length).toBeGreaterThan(190_000);
  });

  it("keep the newest results word for word, padding of line numbers included", () => {
    const messages = session(Array.from({ length: 40 }, () => 20_000));
    const { messages: kept } = forkContext(messages);
    const texts = (each: Transcript): readonly string[] =>
      toolResults(each)
        .slice(-5)
        .map(({ text }) => text);
    expect(texts(kept)).toEqual(texts(messages));
  });

  it("go as far as they fit, newest first, and what was not kept is named", () => {
    const messages = session([...Array.from({ length: 600 }, () => 4_000), 150_000, 150_000, 10, 10, 10]);
    const fork = forkContext(messages);
    const { missedMinimums = [] } = fork.stats;
    expect(missedMinimums[0]).toMatchObject({ handle: "a600/0", tier: 1, minimumChars: 150_000 });
    const old = missedMinimums.slice(1);
    expect(old.length).toBeGreaterThan(100);
    for (const { tier, minimumChars } of old) expect([tier, minimumChars]).toEqual([3, 500]);
    const places = old.map(({ handle }) => Number(handle.slice(1, -2)));
    expect(places).toEqual(Array.from({ length: old.length }, (_, index) => old.length - 1 - index));
    expect(fork.text.length).toBeLessThanOrEqual(200_000);
  });

  it("ask nothing of a result that a newer one supersedes", () => {
    const whole = session(Array.from({ length: 60 }, () => 7_000));
    const { parts, ...read } = whole[2] as Message;
    const again = { ...read, id: "again", parts: parts.map((part) => ({ ...part, callId: "again" })) };
    const fork = forkContext(deepFreeze([...whole, again]));
    const [superseded] = toolResults(fork.messages).filter(({ message }) => message.id === "a1");
    expect(superseded?.text).toContain("superseded by again/0");
    expect(fork.stats.missedMinimums).toBeUndefined();
  });

  it("shrink with the budget down to 100,000 characters", () => {
    const messages = session(Array.from({ length: 60 }, () => 7_000));
    const fork = forkContext(messages, { budgetChars: 100_000 });
    const kept = keptChars(messages, fork);
    expect(kept.slice(0, 3)).toEqual([7_000, 7_000, 7_000]);
    for (const chars of kept.slice(3, 15)) expect(chars).toBeGreaterThanOrEqual(1_500);
    for (const chars of kept.slice(15)) expect(chars).toBeGreaterThanOrEqual(250);
    expect(fork.stats.missedMinimums).toBeUndefined();
  });

  it("are only named below 100,000 characters, where the lines most likely needed go first", () => {
    const messages = session(Array.from({ length: 60 }, () => 7_000));
    const { stats } = forkContext(messages, { budgetChars: 50_000 });
    expect(stats.missedMinimums?.length).toBeGreaterThan(0);
    const all = minimumsFor(50_000);
    for (const { tier, minimumChars } of stats.missedMinimums ?? [])
      expect(minimumChars).toBe(Math.min(7_000, all.resultChars[tier]));
  });

  it("are no matter of the documented profile, nor of a session that fits", () => {
    const messages = session(Array.from({ length: 60 }, () => 7_000));
    expect(forkContext(messages, { profile: "documented" }).stats).not.toHaveProperty("missedMinimums");
    expect(forkContext(messages.slice(0, 10)).stats).not.toHaveProperty("missedMinimums");
  });

  it("hold for any session: kept, or named; and kept whenever all of them take half of the budget", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.nat(600), fc.nat(9_000), fc.nat(60_000)), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 200_000, max: 400_000 }),
        (sizes, budgetChars) => {
          const messages = session(sizes);
          const fork = forkContext(messages, { budgetChars });
          expect(fork.text.length).toBeLessThanOrEqual(budgetChars);
          const kept = keptChars(messages, fork);
          const lengths = toolResults(messages)
            .toReversed()
            .map(({ text }) => text.length);
          const named = new Set(fork.stats.missedMinimums?.map(({ handle }) => handle));
          const { resultChars } = minimumsFor(budgetChars);
          const numbered = lengths.filter((length) => length > 0);
          let index = 0;
          let sum = 0;
          for (const [place, length] of lengths.entries()) {
            if (length === 0) continue;
            const minimumChars = Math.min(length, resultChars[getToolResultTier(index++)]);
            sum += minimumChars;
            const isKept = (kept[place] ?? 0) >= minimumChars;
            const isNamed = named.has(`a${sizes.length - 1 - place}/0`);
            expect(isKept || isNamed).toBe(true);
          }
          expect(index).toBe(numbered.length);
          if (sum < budgetChars / 2) expect(named.size).toBe(0);
        },
      ),
      { numRuns: runs(60) },
    );
  });
});
