import { describe, expect, it } from "vitest";
import { checkText, sessionOf } from "../../../test/rig/inspector/check-view.ts";
import { transcript } from "../../../test/rig/notation.ts";
import { CLEARED_PLACEHOLDER } from "../../transcript/part.ts";
import { createInspection } from "./inspection.ts";
import type { ItemSide } from "./types.ts";

describe("the text of an item", () => {
  const inspection = createInspection(
    sessionOf(transcript(`u:10 a:20(bash~900) ${"a(bash:900) ".repeat(16)}u:10 a:5`)),
  );
  const output = (messageId: string, side: ItemSide = "output") => ({ messageId, partIndex: 0, side });

  it("shows the placeholder where the host has cleared an output", () => {
    const text = inspection.itemText(
      { policy: "as-sent" },
      { messageId: "m2", partIndex: 1, side: "output" },
    );
    expect(text?.before).toHaveLength(900);
    expect(text?.after).toBe(CLEARED_PLACEHOLDER);
    expect(text?.cuts).toEqual([{ start: 0, end: 900 }]);
  });

  it("marks what a tier cut", () => {
    const text = inspection.itemText({ policy: "fixed" }, output("m3"));
    expect(text?.after).toContain("...[truncated 400 chars]...");
    expect(text?.cuts).toHaveLength(1);
    checkText(inspection, { policy: "fixed" }, output("m3"));
  });

  it("is empty behind for what is hidden", () => {
    expect(inspection.itemText({ policy: "last-n", budget: 512 }, output("m1", "text"))).toMatchObject({
      after: "",
      cuts: [{ start: 0, end: 10 }],
    });
  });

  it("is empty behind for a part that is hidden while its message stays", () => {
    const parts = [{ type: "reasoning", text: "hm" } as const, { type: "text", text: "yes" } as const];
    const session = sessionOf([...transcript("u:10"), { id: "a", role: "assistant", parts }]);
    const place = { messageId: "a", partIndex: 0, side: "text" } as const;
    expect(createInspection(session).itemText({ policy: "fixed" }, place)).toMatchObject({ after: "" });
    expect(createInspection(session).itemText({ policy: "as-sent" }, place)).toMatchObject({ after: "hm" });
  });

  it("is the same twice for what is kept", () => {
    const text = inspection.itemText({ policy: "fixed" }, output("m19", "text"));
    expect(text).toMatchObject({ before: text?.after, cuts: [], added: [] });
  });

  it("is undefined where there is nothing", () => {
    expect(inspection.itemText({ policy: "fixed" }, output("nobody"))).toBeUndefined();
    expect(
      inspection.itemText({ policy: "fixed" }, { messageId: "m1", partIndex: 7, side: "text" }),
    ).toBeUndefined();
  });

  it("of an input reads as it was meant", () => {
    const input = { content: 'one("1")\n'.repeat(90) };
    const call = { type: "tool", callId: "c", tool: "write", input, outcome: { status: "pending" } } as const;
    const session = sessionOf([...transcript("u:10"), { id: "a", role: "assistant", parts: [call] }]);
    const text = createInspection(session).itemText({ policy: "fixed" }, output("a", "input"));
    expect(text?.before).toBe(`{"content":"${input.content}"}`);
    expect(text?.after.startsWith('{"content":"one("1")\none("1")')).toBe(true);
    expect(text?.cuts).toHaveLength(1);
  });

  it("names the files of a part that is no text", () => {
    const file = { type: "file", mime: "image/png", filename: "shot.png" } as const;
    const [message] = transcript("u:10");
    const session = sessionOf([{ ...message, id: "m1", role: "user", parts: [file] }]);
    const text = createInspection(session).itemText({ policy: "as-sent" }, output("m1", "media"));
    expect(text?.before).toBe("[File: image/png shot.png]");
    expect(text?.after).toBe(text?.before);
  });
});
