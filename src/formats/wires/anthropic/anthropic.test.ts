import { describe, expect, it } from "vitest";
import { CONVERSATION, recordRequest } from "../../../../test/rig/ai-sdk-requests.ts";
import { deepFreeze } from "../../../../test/rig/notation.ts";
import { checkWireLaws, repairRequest } from "../../../../test/rig/wire-laws.ts";
import { omitForChild } from "../../../fork/context/omit-for-child.ts";
import type { Edit } from "../../../transcript/edit.ts";
import type { Message } from "../../../transcript/message.ts";
import type { ToolPart } from "../../../transcript/part.ts";
import { anthropic } from "./anthropic.ts";
import type { AnthropicMessage, AnthropicRequest, AnthropicWire } from "./read-message.ts";

const user = (...content: unknown[]): AnthropicMessage => ({ role: "user", content });
const assistant = (...content: unknown[]): AnthropicMessage => ({ role: "assistant", content });
const text = (value: string, more: object = {}) => ({ type: "text", text: value, ...more });
const call = (id: string, name = "bash", input: unknown = { command: "ls" }) => ({
  type: "tool_use",
  id,
  name,
  input,
});
const result = (id: string, content: unknown = `out of ${id}`, more: object = {}) => ({
  type: "tool_result",
  tool_use_id: id,
  content,
  ...more,
});
const thinking = (value: string) => ({ type: "thinking", thinking: value, signature: `signed ${value}` });
const image = (data = "iVBORw0KGgo=") => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});
const mark = { cache_control: { type: "ephemeral" } };

const SAMPLES: Readonly<Record<string, AnthropicWire>> = {
  "a compaction on demand, first of all": [
    assistant({ type: "compaction", content: "So far.", signature: "s" }),
    user(text("go on")),
  ],
  "a compaction within an answer": [
    user(text("go")),
    assistant({ type: "compaction", content: "So far." }, text("on"), call("a")),
    user(result("a")),
  ],
  "strings for content": [
    { role: "user", content: "hello" },
    { role: "assistant", content: "hi" },
    { role: "user", content: "do it" },
  ],
  "parallel calls, results in another order": [
    user(text("go")),
    assistant(text("both"), call("a"), call("b", "read")),
    user(result("b"), result("a"), text("and quickly")),
  ],
  "signed and redacted thinking": {
    thinking: { type: "enabled", budget_tokens: 1024 },
    system: [text("be brief", mark)],
    messages: [
      user(text("go")),
      assistant(thinking("one"), { type: "redacted_thinking", data: "c2VjcmV0" }, text("so"), call("a")),
      user(result("a")),
      assistant(thinking("two"), call("b")),
      user(result("b", [text("see"), image()])),
    ],
  },
  "a call that was never answered, one answered late, one twice": [
    user(text("go")),
    assistant(call("a"), call("b"), call("c")),
    user(result("a"), result("a", "again")),
    assistant(text("hm")),
    user(text("so"), result("b")),
    assistant(text("done")),
    user(text("fine")),
  ],
  "results without a call": [user(result("lost"), text("go")), assistant(text("ok")), user(result("gone"))],
  "a call id that is there twice": [
    user(text("go")),
    assistant(call("a")),
    user(result("a", "first")),
    assistant(call("a")),
    user(result("a", "second")),
  ],
  "ids that Anthropic does not take": [
    user(text("go")),
    assistant(call("call:1|fc"), call("x".repeat(90))),
    user(result("call:1|fc"), result("x".repeat(90))),
  ],
  "two of one role in a row": [
    user(text("go")),
    user(text("on")),
    assistant(text("a")),
    assistant(text("b")),
    user(text("c")),
  ],
  "too many cache marks, one on thinking": {
    system: [text("be brief", mark)],
    tools: [{ name: "bash", ...mark }],
    messages: [
      user(text("one", mark)),
      assistant({ ...thinking("t"), ...mark }, call("a")),
      user(result("a", [text("inner", mark)], mark)),
      assistant(text("ok")),
      user(text("go", mark)),
    ],
  },
  "a cache mark on thinking that is redacted": [
    user(text("go")),
    assistant({ type: "redacted_thinking", data: "c2VjcmV0", ...mark }, text("so")),
    user(text("on")),
  ],
  "nothing in it": [],
  "empty contents": [
    user(text("go")),
    assistant(),
    user(text(" ")),
    { role: "assistant", content: "" },
    user(text("on")),
  ],
  "blocks of a later day": [
    user(text("go"), { type: "hologram", of: "you" }),
    assistant(
      { type: "server_tool_use", id: "srv", name: "web_search", input: {} },
      { type: "web_search_tool_result", tool_use_id: "srv", content: [] },
      text("found", { citations: [{ url: "u" }] }),
    ),
    user({
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
      title: "a",
    }),
  ],
  "ends with an answer, starts with one": [
    assistant(text("hi"), call("a")),
    user(result("a")),
    assistant(text("done")),
  ],
  "hostile text": [
    user(text("a\u0000b")),
    assistant(call("a", "bash", { command: "\ud800" })),
    user(result("a", "\u001b[31mred\u001b[0m \udc00")),
  ],
};

describe("the laws of a format", () => {
  it.each(Object.entries(SAMPLES))("hold on %s", (name, wire) =>
    // Between two empty messages an edit can leave nothing.
    checkWireLaws(anthropic, wire, name === "empty contents" ? ["anthropic-27"] : []),
  );

  it("hold on a request of the AI SDK", async () => {
    const request = await recordRequest("anthropic", {
      system: "Be brief.",
      messages: CONVERSATION,
      providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 2000 } } },
    });
    checkWireLaws(anthropic, request as AnthropicRequest);
  });
});

const WHY = { stage: "test", reason: "test" } as const;
const AT = { at: 1 };

describe("the Anthropic format", () => {
  it("makes a call and its result one part, wherever the result stands", () => {
    const transcript = anthropic.decode(
      SAMPLES["a call that was never answered, one answered late, one twice"] ?? [],
    );
    expect(transcript.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
    expect(transcript[1]?.parts).toMatchObject([
      { callId: "a", outcome: { output: "out of a" } },
      { callId: "b", outcome: { output: "out of b" } },
      { callId: "c", outcome: { status: "pending" } },
    ]);
    expect(transcript[2]?.parts).toMatchObject([{ callId: "a", callMissing: true }]);
  });

  it("gives messages the same ids when more is appended, and others when they change", () => {
    const wire = [user(text("go")), assistant(call("a")), user(result("a")), assistant(text("ok"))];
    const ids = (messages: AnthropicWire) => anthropic.decode(messages).map(({ id }) => id);
    const all = ids(wire);
    expect(ids(wire.slice(0, 2))).toEqual(all.slice(0, 2));
    expect(ids([user(text("stop")), ...wire.slice(1)])[0]).not.toBe(all[0]);
    const moved = [user(text("go", mark)), ...wire.slice(1)];
    expect(ids(moved)).toEqual(all);
  });

  it("leaves everything before the first edit by reference", () => {
    const wire = deepFreeze([
      user(text("go")),
      assistant(thinking("t"), call("a")),
      user(result("a")),
      assistant(call("b")),
      user(result("b"), text("more")),
    ]);
    const transcript = anthropic.decode(wire);
    const target = transcript[2];
    const edit: Edit = {
      type: "hide-part",
      what: "output",
      messageId: target?.id ?? "",
      partIndex: 0,
      ...WHY,
    };
    const edited = anthropic.apply(wire, [edit], AT);
    expect(edited.slice(0, 4).every((message, index) => message === wire[index])).toBe(true);
    expect(edited[4]).toEqual(user(result("b", "[Old tool result content cleared]"), text("more")));
  });

  it("keeps images, marks and the error flag of a result whose text an edit shortens", () => {
    const wire = [
      user(text("go")),
      assistant(call("a")),
      user(result("a", [text("long"), image()], { ...mark, is_error: false })),
    ];
    const part = anthropic.decode(wire)[1]?.parts[0] as ToolPart;
    const outcome = { ...part.outcome, output: "short" } as ToolPart["outcome"];
    const edit: Edit = {
      type: "replace-part",
      messageId: anthropic.decode(wire)[1]?.id ?? "",
      partIndex: 0,
      part: { ...part, outcome },
      ...WHY,
    };
    expect(anthropic.apply(wire, [edit], AT)[2]).toEqual(
      user(result("a", [text("short"), image()], { ...mark, is_error: false })),
    );
  });

  it("keeps the thinking of the turn whose tools were called, and lets older thinking go whole", () => {
    const wire = SAMPLES["signed and redacted thinking"] as AnthropicRequest;
    const edited = anthropic.apply(wire, omitForChild()(anthropic.decode(wire)), AT);
    expect(edited.messages[1]).toEqual(assistant(text("so"), call("a")));
    expect(edited.messages[3]).toBe(wire.messages[3]);
    const quiet = { ...wire, thinking: { type: "disabled" } };
    expect(anthropic.apply(quiet, omitForChild()(anthropic.decode(quiet)), AT).messages[3]).toEqual(
      assistant(call("b")),
    );
  });

  it("keeps no hidden thinking for a model that binds it", () => {
    const wire = {
      ...(SAMPLES["signed and redacted thinking"] as AnthropicRequest),
      model: "claude-opus-5-5",
    };
    const edited = anthropic.apply(wire, omitForChild()(anthropic.decode(wire)), AT);
    expect(JSON.stringify(edited.messages)).not.toContain("thinking");
    expect(anthropic.faults(edited).filter(({ rule }) => rule === "anthropic-22")).toEqual([]);
    const older = { ...wire, model: "claude-opus-4-6" };
    expect(anthropic.apply(older, omitForChild()(anthropic.decode(older)), AT).messages[3]).toBe(
      wire.messages[3],
    );
  });

  it("lets thinking go with all that came of it", () => {
    const wire = [user(text("go")), assistant(thinking("t"), call("a")), user(result("a"), text("so"))];
    const turn = anthropic.decode(wire)[1];
    const edit: Edit = { type: "hide-part", what: "part", messageId: turn?.id ?? "", partIndex: 1, ...WHY };
    expect(anthropic.apply(wire, [edit], AT)).toEqual([user(text("go"), text("so"))]);
  });

  it("does not lose a late result when only what stands around it is edited", () => {
    const wire = [
      user(text("go")),
      assistant(call("a")),
      user(text("and")),
      assistant(text("hm")),
      user(text("so"), result("a")),
    ];
    const last = anthropic.decode(wire).at(-1);
    const edit: Edit = { type: "hide-message", messageId: last?.id ?? "", ...WHY };
    expect(anthropic.apply(wire, [edit], AT)).toEqual([
      wire[0],
      wire[1],
      user(result("a"), text("and")),
      wire[3],
    ]);
  });

  it("leaves out as many of the same picture as an edit did", () => {
    const wire = [user(text("go")), assistant(call("a")), user(result("a", [image(), image(), text("two")]))];
    const turn = anthropic.decode(wire)[1];
    const part = turn?.parts[0] as ToolPart;
    const files = part.outcome.status === "done" ? part.outcome.attachments.slice(1) : [];
    const fewer: ToolPart = { ...part, outcome: { status: "done", output: "two", attachments: files } };
    const edit: Edit = { type: "replace-part", messageId: turn?.id ?? "", partIndex: 0, part: fewer, ...WHY };
    expect(anthropic.apply(wire, [edit], AT)[2]).toEqual(user(result("a", [image(), text("two")])));
  });

  it("puts a late result right behind its call, and before the user's text", () => {
    const wire = [
      user(text("go")),
      assistant(call("a")),
      user(text("and"), result("a")),
      assistant(text("ok")),
      user(text("so")),
    ];
    const repaired = anthropic.apply(wire, repairRequest(anthropic.decode(wire)), AT);
    expect(repaired).toEqual([wire[0], wire[1], user(result("a"), text("and")), wire[3], wire[4]]);
    expect(repairRequest(anthropic.decode(repaired))).toEqual([]);
  });

  it("keeps the newest of too many cache marks, and those of system and tools", () => {
    const wire = SAMPLES["too many cache marks, one on thinking"] as AnthropicRequest;
    const repaired = anthropic.apply(wire, repairRequest(anthropic.decode(wire)), AT);
    expect(repaired.system).toBe(wire.system);
    expect(repaired.messages).toEqual([
      user(text("one")),
      assistant(thinking("t"), call("a")),
      user(result("a", [text("inner", mark)])),
      wire.messages[3],
      wire.messages[4],
    ]);
  });

  it("gives a block that was asked for back as it came, in a message of its own", () => {
    const wire = [user(text("go")), assistant(text("ok")), user(text("more"))];
    const block = { type: "compaction", content: "So far.", signature: "s", later: 1 } as const;
    const message: Message = {
      id: "b",
      role: "assistant",
      parts: [{ type: "text", text: block.content, providerBlock: "anthropic", block }],
    };
    const edits: readonly Edit[] = [
      { type: "hide-message", messageId: anthropic.decode(wire)[0]?.id ?? "", ...WHY },
      { type: "insert-message", message, after: null, ...WHY },
    ];
    const expected = [assistant(block), wire[1], wire[2]];
    expect(anthropic.apply(wire, edits, AT)).toEqual(expected);
    expect(anthropic.encode([message, ...anthropic.decode(wire).slice(1)])).toEqual({ messages: expected });
  });

  it("writes a compaction as a question and the summary", () => {
    const wire = [user(text("go")), assistant(text("ok")), user(text("more"))];
    const [first, second] = anthropic.decode(wire);
    const edits: readonly Edit[] = [
      { type: "hide-message", messageId: first?.id ?? "", ...WHY },
      { type: "hide-message", messageId: second?.id ?? "", ...WHY },
      {
        type: "insert-message",
        message: { id: "s", role: "assistant", parts: [text("sum")] as never },
        after: null,
        ...WHY,
      },
      {
        type: "insert-message",
        message: { id: "m", role: "user", parts: [{ type: "compaction", trigger: "auto" }] },
        after: null,
        ...WHY,
      },
    ];
    expect(anthropic.apply(wire, edits, AT)).toEqual([
      user(text("What did we do so far?")),
      assistant(text("sum")),
      wire[2],
    ]);
  });

  it.each([
    [null],
    [undefined],
    [42],
    ["text"],
    [{}],
    [{ messages: "none" }],
    [[null, 1, "x", [], { role: 3 }, { role: "user", content: [null, 7] }]],
  ])("reads %j without harm", (wire) => {
    const odd = wire as unknown as AnthropicWire;
    const transcript = anthropic.decode(odd);
    expect(anthropic.apply(odd, [], AT)).toBe(odd);
    const hideAll = transcript.map(
      (message): Edit => ({ type: "hide-message", messageId: message.id, ...WHY }),
    );
    expect(() => anthropic.apply(odd, [...hideAll, ...repairRequest(transcript)], AT)).not.toThrow();
  });
});
