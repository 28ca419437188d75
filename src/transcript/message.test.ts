import { describe, expect, it } from "vitest";
import { deepFreeze, notate, transcript } from "../../test/rig/notation.ts";
import { opencode } from "../formats/wires/opencode/opencode.ts";
import { renderMessage } from "./content.ts";
import { applyEdits } from "./edit.ts";
import { estimateContextTokens } from "./estimate-context.ts";
import { findFaults } from "./format.ts";
import {
  createCallNamer,
  createIdDeduplicator,
  isAnswer,
  isNameOfCall,
  isVisibleToModel,
  isVisibleToUser,
  type Message,
  messageText,
  normalizePartText,
  project,
  withMetadata,
  withUniqueIds,
} from "./message.ts";

const message: Message = deepFreeze({ id: "m", role: "user", parts: [{ type: "text", text: "hello" }] });

describe("visibility", () => {
  it("is there for both when nothing is said", () => {
    for (const metadata of [undefined, {}, { kind: "hint" }]) {
      const any: Message = metadata === undefined ? message : { ...message, metadata };
      expect([isVisibleToModel(any), isVisibleToUser(any)]).toEqual([true, true]);
    }
  });

  it("hidden from the agent is not sent, not rendered, not counted", () => {
    const hidden = withMetadata(message, { agentVisible: false });
    expect(project([hidden])).toEqual([]);
    expect(renderMessage(hidden)).toBe("");
    expect(estimateContextTokens([hidden]).tokens).toBe(0);
    expect(isVisibleToUser(hidden)).toBe(true);
  });

  it("hidden from the user is still sent", () => {
    const hidden = withMetadata(message, { userVisible: false });
    expect(isVisibleToUser(hidden)).toBe(false);
    expect(project([hidden])).toEqual([hidden]);
    expect(renderMessage(hidden)).toContain("hello");
  });

  it.each([
    "user",
    "assistant",
    "tool_result",
    "tool_result_archived",
    "tool_summary",
    "compaction_summary",
    "compaction_marker",
    "continue",
    "hint",
    "something-new",
  ])("the kind %s is kept, also through JSON", (kind) => {
    const marked = withMetadata(message, { kind });
    expect(JSON.parse(JSON.stringify(marked))).toEqual(marked);
  });

  it("setting it gives a message with metadata of its own", () => {
    const shared = deepFreeze({ userVisible: true });
    const [first, second] = [
      { ...message, metadata: shared },
      { ...message, id: "n", metadata: shared },
    ] as const;
    const hidden = withMetadata(first, { agentVisible: false });
    expect(hidden.metadata).toEqual({ userVisible: true, agentVisible: false });
    expect(hidden.metadata).not.toBe(shared);
    expect(second.metadata).toEqual({ userVisible: true });
  });

  it("what is sent keeps every text and file of what it shows, in order", () => {
    const mixed: Message = {
      ...message,
      parts: [
        { type: "text", text: "one" },
        { type: "file", mime: "image/png" },
        { type: "text", text: "two" },
      ],
    };
    expect(project([mixed])[0]?.parts).toBe(mixed.parts);
  });

  it("hiding a call takes its result along, so nothing dangles", () => {
    const before = transcript("u:3 a:1(bash:9,read:4)");
    const edits = [
      { type: "hide-part", what: "part", messageId: "m2", partIndex: 1, stage: "test", reason: "test" },
    ] as const;
    const after = project(applyEdits(before, edits, { at: 0 }));
    expect(notate(after)).toBe("u:3 a:1(read:4)");
    expect(findFaults(after)).toEqual([]);
  });

  it("survives a round trip through OpenCode's messages", () => {
    const wire = [{ info: { id: "w", role: "user", sessionID: "s" }, parts: [{ type: "text", text: "hi" }] }];
    const inserted = withMetadata(message, { kind: "tool_summary", userVisible: false });
    const edits = [
      { type: "insert-message", message: inserted, after: "w", stage: "test", reason: "test" },
    ] as const;
    const [, back] = opencode.decode(JSON.parse(JSON.stringify(opencode.apply(wire, edits, { at: 5 }))));
    expect(back?.metadata).toEqual(inserted.metadata);
  });
});

describe("project", () => {
  const done = { status: "done", output: "out", attachments: [{ type: "file", mime: "a/b" }] } as const;
  const call = { type: "tool", callId: "c", tool: "read", input: {}, outcome: done } as const;
  const said = { type: "text", text: "hello" } as const;
  const of = (...parts: Message["parts"]): Message => deepFreeze({ id: "m", role: "assistant", parts });

  it("gives the same reference where the model sees everything", () => {
    const messages = [of(said, call), of({ ...said, ignored: true })];
    expect(project(messages)).toBe(messages);
    expect(project(messages)[0]).toBe(messages[0]);
  });

  it("leaves out hidden parts, and a message of which nothing is left", () => {
    const hidden = { ...said, agentVisible: false } as const;
    const note = { ...said, ignored: true } as const;
    expect(project([of(hidden, said), of(hidden), of(hidden, note)])).toEqual([of(said)]);
    expect(project([of(hidden, said, note)])).toEqual([of(said, note)]);
  });

  it("shows a cleared result as its placeholder, without the time and the attachments", () => {
    const text = "[Old tool result content cleared]";
    const failed = { status: "failed", error: "no" } as const;
    expect(
      project([of({ ...call, clearedAt: 1 }, { ...call, outcome: failed, clearedAt: 1 }, call)]),
    ).toEqual([
      of(
        { ...call, outcome: { status: "done", output: text, attachments: [] } },
        { ...call, outcome: { status: "failed", error: text } },
        call,
      ),
    ]);
  });
});

const text = "a\u200db\u0000";
const typedMessage = (role: string): Message => ({ id: "m", role, parts: [] });

it("keeps the joiners of what a person typed, and takes them out of everything else", () => {
  expect(normalizePartText(typedMessage("user"), { type: "text", text })).toBe("a\u200db");
  expect(normalizePartText(typedMessage("user"), { type: "text", text, synthetic: true })).toBe("ab");
  expect(normalizePartText(typedMessage("assistant"), { type: "text", text })).toBe("ab");
});

it("says what the model reads of it as text, and whether the model wrote it", () => {
  const parts: Message["parts"] = [
    { type: "text", text: "a" },
    { type: "reasoning", text: "b" },
    { type: "text", text: "c", ignored: true },
    { type: "text", text: "d", agentVisible: false },
    { type: "text", text: "e" },
  ];
  const answer: Message = { id: "m", role: "assistant", parts };
  expect(messageText(answer)).toBe("a\ne");
  expect(isAnswer(answer)).toBe(true);
  expect(isAnswer({ ...answer, summary: true })).toBe(false);
  expect(isAnswer({ ...answer, role: "user" })).toBe(false);
});

const history = transcript("u:5 a:3 a:7 u:2");

describe("unique ids", () => {
  it("are those of the messages where no two are the same", () => {
    expect(withUniqueIds(history)).toBe(history);
  });

  it("get a number where one is repeated, and not one that is taken", () => {
    const name = createIdDeduplicator();
    expect(["a", "a", "a~3", "a", "b", "a"].map(name)).toEqual(["a", "a~2", "a~3", "a~4", "b", "a~5"]);
    const same = history.map((message) => ({ ...message, id: "x" }));
    expect(withUniqueIds(same).map(({ id }) => id)).toEqual(["x", "x~2", "x~3", "x~4"]);
  });

  it("get a number where calls share one, or have none", () => {
    const name = createCallNamer();
    const long = "x".repeat(64);
    expect(["a", "a", "a_3", "a", "", "call_2", "", "a", long, long].map(name)).toEqual([
      ...["a", "a_2", "a_3", "a_4", "call_1", "call_2", "call_3", "a_5", long],
      `${"x".repeat(56)}_2`,
    ]);
    const [first, ...others] = transcript("a(x:1,y:2) a(x:3) a(z?)").map((message) => ({
      ...message,
      parts: message.parts.map((part) => (part.type === "tool" ? { ...part, callId: "c" } : part)),
    }));
    const unique = withUniqueIds([...(first ? [first] : []), ...others]);
    expect(unique.map(({ parts }) => parts.map((part) => part.type === "tool" && part.callId))).toEqual([
      ["c", "c_2"],
      ["c_3"],
      ["c_4"],
    ]);
    expect(withUniqueIds(unique)).toBe(unique);
  });

  it("tells by a name whose call it may be", () => {
    expect(["c", "c_2", "c_12"].every((name) => isNameOfCall(name, "c"))).toBe(true);
    expect(["d", "c_", "c_x", "cc_2"].some((name) => isNameOfCall(name, "c"))).toBe(false);
  });
});
