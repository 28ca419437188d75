import { describe, expect, it } from "vitest";
import { deepFreeze, transcript as read } from "../../../test/rig/notation.ts";
import { repairPairing } from "../../stages/repair.ts";
import { applyEdits, type Edit } from "../../transcript/edit.ts";
import { findFaults } from "../../transcript/format.ts";
import type { Message } from "../../transcript/message.ts";
import { compactToolResultsInRecent, DIGEST_PREFIX } from "./edits.ts";

const archived = (edits: readonly Edit[]) =>
  edits.flatMap((edit) => (edit.type === "replace-part" ? [`${edit.messageId}/${edit.partIndex}`] : []));
const digest = (edits: readonly Edit[]) =>
  edits.flatMap((edit) => (edit.type === "insert-message" ? [edit] : []))[0];
const textOf = (message: Message | undefined) =>
  message?.parts[0]?.type === "text" ? message.parts[0].text : "";

describe("compactToolResultsInRecent", () => {
  it.each([
    {
      name: "archives the oldest above the cutoff",
      messages: "u:9 a(read:90) a(bash:90) a(grep:90) u:9",
      cutoff: 2,
      gone: ["m2/0"],
    },
    { name: "changes nothing at the cutoff", messages: "u:9 a(read:90) a(bash:90) u:9", cutoff: 2, gone: [] },
    { name: "is off with a cutoff of 0", messages: "u:9 a(read:90) a(bash:90) u:9", cutoff: 0, gone: [] },
    {
      name: "is off with a negative cutoff",
      messages: "u:9 a(read:90) a(bash:90) u:9",
      cutoff: -1,
      gone: [],
    },
    {
      name: "is off without a number",
      messages: "u:9 a(read:90) a(bash:90) u:9",
      cutoff: Number.NaN,
      gone: [],
    },
    {
      name: "leaves results alone that the model has not seen",
      messages: "u:9 a(read:90,bash:90,grep:90)",
      cutoff: 1,
      gone: [],
    },
    {
      name: "leaves protected tools alone",
      messages: "u:9 a(skill:90) a(read:90) a(bash:90) u:9",
      cutoff: 1,
      gone: ["m3/0"],
    },
    {
      name: "does not count cleared results",
      messages: "u:9 a(read~90) a(bash:90) u:9",
      cutoff: 1,
      gone: [],
    },
    { name: "archives errors too", messages: "u:9 a(read!90) a(bash:90) a:9 u:9", cutoff: 1, gone: ["m2/0"] },
  ])("$name", ({ messages, cutoff, gone }) => {
    const edits = compactToolResultsInRecent(deepFreeze(read(messages)), cutoff);
    expect(archived(edits)).toEqual(gone);
    expect(digest(edits) !== undefined).toBe(gone.length > 0);
  });

  it("says in one line a result what it was: name, ok or error, 200 code points, handle", () => {
    const messages = read("u:9 a(read:500) a(bash!20) a(grep:90) u:9");
    const edits = compactToolResultsInRecent(messages, 1);
    expect(textOf(digest(edits)?.message)).toBe(
      `${DIGEST_PREFIX}\n- read ok: ${"d".repeat(200)} (m2/0)\n- bash error: ${"c".repeat(20)} (m3/0)`,
    );
    expect(digest(edits)?.message).toMatchObject({
      role: "user",
      metadata: { agentVisible: true, userVisible: false, kind: "tool_summary" },
    });
  });

  it("puts the digest where it is told, never behind the user who waits", () => {
    const messages = read("u:9 a(read:90) a(bash:90) u:9");
    expect(digest(compactToolResultsInRecent(messages, 1))?.after).toBeNull();
    expect(digest(compactToolResultsInRecent(messages, 1, { digestAfter: "m1" }))?.after).toBe("m1");
  });

  it("leaves every call with its result", () => {
    const messages = deepFreeze(read("u:9 a(read:90,bash:90) a(grep:90) u:9"));
    const after = applyEdits(messages, compactToolResultsInRecent(messages, 1), { at: 1 });
    expect(findFaults(applyEdits(after, repairPairing(after), { at: 1 }))).toEqual([]);
    expect(compactToolResultsInRecent(after, 1)).toEqual([]);
  });
});
