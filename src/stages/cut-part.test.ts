import { describe, expect, it } from "vitest";
import type { Message } from "../transcript/message.ts";
import type { FilePart, ToolPart } from "../transcript/part.ts";
import { cutAnyPart, cutOutput, cutOutputOrText, withoutMedia } from "./cut-part.ts";

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
