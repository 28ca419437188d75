import { describe, expect, it } from "vitest";
import { CONVERSATION, recordRequest } from "../../../../test/rig/ai-sdk-requests.ts";
import { checkWireLaws, repairRequest } from "../../../../test/rig/wire-laws.ts";
import type { Edit } from "../../../transcript/edit.ts";
import { CLEARED_PLACEHOLDER, type ToolPart } from "../../../transcript/part.ts";
import { gemini } from "./gemini.ts";
import type { GeminiContent, GeminiRequest, GeminiWire } from "./read-content.ts";

const user = (...parts: unknown[]): GeminiContent => ({ role: "user", parts });
const model = (...parts: unknown[]): GeminiContent => ({ role: "model", parts });
const text = (value: string, more: object = {}) => ({ text: value, ...more });
const call = (name: string, more: object = {}, id?: string) => ({
  functionCall: { ...(id !== undefined && { id }), name, args: { command: "ls" } },
  ...more,
});
const response = (name: string, output: unknown = `out of ${name}`, more: object = {}) => ({
  functionResponse: { name, response: { output }, ...more },
});
const signed = (seal: string) => ({ thoughtSignature: seal });
const picture = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } };

const SAMPLES: Readonly<Record<string, GeminiWire>> = {
  "plain turns and a system instruction": {
    systemInstruction: { parts: [text("be brief")] },
    contents: [user(text("hello"), picture), model(text("hi")), user(text("do it"))],
  },
  "parallel calls without ids": [
    user(text("go")),
    model(text("both"), call("bash", signed("s1")), call("bash"), call("read")),
    user(response("bash", "1"), response("read", "3"), response("bash", "2")),
    model(call("bash", signed("s2"))),
    user(response("bash")),
  ],
  "calls with ids, answered in another order": [
    user(text("go")),
    model(call("bash", {}, "a"), call("bash", {}, "b")),
    user(response("bash", "b", { id: "b" }), response("bash", "a", { id: "a" }), text("and quickly")),
  ],
  "thoughts and signatures": {
    contents: [
      user(text("go")),
      model(text("hm", { thought: true }), text("so", signed("s1")), call("bash", signed("s2"))),
      user(response("bash")),
      model(text("done"), text("", signed("s3"))),
      user(text("on")),
      model(call("bash", signed("s4")), call("read")),
      user(response("bash"), response("read")),
    ],
  },
  "a call that was never answered, one answered late, one twice": [
    user(text("go")),
    model(call("bash", {}, "a"), call("bash", {}, "b"), call("bash", {}, "c")),
    user(response("bash", "a", { id: "a" }), response("bash", "again", { id: "a" })),
    model(text("hm")),
    user(text("so"), response("bash", "b", { id: "b" })),
    model(text("done")),
    user(text("fine")),
  ],
  "responses without a call": [
    user(response("lost"), text("go")),
    model(text("ok")),
    user(response("gone")),
    user(text("so")),
  ],
  "responses of one turn in two contents": [
    user(text("go")),
    model(call("a"), call("b")),
    user(response("a")),
    user(response("b")),
  ],
  "two of the model in a row": [
    user(text("go")),
    model(text("hm")),
    model(call("bash")),
    user(response("bash")),
  ],
  "responses of many shapes": [
    user(text("go")),
    model(call("a"), call("b"), call("c"), call("d"), call("e")),
    user(
      { functionResponse: { name: "a", response: { error: "no such file" } } },
      { functionResponse: { name: "b", response: { name: "b", content: "text" } } },
      { functionResponse: { name: "c", response: { output: "o", files: ["x", "y"] } } },
      { functionResponse: { name: "d", response: { output: "see" }, parts: [picture] } },
      { functionResponse: { name: "e" } },
    ),
  ],
  "parts of a later day": [
    user(text("go"), { fileData: { fileUri: "gs://a", mimeType: "video/mp4" } }, { hologram: {} }),
    model({ executableCode: { code: "1" } }, { codeExecutionResult: { output: "1" } }, text("one")),
    user(text("on")),
  ],
  "nothing in it": [],
  "empty contents": [user(text("go")), model(), user(text(" ")), model(text("")), user(text("on"))],
  "ends with an answer, starts with one": [model(call("a")), user(response("a")), model(text("done"))],
  "hostile text": [
    user(text("a\u0000b")),
    model({ functionCall: { name: "bash", args: { command: "\ud800" } } }),
    user(response("bash", "\u001b[31mred\u001b[0m \udc00")),
  ],
};

describe("the laws of a format", () => {
  it.each(Object.entries(SAMPLES))("hold on %s", (_, wire) => checkWireLaws(gemini, wire));

  it("hold on a request of the AI SDK", async () => {
    const request = await recordRequest("gemini", { system: "Be brief.", messages: CONVERSATION });
    checkWireLaws(gemini, request as GeminiRequest);
  });
});

const WHY = { stage: "test", reason: "test" } as const;
const AT = { at: 1 };

describe("the Gemini format", () => {
  const parallel = SAMPLES["parallel calls without ids"] as readonly GeminiContent[];

  it("finds the response of a call without an id by its name and order", () => {
    expect(gemini.decode(parallel)[1]?.parts).toMatchObject([
      { type: "text" },
      { tool: "bash", outcome: { output: "1" } },
      { tool: "bash", outcome: { output: "2" } },
      { tool: "read", outcome: { output: "3" } },
    ]);
  });

  it("keeps the signed call of a step while others of it stay, without its output", () => {
    const step = gemini.decode(parallel)[1];
    const hide: Edit = { type: "hide-part", what: "part", messageId: step?.id ?? "", partIndex: 1, ...WHY };
    const edited = gemini.apply(parallel, [hide], AT);
    expect(edited[1]).toEqual(parallel[1]);
    const cleared = response("bash", CLEARED_PLACEHOLDER);
    expect(edited[2]).toEqual(user(cleared, response("read", "3"), response("bash", "2")));
    expect(edited.slice(3)).toEqual(parallel.slice(3));
  });

  it("keeps a signature on the exact part it came with, and on no other", () => {
    const step = gemini.decode(parallel)[1];
    const part = step?.parts[1] as ToolPart;
    const replace = (changed: ToolPart): Edit => ({
      type: "replace-part",
      messageId: step?.id ?? "",
      partIndex: 1,
      part: changed,
      ...WHY,
    });
    const shorter = replace({ ...part, outcome: { status: "done", output: "", attachments: [] } });
    expect(gemini.apply(parallel, [shorter], AT)[1]).toBe(parallel[1]);
    const other = gemini.apply(parallel, [replace({ ...part, input: { command: "[REDACTED]" } })], AT)[1];
    expect(other?.parts).toMatchObject([{}, signed("skip_thought_signature_validator"), {}, {}]);
  });

  it("keeps pictures beside the text of a response", () => {
    const wire = SAMPLES["responses of many shapes"] as readonly GeminiContent[];
    const step = gemini.decode(wire)[1];
    const part = step?.parts[3] as ToolPart;
    const files = part.outcome.status === "done" ? part.outcome.attachments : [];
    const edit: Edit = {
      type: "replace-part",
      messageId: step?.id ?? "",
      partIndex: 3,
      part: { ...part, outcome: { status: "done", output: "short", attachments: files } },
      ...WHY,
    };
    const parts = gemini.apply(wire, [edit], AT)[2]?.parts as readonly unknown[];
    expect(parts[3]).toEqual(response("d", "short", { parts: [picture] }));
  });

  it("puts the responses of one turn into one content", () => {
    const wire = SAMPLES["responses of one turn in two contents"] as readonly GeminiContent[];
    const repaired = gemini.apply(wire, repairRequest(gemini.decode(wire)), AT);
    expect(repaired).toEqual([wire[0], wire[1], user(response("a"), response("b"))]);
    expect(repairRequest(gemini.decode(repaired))).toEqual([]);
  });
});
