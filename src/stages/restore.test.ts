import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../test/rig/notation.ts";
import { renderMessage } from "../transcript/content.ts";
import { applyEdits } from "../transcript/edit.ts";
import { type Message, project } from "../transcript/message.ts";
import { CLEARED_PLACEHOLDER } from "../transcript/part.ts";
import { prune } from "./prune.ts";
import { restore } from "./restore.ts";

const read = (notation: string) => deepFreeze(transcript(notation));

/** Thresholds small enough to read, with the same meaning. */
const SMALL = { protectTokens: 100, minimumTokens: 50 };

describe("what pruning leaves", () => {
  const messages = read("u a(read:800) u u");
  const pruned = applyEdits(messages, prune(messages, SMALL).edits, { at: 7 });

  it("is stored as it was, with the time of clearing", () => {
    expect(pruned[1]?.parts[0]).toEqual({ ...messages[1]?.parts[0], clearedAt: 7 });
  });

  it("reads as the placeholder, with the call and without attachments", () => {
    expect(project(pruned)[1]?.parts[0]).toMatchObject({
      tool: "read",
      input: {},
      outcome: { output: CLEARED_PLACEHOLDER, attachments: [] },
    });
    expect(renderMessage(pruned[1] as Message)).toContain(
      `[Tool: read] {}\n[Tool result]\n${CLEARED_PLACEHOLDER}`,
    );
  });

  it.each(["m2/0", "m2-call-1", "m2"])("comes back by the name %s", (name) => {
    expect(applyEdits(pruned, restore(deepFreeze(pruned), [name]), { at: 9 })).toEqual(messages);
  });

  it("stays as it is under a name that fits nothing cleared", () => {
    expect(restore(pruned, ["m3/0", "m1", "m2/1", ""])).toEqual([]);
    expect(restore(messages, ["m2"])).toEqual([]);
  });
});
