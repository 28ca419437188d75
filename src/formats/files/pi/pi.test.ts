import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate } from "../../../../test/rig/notation.ts";
import { filterCompacted } from "../../../stages/boundary.ts";
import { asObject, type UnknownObject } from "../../../text/unknown-value.ts";
import { outcomeText } from "../../../transcript/content.ts";
import type { Edit } from "../../../transcript/edit.ts";
import type { Transcript } from "../../../transcript/message.ts";
import { pi, piBeforeEdits } from "./pi.ts";

function recorded(name: string): readonly UnknownObject[] {
  const file = new URL(`../../../../test/recordings/pi/${name}.jsonl`, import.meta.url);
  return deepFreeze(
    readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  );
}

/** A result that was edited twice. */
const EDITED: readonly UnknownObject[] = deepFreeze([
  { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00Z", cwd: "/" },
  said("m1", null, { role: "user", content: "Look." }),
  said("m2", "m1", {
    role: "assistant",
    content: [{ type: "toolCall", id: "c1", name: "bash", arguments: {} }],
  }),
  said("m3", "m2", {
    role: "toolResult",
    toolCallId: "c1",
    toolName: "bash",
    content: [{ type: "text", text: "a very long output" }],
  }),
  said("m4", "m3", { role: "assistant", content: [{ type: "text", text: "Done." }] }),
  { ...edit("e1", "m3", { content: [{ type: "text", text: "shorter" }] }), parentId: "m4" },
  { ...edit("e2", "m3", { content: [{ type: "text", text: "short" }] }), parentId: "e1" },
]);

function said(id: string, parentId: string | null, message: object): UnknownObject {
  return { type: "message", id, parentId, timestamp: "2026-01-01T00:00:00Z", message };
}

function edit(id: string, targetId: string, replacement: object | null): UnknownObject {
  return { type: "context_edit", id, timestamp: "2026-01-01T00:00:01Z", targetId, replacement };
}

function texts(transcript: Transcript): readonly string[] {
  return transcript.flatMap(({ parts }) =>
    parts.map((part) =>
      part.type === "tool" ? outcomeText(part.outcome) : part.type === "text" ? part.text : "",
    ),
  );
}

describe("reading", () => {
  it("knows a call that Gemini signed for all calls of its step", () => {
    const call = { type: "toolCall", id: "c1", name: "bash", arguments: {} };
    const content = [
      { ...call, thoughtSignature: "s1" },
      { ...call, id: "c2" },
    ];
    const [, answer] = pi.decode([
      said("m1", null, { role: "user", content: "Look." }),
      said("m2", "m1", { role: "assistant", content }),
    ]);
    expect(answer?.parts.map((part) => part.type === "tool" && part.signed)).toEqual([true, undefined]);
  });

  it.each([
    {
      name: "session",
      notation: "u:22 a:8(read:16,bash:10) a:17 u:62 u:19 a(edit:2) u:16 u:10 m s:77 u:17 a:29",
      window: "m s:77 u:19 a(edit:2) u:16 u:10 u:17 a:29",
    },
    {
      name: "session-without-ids",
      notation: "u:13 a(write:7) a:8 u:7 m s:32 a(bash:8) a:10",
      window: "m s:32 u:7 a(bash:8) a:10",
    },
  ])("$name, with the tail that its compaction kept", ({ name, notation, window }) => {
    const transcript = pi.decode(recorded(name));
    expect(notate(transcript)).toBe(notation);
    expect(notate(filterCompacted(transcript))).toBe(window);
  });

  it("passes over the prompt and the tools, which are no message of anybody", () => {
    const [head, ...lines] = recorded("session");
    const message = { role: "system", content: "You are a coding assistant." };
    const system = { type: "message", id: "5y5", parentId: null, timestamp: "2026-01-01T00:00:00Z", message };
    const rest = lines.map((line) => (line.parentId === null ? { ...line, parentId: "5y5" } : line));
    expect(notate(pi.decode([head, system, ...rest]))).toBe(notate(pi.decode([head, ...lines])));
  });

  it("reads what pi sends of a line that was edited later: the last edit of its branch counts", () => {
    expect(texts(pi.decode(EDITED))).toEqual(["Look.", "short", "Done."]);
    const elsewhere = { ...edit("e9", "m3", { content: "elsewhere" }), parentId: "m3" };
    const branched = EDITED.flatMap((line) => (line.id === "m4" ? [elsewhere, line] : [line]));
    expect(texts(pi.decode(branched))).toEqual(["Look.", "short", "Done."]);
    expect(texts(piBeforeEdits.decode(EDITED))).toEqual(["Look.", "a very long output", "Done."]);
    const without = [...EDITED, { ...edit("e3", "m4", null), parentId: "e2" }];
    expect(texts(pi.decode(without))).toEqual(["Look.", "short"]);
    const back = { ...edit("e4", "m4", { content: "Ended." }), parentId: "e3" };
    expect(texts(pi.decode([...without, back]))).toEqual(["Look.", "short", "Ended."]);
  });

  it("reads usage and model", () => {
    expect(pi.decode(recorded("session"))[1]).toMatchObject({
      model: { provider: "anthropic", id: "claude-sonnet-4-5" },
      usage: {
        inputTokens: 5,
        outputTokens: 60,
        cacheReadTokens: 4000,
        cacheWriteTokens: 300,
        totalTokens: 4365,
      },
      finish: "toolUse",
    });
  });
});

describe("writing", () => {
  const hide = (messageId: string): Edit => ({
    type: "hide-message",
    messageId,
    stage: "test",
    reason: "test",
  });

  it("keeps lines that were edited with their edits, and takes those away of a line that it changes", () => {
    const [first, call] = pi.decode(EDITED);
    const hidden = pi.apply(EDITED, [hide(first?.id ?? "")], { at: 1 });
    expect(JSON.stringify(hidden)).toContain("a very long output");
    expect(texts(pi.decode(hidden))).toEqual(["short", "Done."]);
    const target = { messageId: call?.id ?? "", partIndex: 0, stage: "test", reason: "test" };
    const cleared = pi.apply(EDITED, [{ type: "hide-part", what: "output", ...target }], { at: 1 });
    expect(cleared.map(asObject).map(({ id }) => id)).toEqual(["s", "m1", "m2", "m3", "m4"]);
    expect(JSON.stringify(pi.decode(cleared))).not.toMatch(/short|long output/);
  });

  it("keeps the head first and the chain whole", () => {
    const wire = recorded("session");
    const [first, second] = pi.decode(wire);
    const edited = pi.apply(wire, [hide(first?.id ?? ""), hide(second?.id ?? "")], { at: 1 }).map(asObject);
    expect(edited[0]).toBe(wire[0]);
    const ids = new Set(edited.map(({ id }) => id));
    for (const { parentId } of edited) if (typeof parentId === "string") expect(ids).toContain(parentId);
  });

  it("names the first kept line of an old file by its new number", () => {
    const wire = recorded("session-without-ids");
    const [first] = pi.decode(wire);
    const edited = pi.apply(wire, [hide(first?.id ?? "")], { at: 1 });
    expect(edited.map(asObject).find(({ type }) => type === "compaction")).toMatchObject({
      firstKeptEntryIndex: 4,
    });
    expect(notate(filterCompacted(pi.decode(edited)))).toBe("m s:32 u:7 a(bash:8) a:10");
  });
});
