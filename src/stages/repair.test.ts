import { describe, expect, it } from "vitest";
import { deepFreeze, notate, transcript } from "../../test/rig/notation.ts";
import { applyEdits } from "../transcript/edit.ts";
import { findFaults } from "../transcript/format.ts";
import { type Message, project, type Transcript } from "../transcript/message.ts";
import type { Part, ToolPart } from "../transcript/part.ts";
import { CONTINUE_REQUEST, type RepairPairingOptions, repairPairing } from "./repair.ts";

const MISSING_RESULT = "[Tool result not available]";

function repair(messages: Transcript, options?: RepairPairingOptions): Transcript {
  return project(applyEdits(deepFreeze(messages), repairPairing(messages, options), { at: 0 }));
}

const message = (id: string, role: string, ...parts: Part[]): Message => ({ id, role, parts });
const call = (callId: string, more: Partial<ToolPart> = {}): ToolPart => ({
  type: "tool",
  callId,
  tool: "bash",
  input: {},
  outcome: { status: "done", output: "out", attachments: [] },
  ...more,
});
const callIds = (messages: Transcript) =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "tool" ? [part.callId] : [])));
const user = message("u", "user", { type: "text", text: "hi" });

describe("repairPairing", () => {
  it.each([
    { name: "leaves a sound transcript alone", before: "u:3 a:2(bash:9) u:1", after: "u:3 a:2(bash:9) u:1" },
    {
      name: "gives a call without a result a short one",
      before: "u:3 a(bash?)",
      after: `u:3 a(bash:${MISSING_RESULT.length})`,
    },
    { name: "takes out a message without parts", before: "u:3 a u:1", after: "u:3 u:1" },
    { name: "takes out a text of nothing", before: "u:3 a:0(bash:9) u:0", after: "u:3 a(bash:9)" },
    { name: "puts a question before an answer that stands first", before: "a:3 u:1", after: "u:22 a:3 u:1" },
    { name: "puts it behind the system message", before: "y:4 a:3", after: "y:4 u:22 a:3" },
    { name: "leaves nothing of nothing", before: "", after: "" },
  ])("$name", ({ before, after }) => {
    const repaired = repair(transcript(before));
    expect(notate(repaired)).toBe(after);
    expect(findFaults(repaired)).toEqual([]);
  });

  it("strips calls without results on request, and the message that only had them", () => {
    expect(notate(repair(transcript("u:3 a(bash?) a:1(bash?,read:4)"), { missingResult: "strip" }))).toBe(
      "u:3 a:1(read:4)",
    );
  });

  it("drops results without a call, or turns them into text", () => {
    const messages = [
      user,
      message("a", "assistant", call("lost", { callMissing: true }), { type: "text", text: "so" }),
    ];
    expect(notate(repair(messages))).toBe("u:2 a:2");
    expect(notate(repair(messages, { orphanResult: "asText" }))).toBe("u:2 a:5");
  });

  it("gives further calls with one id, or with none, names of their own", () => {
    const messages = [
      user,
      message("a", "assistant", call("c"), call("c"), call("")),
      message("b", "assistant", call("c"), call("")),
    ];
    expect(findFaults(messages).map((fault) => fault.rule)).toEqual(Array(3).fill("call-id-repeated"));
    const repaired = repair(messages);
    expect(notate(repaired)).toBe("u:2 a(bash:3,bash:3,bash:3) a(bash:3,bash:3)");
    expect(callIds(repaired)).toEqual(["c", "c_2", "call_1", "c_3", "call_2"]);
    expect(findFaults(repaired)).toEqual([]);
  });

  it("repairs lone surrogates and control characters in text, output and input", () => {
    const bad = call("c", {
      input: { path: "a\0b", list: ["\ud800"] },
      outcome: { status: "failed", error: "\x1b[31mno\x1b[0m" },
    });
    const messages = [user, message("a", "assistant", bad, { type: "text", text: "\udc00 ok" })];
    expect(findFaults(messages)).toHaveLength(2);
    const [, repaired] = repair(messages);
    expect(repaired?.parts).toMatchObject([
      { input: { path: "ab", list: ["\ufffd"] }, outcome: { error: "no" } },
      { text: "\ufffd ok" },
    ]);
  });

  it.each([
    {
      name: "asks to go on where a request would end with an answer",
      before: "u:3 a:2",
      after: "u:3 a:2 u:9",
    },
    { name: "looks past what is hidden as empty", before: "u:3 a:2 u:0", after: "u:3 a:2 u:9" },
    { name: "leaves a request that ends with a question", before: "u:3 a:2 u:1", after: "u:3 a:2 u:1" },
    { name: "leaves a request that ends with results", before: "u:3 a:2(bash:9)", after: "u:3 a:2(bash:9)" },
    { name: "asks for something where there is nothing", before: "y:4", after: "y:4 u:9" },
  ])("$name", ({ before, after }) => {
    const repaired = repair(transcript(before), { lastMessage: "user" });
    expect(notate(repaired)).toBe(after);
    expect(repairPairing(repaired, { lastMessage: "user" })).toEqual([]);
  });

  it("asks to go on in words of its own", () => {
    const [, , last] = repair(transcript("u:3 a:2"), { lastMessage: "user" });
    expect(last).toMatchObject({ parts: [{ text: CONTINUE_REQUEST, synthetic: true }] });
  });

  it("replaces a part that stands wrong in the wire by itself, so that it is written anew", () => {
    const messages = [user, message("a", "assistant", call("c", { irregular: true }))];
    expect(repairPairing(messages)).toMatchObject([
      { type: "replace-part", messageId: "a", partIndex: 0, part: call("c"), reason: "irregular" },
    ]);
    expect(repairPairing(repair(messages))).toEqual([]);
  });

  it("hides a part that stands wrong and answers nothing", () => {
    const lost = call("c", { irregular: true, callMissing: true });
    expect(notate(repair([user, message("a", "assistant", lost, { type: "text", text: "so" })]))).toBe(
      "u:2 a:2",
    );
  });

  it("changes nothing the second time", () => {
    const once = repair(transcript("a(bash?) a u:0 a:3(read!5)"));
    expect(repairPairing(once)).toEqual([]);
  });

  it("says in each edit what it is and why", () => {
    const messages = [
      message("y", "system", { type: "text", text: "rules" }),
      message("a", "assistant", call("c"), call("c"), call("d", { callMissing: true })),
      message("e", "user", { type: "text", text: " " }),
      message(
        "b",
        "assistant",
        { type: "text", text: "a\u0000" },
        call("f", { outcome: { status: "pending" } }),
      ),
    ];
    const stage = "repair-pairing";
    expect(repairPairing(deepFreeze(messages), { missingResult: "strip", lastMessage: "user" })).toEqual([
      {
        type: "replace-part",
        part: call("c_2"),
        messageId: "a",
        partIndex: 1,
        stage,
        reason: "duplicate-call",
      },
      {
        type: "hide-part",
        what: "part",
        messageId: "a",
        partIndex: 2,
        stage,
        reason: "orphan-result",
        omitted: { chars: 5, handle: "a/2" },
      },
      { type: "hide-message", messageId: "e", stage, reason: "empty", omitted: { chars: 1, handle: "e" } },
      {
        type: "replace-part",
        part: { type: "text", text: "a" },
        messageId: "b",
        partIndex: 0,
        stage,
        reason: "malformed-text",
      },
      {
        type: "hide-part",
        what: "part",
        messageId: "b",
        partIndex: 1,
        stage,
        reason: "missing-result",
        omitted: { chars: 2, handle: "b/1" },
      },
      {
        type: "insert-message",
        message: {
          id: "a~first",
          role: "user",
          parts: [{ type: "text", text: "What did we do so far?", synthetic: true }],
          metadata: { kind: "hint", userVisible: false },
        },
        after: "y",
        stage,
        reason: "first-message",
      },
      {
        type: "insert-message",
        message: {
          id: "b~last",
          role: "user",
          parts: [{ type: "text", text: CONTINUE_REQUEST, synthetic: true }],
          metadata: { kind: "continue", userVisible: false },
        },
        after: "b",
        stage,
        reason: "last-message",
      },
    ]);
  });

  it("changes nothing that is hidden, message or part; a call keeps the name that it has beside hidden ones", () => {
    const hidden = { agentVisible: false } as const;
    const messages = [
      user,
      { ...message("h", "assistant", call("c")), metadata: hidden },
      message("a", "assistant", { ...call("c"), ...hidden }, call("d"), call("c")),
    ];
    expect(repairPairing(deepFreeze(messages))).toMatchObject([
      { type: "replace-part", messageId: "a", partIndex: 2, part: { callId: "c_3" } },
    ]);
  });

  it("repairs an error as it repairs an output", () => {
    const failed = call("c", { outcome: { status: "failed", error: "no\u0000" } });
    expect(repairPairing([user, message("a", "assistant", failed)])).toMatchObject([
      { part: { outcome: { status: "failed", error: "no" } }, reason: "malformed-text" },
    ]);
  });

  it("leaves out a result without a call that has no text, and a text of nothing but controls", () => {
    const empty = call("c", { callMissing: true, outcome: { status: "done", output: " ", attachments: [] } });
    const messages = [user, message("a", "assistant", { type: "text", text: "x" }, empty)];
    expect(repairPairing(messages, { orphanResult: "asText" })).toMatchObject([{ type: "hide-part" }]);
    const controls = message("u", "user", { type: "text", text: "\u0000" }, { type: "text", text: "x" });
    expect(repairPairing([controls])).toMatchObject([{ type: "hide-part", reason: "empty" }]);
  });

  it("asks for something where there is nothing at all", () => {
    expect(repairPairing([], { lastMessage: "user" })).toMatchObject([
      { type: "insert-message", after: null, message: { id: "request~last" } },
    ]);
  });

  it("does not take a result that is hidden, or left out, for the end of a request", () => {
    const answer = { type: "text", text: "done" } as const;
    for (const part of [call("c", { agentVisible: false }), call("c", { callMissing: true })]) {
      const edits = repairPairing([user, message("a", "assistant", answer, part)], { lastMessage: "user" });
      expect(edits.at(-1)).toMatchObject({ reason: "last-message" });
    }
  });

  it("says why a call got a result, and marks a text that was a result as written by a program", () => {
    const pending = call("c", { outcome: { status: "pending" } });
    expect(repairPairing([user, message("a", "assistant", pending)])).toEqual([
      {
        type: "replace-part",
        part: { ...pending, outcome: { status: "done", output: MISSING_RESULT, attachments: [] } },
        messageId: "a",
        partIndex: 0,
        stage: "repair-pairing",
        reason: "missing-result",
      },
    ]);
    const orphan = call("c", { callMissing: true });
    expect(
      repairPairing([user, message("a", "assistant", orphan)], { orphanResult: "asText" }),
    ).toMatchObject([{ part: { type: "text", text: "out", synthetic: true } }]);
  });
});
