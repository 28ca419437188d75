import { describe, expect, it } from "vitest";
import { CONVERSATION } from "../../../../test/rig/ai-sdk-requests.ts";
import { deepFreeze } from "../../../../test/rig/notation.ts";
import { checkWireLaws, repairRequest } from "../../../../test/rig/wire-laws.ts";
import { omitForChild } from "../../../fork/context/omit-for-child.ts";
import type { Edit } from "../../../transcript/edit.ts";
import { estimateMessageTokens } from "../../../transcript/estimate-message.ts";
import type { Message } from "../../../transcript/message.ts";
import type { ToolPart } from "../../../transcript/part.ts";
import { aiSdk } from "./ai-sdk.ts";
import type { AiSdkMessage, AiSdkWire } from "./ai-sdk-message.ts";

const user = (...content: unknown[]): AiSdkMessage => ({ role: "user", content });
const assistant = (...content: unknown[]): AiSdkMessage => ({ role: "assistant", content });
const results = (...content: unknown[]): AiSdkMessage => ({ role: "tool", content });
const text = (value: string, more: object = {}) => ({ type: "text", text: value, ...more });
const call = (toolCallId: string, toolName = "bash", input: unknown = { command: "ls" }) => ({
  type: "tool-call",
  toolCallId,
  toolName,
  input,
});
const result = (toolCallId: string, output: unknown = { type: "text", value: `out of ${toolCallId}` }) => ({
  type: "tool-result",
  toolCallId,
  toolName: "bash",
  output,
});
const signed = (part: object, thoughtSignature: string) => ({
  ...part,
  providerOptions: { google: { thoughtSignature } },
});
const stored = (itemId: string) => ({ providerOptions: { openai: { itemId, phase: "final" } } });
const compacted = { providerOptions: { anthropic: { type: "compaction" } } };
const WHY = { stage: "test", reason: "test" };

const SAMPLES: Readonly<Record<string, AiSdkWire>> = {
  "a conversation with everything in it": CONVERSATION as AiSdkWire,
  "plain texts": [
    { role: "system", content: "be brief" },
    { role: "user", content: "hello" },
    { role: "assistant", content: "hi" },
    { role: "user", content: "do it" },
  ],
  "parallel calls, results in another order and in two messages": [
    user(text("go")),
    assistant(text("both"), call("a"), call("b", "read")),
    results(result("b")),
    results(result("a")),
  ],
  "outputs of every kind": [
    user(text("go")),
    assistant(call("a"), call("b"), call("c"), call("d"), call("e"), call("f")),
    results(
      result("a", { type: "json", value: { lines: ["one", "two"], count: 2 } }),
      result("b", { type: "error-json", value: { code: 7 } }),
      result("c", { type: "execution-denied", reason: "not today" }),
      result("d", { type: "execution-denied" }),
      result("e", {
        type: "content",
        value: [text("seen"), { type: "image-data", data: "iVBORw0KGgo=", mediaType: "image/png" }],
      }),
      result("f", "an older shape"),
    ),
  ],
  "a call that was never answered, one answered late, one twice": [
    user(text("go")),
    assistant(call("a"), call("b"), call("c")),
    results(result("a"), result("a")),
    user(text("so")),
    results(result("b")),
    assistant(text("done")),
    user(text("fine")),
  ],
  "what a provider executed itself": [
    user(text("search")),
    assistant(
      { ...call("srv", "web_search", { query: "x" }), providerExecuted: true },
      { ...result("srv", { type: "json", value: [] }), toolName: "web_search" },
      text("found"),
    ),
    user(text("more")),
  ],
  "parts of a later version": [
    user(text("go"), { type: "file", data: { type: "text", text: "note" }, mediaType: "text/plain" }),
    assistant(
      { type: "custom", kind: "acme.thing" },
      { type: "reasoning-file", data: { type: "data", data: "aaaa" }, mediaType: "image/png" },
      text("so"),
    ),
    user(text("on")),
  ],
  "steps of which only the first call is signed": [
    user(text("go")),
    assistant({ type: "reasoning", text: "Both." }, signed(call("a"), "s1"), call("b"), call("c")),
    results(result("a"), result("b"), result("c")),
    assistant(text("more"), signed(call("d"), "s2"), call("e")),
    results(result("d"), result("e")),
  ],
  approvals: [
    user(text("go")),
    assistant(call("a"), { type: "tool-approval-request", approvalId: "p1", toolCallId: "a" }),
    results({ type: "tool-approval-response", approvalId: "p1", approved: true }, result("a")),
  ],
  "compactions of providers": [
    user(text("go")),
    assistant({ ...text("So far: \u0007 all."), ...compacted }, text("on"), call("a")),
    results(result("a")),
    assistant({ type: "custom", kind: "openai.compaction", ...stored("cmp_1") }, text("and on")),
    user(text("more")),
  ],
  "nothing in it": [],
  "empty contents": [user(text("go")), assistant(), user(text(" ")), assistant(text("")), user(text("on"))],
};

describe("the AI SDK format", () => {
  it.each(Object.entries(SAMPLES))("keeps the laws on %s", (_, wire) => checkWireLaws(aiSdk, wire));

  it("joins a call with its outcome, whatever kind of output it has", () => {
    const [, message] = aiSdk.decode(SAMPLES["outputs of every kind"] ?? []);
    expect(message?.parts.map((part) => part.type === "tool" && part.outcome)).toEqual([
      { status: "done", output: '{"lines":["one","two"],"count":2}', attachments: [] },
      { status: "failed", error: '{"code":7}' },
      { status: "failed", error: "not today" },
      { status: "failed", error: "Tool execution denied." },
      { status: "done", output: "seen", attachments: [{ type: "file", mime: "image/png", sizeBytes: 9 }] },
      { status: "done", output: "an older shape", attachments: [] },
    ]);
  });

  it("names messages by place and content, so that more of them change no name", () => {
    const wire = CONVERSATION as AiSdkWire;
    const ids = aiSdk.decode(wire).map(({ id }) => id);
    const earlier = aiSdk.decode(wire.slice(0, 3)).map(({ id }) => id);
    expect(ids.slice(0, earlier.length)).toEqual(earlier);
    const changed = wire.with(0, user(text("something else")));
    expect(aiSdk.decode(changed)[0]?.id).not.toBe(ids[0]);
  });

  it("leaves everything untouched that an edit does not speak of", () => {
    const wire = deepFreeze(CONVERSATION as AiSdkWire);
    const clear: Edit = { type: "hide-part", what: "output", messageId: idAt(wire, 1), partIndex: 2, ...WHY };
    const edited = aiSdk.apply(wire, [clear], { at: 0 });
    expect(edited.map((message, index) => message === wire[index])).toEqual(
      wire.map((_, index) => index !== 2),
    );
    expect(edited[2]).toMatchObject({
      role: "tool",
      content: [
        { toolCallId: "call_a1", output: { type: "text", value: "[Old tool result content cleared]" } },
        { toolCallId: "call_a2", output: { type: "error-text", value: "ss: command not found" } },
      ],
    });
  });

  it("never rewrites reasoning that carries a provider's proof: it stays as it is, or goes whole", () => {
    const wire = CONVERSATION as AiSdkWire;
    const rewrite: Edit = {
      type: "replace-part",
      messageId: idAt(wire, 1),
      partIndex: 0,
      part: { type: "reasoning", text: "something shorter" },
      ...WHY,
    };
    const edited = aiSdk.apply(wire, [rewrite], { at: 0 });
    expect(JSON.stringify(edited)).not.toContain("something shorter");
    expect(JSON.stringify(edited[1])).not.toContain("signature");
    const proofs = (messages: AiSdkWire) =>
      [...JSON.stringify(messages).matchAll(/"signature":"([^"]*)"/g)].map((match) => match[1]);
    expect(proofs(aiSdk.apply(wire, omitForChild()(aiSdk.decode(wire)), { at: 0 }))).toContain(
      "c2lnbmVkMg==",
    );
  });

  it("sends an edited answer as it is now, and not by the name under which a provider stored it", () => {
    const wire = [
      user(text("go")),
      assistant({ type: "reasoning", text: "hm", ...stored("rs_1") }, text("long", stored("msg_1")), {
        ...call("a"),
        ...stored("fc_1"),
      }),
      results(result("a")),
    ];
    const shorten: Edit = {
      type: "replace-part",
      messageId: idAt(wire, 1),
      partIndex: 1,
      part: { type: "text", text: "short" },
      ...WHY,
    };
    expect(aiSdk.apply(wire, [shorten], { at: 0 })[1]).toEqual(
      assistant(
        { type: "text", text: "short", providerOptions: { openai: { phase: "final" } } },
        { ...call("a"), providerOptions: { openai: { phase: "final" } } },
      ),
    );
  });

  it("writes a block that Anthropic was asked for as its package gives it", () => {
    const block = { type: "compaction", content: "so far", signature: "s" } as const;
    const message: Message = {
      id: "b",
      role: "assistant",
      parts: [{ type: "text", text: "so far", providerBlock: "anthropic", block }],
    };
    const edit: Edit = { type: "insert-message", message, after: null, ...WHY };
    const wire = aiSdk.apply([user(text("go"))], [edit], { at: 0 });
    const providerOptions = { anthropic: { type: "compaction", signature: "s" } };
    expect(wire).toEqual([assistant({ ...text("so far"), providerOptions }), user(text("go"))]);
    expect(aiSdk.faults(wire)).toEqual([]);
  });

  it("writes an inserted summary as messages that the AI SDK takes", () => {
    const inserted: Message = {
      id: "s",
      role: "assistant",
      summary: true,
      parts: [{ type: "text", text: "so far" }],
    };
    const marker: Message = { id: "q", role: "user", parts: [{ type: "compaction", trigger: "auto" }] };
    const edits: Edit[] = [marker, inserted].map((message, index) => ({
      type: "insert-message",
      message,
      after: index === 0 ? null : "q",
      ...WHY,
    }));
    expect(aiSdk.apply([user(text("go"))], edits, { at: 0 })).toEqual([
      user(text("What did we do so far?")),
      assistant(text("so far")),
      user(text("go")),
    ]);
  });

  it.each([
    { name: "a call without its result", wire: [user(text("go")), assistant(call("a"))], rule: "ai-sdk-2" },
    {
      name: "a result behind somebody else's words",
      wire: [user(text("go")), assistant(call("a")), user(text("well?")), results(result("a"))],
      rule: "ai-sdk-2",
    },
    { name: "a role that nobody has", wire: [{ role: "critic", content: "hm" }], rule: "ai-sdk-1" },
    { name: "a call of the user", wire: [user(call("a"))], rule: "ai-sdk-1" },
    { name: "results as a text", wire: [{ role: "tool", content: "out" }], rule: "ai-sdk-1" },
    {
      name: "a result without a call",
      wire: [user(text("go")), results(result("x"))],
      rule: "result-without-call",
    },
  ])("finds $name", ({ wire, rule }) => {
    expect(aiSdk.faults(wire).map((fault) => fault.rule)).toContain(rule);
  });

  it("finds nothing in a good conversation, and nothing after a repair", () => {
    expect(aiSdk.faults(CONVERSATION as AiSdkWire)).toEqual([]);
    for (const wire of Object.values(SAMPLES)) {
      const repaired = aiSdk.apply(wire, repairRequest(aiSdk.decode(wire)), { at: 0 });
      expect(aiSdk.faults(repaired)).toEqual([]);
    }
  });

  it("takes what a provider executed itself for a part of the answer that is nobody else's", () => {
    const wire = SAMPLES["what a provider executed itself"] ?? [];
    expect(aiSdk.decode(wire)[1]?.parts.map(({ type }) => type)).toEqual(["opaque", "opaque", "text"]);
    expect(aiSdk.apply(wire, repairRequest(aiSdk.decode(wire)), { at: 0 })).toBe(wire);
  });

  it("knows the compaction of a provider, and gives it back as it came, or as plain words", () => {
    const wire = SAMPLES["compactions of providers"] ?? [];
    const decoded = aiSdk.decode(wire);
    expect(decoded.flatMap(({ parts }) => parts.map(({ providerBlock }) => providerBlock))).toEqual([
      undefined,
      "anthropic",
      undefined,
      undefined,
      "openai",
      undefined,
      undefined,
    ]);
    expect(aiSdk.apply(wire, repairRequest(decoded), { at: 0 })).toBe(wire);
    const where = { type: "replace-part", messageId: idAt(wire, 1), partIndex: 0, ...WHY } as const;
    const [, words] = aiSdk.apply(wire, [{ ...where, part: { type: "text", text: "So far: all." } }], {
      at: 0,
    });
    expect(words?.content).toMatchObject([{ type: "text", text: "So far: all." }, { text: "on" }, {}]);
    expect(JSON.stringify(words)).not.toContain("compaction");
  });

  it("names a message with one by the block alone: applications drop what is before it", () => {
    const wire = SAMPLES["compactions of providers"] ?? [];
    expect(idAt(wire.slice(1), 0)).toBe(idAt(wire, 1));
    expect(aiSdk.faults(wire.slice(1))).toEqual([]);
    expect(idAt(wire, 1)).not.toBe(idAt(wire, 2));
  });

  it("counts what a provider executed itself", () => {
    const found = { ...result("srv", { type: "json", value: "x".repeat(4_000) }), toolName: "web_search" };
    const search = { ...call("srv", "web_search", { query: "x" }), providerExecuted: true };
    const [, message] = aiSdk.decode([user(text("search")), assistant(search, found)]);
    expect(message && estimateMessageTokens(message)).toBeGreaterThan(1_000);
  });

  it("leaves a search out where the stored thought before it has to go", () => {
    const search = { ...call("ws_1", "web_search", {}), providerExecuted: true };
    const found = { ...result("ws_1", { type: "json", value: {} }), toolName: "web_search" };
    const thought = { type: "reasoning", text: "hm", ...stored("rs_1") };
    const wire = [
      user(text("go")),
      assistant(thought, search, found, text("so"), call("a")),
      results(result("a")),
    ];
    const hide: Edit = { type: "hide-part", what: "part", messageId: idAt(wire, 1), partIndex: 4, ...WHY };
    expect(aiSdk.apply(wire, [hide], { at: 0 })).toEqual([user(text("go")), assistant(text("so"))]);
  });

  it("keeps unsigned reasoning in the tool loop that goes on and in turns with calls, and drops it in other ones", () => {
    const thought = { type: "reasoning", text: "hm" };
    const wire = [
      user(text("go")),
      assistant(thought, call("a")),
      results(result("a")),
      assistant(thought, text("done")),
      user(text("on")),
      assistant(thought, call("b")),
      results(result("b")),
      assistant(thought, call("c")),
      results(result("c")),
    ];
    const hide = (index: number): Edit => ({
      type: "hide-part",
      what: "part",
      messageId: idAt(wire, index),
      partIndex: 0,
      ...WHY,
    });
    const edited = aiSdk.apply(wire, [hide(1), hide(2), hide(4)], { at: 0 });
    expect(edited[3]).toEqual(assistant(text("done")));
    expect(edited.toSpliced(3, 1)).toEqual(wire.toSpliced(3, 1));
  });

  describe("where Gemini signed the first call of a step for all of them", () => {
    const wire = SAMPLES["steps of which only the first call is signed"] ?? [];
    const [, step = { id: "" }] = aiSdk.decode(wire);
    const apply = (...edits: readonly Edit[]) => aiSdk.apply(deepFreeze(wire), edits, { at: 0 });
    const hide = (partIndex: number): Edit => ({
      type: "hide-part",
      what: "part",
      messageId: step.id,
      partIndex,
      ...WHY,
    });

    it("keeps that call while another one stays, with its signature and without its output", () => {
      const [, after, answers] = apply(hide(1), hide(3));
      expect(after?.content).toMatchObject([{ type: "reasoning" }, signed(call("a"), "s1"), call("b")]);
      expect(JSON.stringify(answers)).not.toContain("out of a");
      expect(aiSdk.faults(apply(hide(1)))).toEqual([]);
    });

    it("finds a step of the running turn that lost its signature, and no other", () => {
      const unsigned = wire.map((message, index) =>
        index === 1 ? assistant(call("a"), call("b"), call("c")) : message,
      );
      expect(aiSdk.faults(unsigned)).toMatchObject([{ rule: "gemini-43", messageId: "messages[1]" }]);
      expect(aiSdk.faults([...unsigned, assistant(text("done")), user(text("next"))])).toEqual([]);
      const never = unsigned.map((message, index) =>
        index === 3 ? assistant(call("d"), call("e")) : message,
      );
      expect(aiSdk.faults(never)).toEqual([]);
    });

    it("says that a signature is missing where the call is another one now", () => {
      const part = { ...(aiSdk.decode(wire)[1]?.parts[1] as ToolPart), input: { command: "pwd" } };
      const [, after] = apply({ type: "replace-part", messageId: step.id, partIndex: 1, part, ...WHY });
      expect(JSON.stringify(after)).not.toContain("s1");
      expect(
        aiSdk.faults(apply({ type: "replace-part", messageId: step.id, partIndex: 1, part, ...WHY })),
      ).toEqual([]);
    });
  });

  it("names the call that is to be approved as the call is named", () => {
    const asked = { type: "tool-approval-request", approvalId: "p1", toolCallId: "a" };
    const wire = [
      user(text("go")),
      assistant(call("a")),
      results(result("a")),
      assistant(call("a"), asked),
      results({ type: "tool-approval-response", approvalId: "p1", approved: true }),
    ];
    const [, , , again] = aiSdk.apply(wire, repairRequest(aiSdk.decode(wire)), { at: 0 });
    expect(again).toEqual(assistant({ ...call("a"), toolCallId: "a_2" }, { ...asked, toolCallId: "a_2" }));
  });

  it("leaves nothing of the approval of a call that an edit hid, and none between two answers", () => {
    const asked = { type: "tool-approval-request", approvalId: "p1", toolCallId: "a" };
    const given = { type: "tool-approval-response", approvalId: "p1", approved: true };
    const wire = [
      user(text("go")),
      assistant(text("so"), call("a"), asked),
      results(given),
      results(result("a")),
      assistant(text("done")),
    ];
    const hide: Edit = { type: "hide-part", what: "part", messageId: idAt(wire, 1), partIndex: 1, ...WHY };
    expect(aiSdk.apply(wire, [hide], { at: 0 })).toEqual([
      user(text("go")),
      assistant(text("so"), text("done")),
    ]);
    const only = [
      user(text("go")),
      assistant(call("a"), asked),
      results(given, result("a")),
      user(text("and?")),
    ];
    const hideOnly: Edit = { ...hide, messageId: idAt(only, 1), partIndex: 0 };
    expect(aiSdk.apply(only, [hideOnly], { at: 0 })).toEqual([user(text("go"), text("and?"))]);
  });

  it("makes one of two questions between which an edit left nothing", () => {
    const wire = [user(text("one")), assistant(text("so")), user(text("two"))];
    const hide: Edit = { type: "hide-message", messageId: idAt(wire, 1), ...WHY };
    expect(aiSdk.apply(wire, [hide], { at: 0 })).toEqual([user(text("one"), text("two"))]);
  });

  it("reads whatever it is given", () => {
    for (const wire of [undefined, null, 7, {}, [null], [{}], [{ role: 1, content: [null, 3] }]])
      expect(() => aiSdk.faults(wire as unknown as AiSdkWire)).not.toThrow();
  });
});

function idAt(wire: AiSdkWire, index: number): string {
  return aiSdk.decode(wire)[index]?.id ?? "";
}
