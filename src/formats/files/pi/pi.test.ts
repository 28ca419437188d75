import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate } from "../../../../test/rig/notation.ts";
import { filterCompacted } from "../../../stages/boundary.ts";
import { asObject, type UnknownObject } from "../../../text/json.ts";
import type { Edit } from "../../../transcript/edit.ts";
import { pi } from "./pi.ts";

function recorded(name: string): readonly UnknownObject[] {
  const file = new URL(`../../../../test/recordings/pi/${name}.jsonl`, import.meta.url);
  return deepFreeze(
    readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  );
}

describe("reading", () => {
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
