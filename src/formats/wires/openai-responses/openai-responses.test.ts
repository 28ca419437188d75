import { describe, expect, it } from "vitest";
import { CONVERSATION, recordRequest } from "../../../../test/rig/ai-sdk-requests.ts";
import { checkWireLaws, repairRequest } from "../../../../test/rig/wire-laws.ts";
import { omitForChild } from "../../../fork/context/omit-for-child.ts";
import type { Edit } from "../../../transcript/edit.ts";
import type { ToolPart } from "../../../transcript/part.ts";
import { openaiResponses } from "./openai-responses.ts";
import type { ResponsesItem, ResponsesRequest, ResponsesWire } from "./responses-run.ts";

type Item = ResponsesItem & Readonly<Record<string, unknown>>;

const user = (content: unknown): Item => ({ role: "user", content });
const says = (text: string, id?: string): Item => ({
  type: "message",
  role: "assistant",
  ...(id !== undefined && { id, status: "completed" }),
  content: [{ type: "output_text", text, annotations: [] }],
});
const call = (callId: string, more: object = {}): Item => ({
  type: "function_call",
  call_id: callId,
  name: "bash",
  arguments: '{"command": "ls"}',
  ...more,
});
const output = (callId: string, content: unknown = `out of ${callId}`): Item => ({
  type: "function_call_output",
  call_id: callId,
  output: content,
});
const reasoning = (id: string, more: object = {}): Item => ({
  type: "reasoning",
  id,
  summary: [{ type: "summary_text", text: "hm" }],
  encrypted_content: `sealed ${id}`,
  ...more,
});
const picture = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };

const SAMPLES: Readonly<Record<string, ResponsesWire>> = {
  "a bare text": { input: "go" },
  "plain turns and instructions": {
    instructions: "be brief",
    input: [user("hello"), says("hi", "msg_1"), user([{ type: "input_text", text: "see" }, picture])],
  },
  "parallel calls, results in another order": [
    user("go"),
    says("both"),
    call("a"),
    call("b", { name: "read" }),
    output("b"),
    output("a"),
    user("and quickly"),
  ],
  "sealed reasoning and what came of it": {
    store: false,
    input: [
      { type: "message", role: "developer", content: "be brief" },
      user("go"),
      reasoning("rs_1"),
      says("I look", "msg_1"),
      reasoning("rs_2"),
      call("a", { id: "fc_1" }),
      call("b", { id: "fc_2" }),
      output("a"),
      output("b", [{ type: "input_text", text: "see" }, picture]),
      reasoning("rs_3"),
      call("c", { id: "fc_3" }),
      output("c"),
    ],
  },
  "reasoning of which nothing came": [
    user("go"),
    reasoning("rs_1"),
    user("well?"),
    reasoning("rs_2"),
    says("ok"),
    user("on"),
  ],
  "reasoning that was not stored": {
    store: false,
    input: [user("go"), reasoning("rs_1", { encrypted_content: null }), says("ok", "msg_1"), user("on")],
  },
  "items that the server keeps": [
    user("go"),
    { type: "item_reference", id: "rs_1" } as Item,
    { type: "item_reference", id: "msg_1" } as Item,
    { type: "item_reference", id: "fc_1" } as Item,
    output("call_kept"),
    user("on"),
  ],
  "a call that was never answered, one answered late, one twice": [
    user("go"),
    call("a"),
    call("b"),
    call("c"),
    output("a"),
    output("a", "again"),
    says("hm"),
    user("so"),
    output("b"),
    says("done"),
    user("fine"),
  ],
  "results without a call": [output("lost"), user("go"), says("ok"), output("gone"), user("so")],
  "a call id that is there twice": [user("go"), call("a"), output("a", "1"), call("a"), output("a", "2")],
  "ids that are too long or there twice": [
    user("go"),
    call("x".repeat(90), { id: "fc_1" }),
    output("x".repeat(90)),
    says("ok", "fc_1"),
    user("on"),
  ],
  "tools of other kinds": [
    user("go"),
    { type: "custom_tool_call", call_id: "p", name: "patch", input: "*** begin" } as Item,
    { type: "local_shell_call", call_id: "s", action: { command: ["ls"] } } as Item,
    { type: "custom_tool_call_output", call_id: "p", output: "patched" } as Item,
    { type: "local_shell_call_output", call_id: "s", output: "a b" } as Item,
    reasoning("rs_1"),
    { type: "web_search_call", id: "ws_1", status: "completed" } as Item,
    says("found", "msg_1"),
    user("on"),
  ],
  "a custom call that was never answered": [
    user("go"),
    { type: "custom_tool_call", call_id: "p", name: "patch", input: "*** begin" } as Item,
    user("on"),
  ],
  "an earlier response goes on": { previous_response_id: "resp_1", input: [output("a"), user("on")] },
  "nothing in it": [],
  "empty contents": [user("go"), { role: "assistant", content: [] } as Item, user(" "), says(""), user("on")],
  "ends with an answer, starts with one": [call("a"), output("a"), says("done")],
  "hostile text": [
    user("a\u0000b"),
    call("a", { arguments: JSON.stringify({ command: "\u0007" }) }),
    output("a", "\u001b[31mred\u001b[0m \udc00"),
  ],
};

describe("the laws of a format", () => {
  it.each(Object.entries(SAMPLES))("hold on %s", (_, wire) => checkWireLaws(openaiResponses, wire));

  it.each([false, true])("hold on a request of the AI SDK, stored: %s", async (store) => {
    const request = await recordRequest("openai-responses", {
      system: "Be brief.",
      messages: CONVERSATION,
      providerOptions: { openai: { store } },
    });
    checkWireLaws(openaiResponses, request as ResponsesRequest);
  });
});

const WHY = { stage: "test", reason: "test" } as const;
const AT = { at: 1 };

describe("the Responses format", () => {
  const sealed = SAMPLES["sealed reasoning and what came of it"] as ResponsesRequest & {
    readonly input: readonly Item[];
  };

  it("makes what the model gave in one go one message", () => {
    const transcript = openaiResponses.decode(sealed);
    expect(transcript.map(({ role, parts }) => [role, ...parts.map(({ type }) => type)])).toEqual([
      ["system", "text"],
      ["user", "text"],
      ["assistant", "reasoning", "text", "reasoning", "tool", "tool"],
      ["assistant", "reasoning", "tool"],
    ]);
  });

  it("takes the ids off what loses its reasoning", () => {
    const edited = openaiResponses.apply(sealed, omitForChild()(openaiResponses.decode(sealed)), AT);
    const input = edited.input as readonly Item[];
    expect(input.some(({ type }) => type === "reasoning")).toBe(false);
    expect(input.filter(({ id }) => id !== undefined)).toEqual([]);
    expect(input.slice(-1)).toEqual([output("c")]);
  });

  it("lets reasoning go with all that came of it, and stay with what is left", () => {
    const turn = openaiResponses.decode(sealed)[2];
    const hide = (partIndex: number): Edit => ({
      type: "hide-part",
      what: "part",
      messageId: turn?.id ?? "",
      partIndex,
      ...WHY,
    });
    const ids = (edits: readonly Edit[]) =>
      (openaiResponses.apply(sealed, edits, AT).input as readonly Item[]).map(
        ({ id, call_id, role }) => id ?? call_id ?? role,
      );
    expect(ids([hide(1)])).toEqual([
      "developer",
      "user",
      "rs_2",
      "fc_1",
      "fc_2",
      "a",
      "b",
      "rs_3",
      "fc_3",
      "c",
    ]);
    expect(ids([hide(3)])).toEqual([
      "developer",
      "user",
      "rs_1",
      "msg_1",
      "rs_2",
      "fc_2",
      "b",
      "rs_3",
      "fc_3",
      "c",
    ]);
    expect(ids([hide(3), hide(4)])).toEqual(["developer", "user", "rs_1", "msg_1", "rs_3", "fc_3", "c"]);
  });

  it("leaves every other item by reference", () => {
    const turn = openaiResponses.decode(sealed)[2];
    const part = turn?.parts[4] as ToolPart;
    const files = part.outcome.status === "done" ? part.outcome.attachments : [];
    const edit: Edit = {
      type: "replace-part",
      messageId: turn?.id ?? "",
      partIndex: 4,
      part: { ...part, outcome: { status: "done", output: "short", attachments: files } },
      ...WHY,
    };
    const input = openaiResponses.apply(sealed, [edit], AT).input as readonly Item[];
    expect(input.map((item, index) => item === sealed.input[index])).toEqual(
      sealed.input.map((_, index) => index !== 8),
    );
    expect(input[8]).toEqual(output("b", [{ type: "input_text", text: "short" }, picture]));
  });

  it("answers a call with an output of its own kind", () => {
    const wire = SAMPLES["a custom call that was never answered"] as readonly Item[];
    const repaired = openaiResponses.apply(wire, repairRequest(openaiResponses.decode(wire)), AT);
    expect(repaired[2]).toMatchObject({ type: "custom_tool_call_output", call_id: "p" });
  });

  it("keeps a call that the server keeps together with its output", () => {
    const wire = SAMPLES["items that the server keeps"] as readonly Item[];
    const turn = openaiResponses.decode(wire)[1];
    expect(turn?.parts.map(({ type }) => type)).toEqual(["reasoning", "opaque", "tool"]);
    const hide: Edit = { type: "hide-message", messageId: turn?.id ?? "", ...WHY };
    expect(openaiResponses.apply(wire, [hide], AT)).toEqual([wire[0], wire[5]]);
  });
});
