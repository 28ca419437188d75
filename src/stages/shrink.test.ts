import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../test/rig/notation.ts";
import { applyEdits } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { FilePart, Part, ToolPart } from "../transcript/part.ts";
import {
  cutAnyPart,
  cutOutput,
  cutOutputOrText,
  cutToLength,
  largestPassing,
  shrinkToFit,
  withoutMedia,
} from "./shrink.ts";

const message: Message = { id: "m", role: "assistant", parts: [] };
const long = "x".repeat(2_000);
const picture: FilePart = { type: "file", mime: "image/png", filename: "a.png" };

function tool(change: Partial<ToolPart> = {}): ToolPart {
  return {
    type: "tool",
    callId: "c",
    tool: "bash",
    input: {},
    outcome: { status: "done", output: long, attachments: [] },
    ...change,
  };
}

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

describe("the ways to cut a part", () => {
  it.each([
    { name: "a text", part: { type: "text", text: long }, by: ["text", "any"] },
    { name: "a text the user alone sees", part: { type: "text", text: long, ignored: true }, by: [] },
    { name: "a hint of ours", part: { type: "text", text: long, own: true }, by: ["any"] },
    { name: "an output", part: tool(), by: ["output", "text", "any"] },
    {
      name: "an error",
      part: tool({ outcome: { status: "failed", error: long } }),
      by: ["output", "text", "any"],
    },
    { name: "a cleared output", part: tool({ clearedAt: 1 }), by: [] },
    { name: "an input", part: tool({ input: { long }, outcome: { status: "pending" } }), by: ["any"] },
    { name: "reasoning", part: { type: "reasoning", text: long }, by: ["any"] },
    { name: "a picture", part: picture, by: ["any"] },
    { name: "a short text", part: { type: "text", text: "short" }, by: [] },
  ] as const)("cut $name: $by", ({ part, by }) => {
    const cutters = { output: cutOutput, text: cutOutputOrText, any: cutAnyPart };
    const found = Object.entries(cutters).filter(([, cut]) => cut(part, 500, message) !== part);
    expect(found.map(([name]) => name)).toEqual(by);
  });

  it("leave media in place while parts may be as long as they count", () => {
    expect(cutAnyPart(picture, 4_800, message)).toBe(picture);
    expect(cutAnyPart(picture, 4_799, message)).toMatchObject({ text: "[File left out: image/png a.png]" });
  });

  it("keep a preview of a long input", () => {
    const cut = cutAnyPart(tool({ input: { long }, outcome: { status: "pending" } }), 900, message);
    expect(cut).toMatchObject({ inputCut: { method: "head", originalChars: 2_011, limitChars: 900 } });
    expect(cut?.type === "tool" && cut.inputCut?.preview).toHaveLength(503);
  });
});

describe("withoutMedia", () => {
  it("names each attachment at the end of the output", () => {
    const part = tool({ outcome: { status: "done", output: "seen", attachments: [picture] } });
    expect(withoutMedia(part, message)).toMatchObject({
      outcome: { output: "seen\n[File left out: image/png a.png]", attachments: [] },
    });
    expect(withoutMedia(tool(), message)).toMatchObject(tool());
  });

  it("gives a summary no text of its own", () => {
    expect(withoutMedia(picture, { ...message, summary: true })).toMatchObject({
      text: "",
      agentVisible: false,
    });
  });
});
