import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../test/rig/notation.ts";
import { applyEdits } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { cutAnyPart, cutOutputOrText } from "./cut-part.ts";
import { cutToLength, largestPassing, shrinkToFit } from "./shrink.ts";

const message: Message = { id: "m", role: "assistant", parts: [] };
const long = "x".repeat(2_000);

const charsOf = (messages: Transcript): number =>
  messages
    .flatMap(({ parts }) => parts)
    .reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);

describe("shrinkToFit", () => {
  const messages = deepFreeze(transcript("u:1000 a:500 u:100"));
  const cutting = { cut: cutOutputOrText, stage: "test", reason: "oversize" } as const;

  it("cuts the longest parts to the largest length at which the measure is small enough", () => {
    const edits = shrinkToFit(messages, { ...cutting, measure: charsOf, maxSize: 900, mostChars: 2_000 });
    const shrunk = applyEdits(messages, edits ?? [], { at: 0 });
    expect(charsOf(shrunk)).toBeLessThanOrEqual(900);
    expect(charsOf(shrunk)).toBeGreaterThan(895);
    expect(shrunk[2]).toBe(messages[2]);
  });

  it("changes nothing where everything fits", () => {
    expect(shrinkToFit(messages, { ...cutting, measure: charsOf, maxSize: 1_600, mostChars: 1_000 })).toEqual(
      [],
    );
  });

  it("is undefined where the least length is too much", () => {
    const options = { ...cutting, measure: charsOf, maxSize: 500, mostChars: 1_000 };
    expect(shrinkToFit(messages, { ...options, leastChars: 200 })).toBeUndefined();
    expect(shrinkToFit(messages, options)).toBeDefined();
  });
});

describe("largestPassing", () => {
  it.each([
    { least: 0, most: 100, limit: 37, found: 37 },
    { least: 10, most: 11, limit: 10, found: 10 },
    { least: 0, most: 100, limit: 100, found: 100 },
    { least: 5, most: 100, limit: 4, found: undefined },
  ])("up to $limit between $least and $most is $found", ({ limit, found, ...bounds }) => {
    expect(largestPassing((value) => value <= limit, bounds)).toBe(found);
  });
});

describe("cutToLength", () => {
  it("leaves out what the model does not see", () => {
    const hidden: Part = { type: "text", text: long, agentVisible: false };
    const invisible = { ...message, id: "h", metadata: { agentVisible: false } };
    const messages = [
      { ...message, parts: [hidden, { type: "text", text: long } as const] },
      { ...invisible, parts: [{ type: "text", text: long } as const] },
    ];
    const options = { cut: cutAnyPart, limitChars: 500, stage: "test", reason: "recovery" } as const;
    expect(cutToLength(deepFreeze(messages), options)).toMatchObject([
      { type: "replace-part", messageId: "m", partIndex: 1, stage: "test", omitted: { handle: "m/1" } },
    ]);
  });

  it("hides what is null, and says how much that was", () => {
    const parts: Part[] = [{ type: "reasoning", text: long }];
    const options = { cut: cutAnyPart, limitChars: 500, stage: "test", reason: "recovery" } as const;
    expect(cutToLength([{ ...message, parts }], options)).toEqual([
      {
        type: "hide-part",
        messageId: "m",
        partIndex: 0,
        what: "part",
        stage: "test",
        reason: "recovery",
        omitted: { chars: 2_000, handle: "m/0" },
      },
    ]);
  });
});
