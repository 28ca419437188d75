import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CONVERSATION, recordRequest } from "../../../../test/rig/ai-sdk-requests.ts";
import { checkWireLaws, repairRequest } from "../../../../test/rig/wire-laws.ts";
import { omitForChild } from "../../../fork/context/omit-for-child.ts";
import { asObject } from "../../../text/unknown-value.ts";
import type { Edit } from "../../../transcript/edit.ts";
import type { ToolPart } from "../../../transcript/part.ts";
import { openaiChat } from "./openai-chat.ts";
import type { ChatMessage, ChatRequest, ChatWire } from "./read-message.ts";

const system = (content: unknown): ChatMessage => ({ role: "system", content });
const user = (content: unknown): ChatMessage => ({ role: "user", content });
const assistant = (content: unknown, more: object = {}): ChatMessage => ({
  role: "assistant",
  content,
  ...more,
});
const call = (id: string, name = "bash", input = '{"command": "ls"}') => ({
  id,
  type: "function",
  function: { name, arguments: input },
});
const asks = (...calls: unknown[]): ChatMessage => assistant(null, { tool_calls: calls });
const tool = (id: string, content: unknown = `out of ${id}`): ChatMessage =>
  ({ role: "tool", tool_call_id: id, content }) as ChatMessage;

const SAMPLES: Readonly<Record<string, ChatWire>> = {
  "plain turns": [system("be brief"), user("hello"), assistant("hi"), user("do it")],
  "parallel calls, results in another order": [
    user("go"),
    assistant("both", { tool_calls: [call("a"), call("b", "read")] }),
    tool("b"),
    tool("a"),
    user("and quickly"),
  ],
  "reasoning beside the content": [
    user("go"),
    assistant("", { reasoning_content: "hm", tool_calls: [call("a")] }),
    tool("a"),
    assistant(null, { reasoning_content: "so", tool_calls: [call("b")] }),
    tool("b"),
  ],
  "reasoning with details": [
    user("go"),
    assistant("so", {
      reasoning: "hm",
      reasoning_details: [{ type: "reasoning.encrypted", data: "c2VhbGVk" }],
    }),
    user("on"),
  ],
  "a call that was never answered, one answered late, one twice": [
    user("go"),
    asks(call("a"), call("b"), call("c")),
    tool("a"),
    tool("a", "again"),
    assistant("hm"),
    user("so"),
    tool("b"),
    assistant("done"),
    user("fine"),
  ],
  "results without a call": [tool("lost"), user("go"), assistant("ok"), tool("gone"), user("so")],
  "a call id that is there twice": [
    user("go"),
    asks(call("a")),
    tool("a", "1"),
    asks(call("a")),
    tool("a", "2"),
  ],
  "arguments that are no JSON": [
    user("go"),
    asks(call("a", "bash", '{"comm'), call("b", "ls", "")),
    tool("a"),
    tool("b"),
  ],
  "custom tools": [
    user("go"),
    asks({ id: "a", type: "custom", custom: { name: "patch", input: "*** begin" } }),
    tool("a", [{ type: "text", text: "patched" }]),
  ],
  "pictures, refusals, audio": [
    user([
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
      { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
      { type: "hologram", of: "you" },
    ]),
    assistant(null, { refusal: "no" }),
    user("please"),
    assistant(null, { audio: { id: "audio_1" } }),
    user("thanks"),
  ],
  "nothing in it": [],
  "empty contents": [user("go"), assistant(""), user(" "), assistant(null), user("on")],
  "ends with an answer, starts with one": [asks(call("a")), tool("a"), assistant("done")],
  "hostile text": [
    user("a\u0000b"),
    asks(call("a", "bash", JSON.stringify({ command: "\u0007" }))),
    tool("a", "\u001b[31mred\u001b[0m \udc00"),
  ],
};

describe("the laws of a format", () => {
  it.each(Object.entries(SAMPLES))("hold on %s", (_, wire) => checkWireLaws(openaiChat, wire));

  const folder = new URL("../../../../test/recordings/opencode/", import.meta.url);
  it.each(readdirSync(folder).filter((name) => name.endsWith(".json")))(
    "hold on the longest request that OpenCode sent: %s",
    (name) => {
      const { requests = [] } = JSON.parse(readFileSync(new URL(name, folder), "utf8")) as {
        readonly requests?: readonly ChatRequest[];
      };
      const longest = requests.toSorted((one, other) => other.messages.length - one.messages.length)[0];
      if (longest !== undefined) checkWireLaws(openaiChat, longest);
    },
  );

  it("hold on a request of the AI SDK", async () => {
    const request = await recordRequest("openai-chat", { system: "Be brief.", messages: CONVERSATION });
    checkWireLaws(openaiChat, request as ChatRequest);
  });
});

const WHY = { stage: "test", reason: "test" } as const;
const AT = { at: 1 };

describe("the chat format", () => {
  it("leaves arguments as they were written when only the result changes", () => {
    const wire = [user("go"), asks(call("a")), tool("a"), asks(call("b")), tool("b")];
    const [, first] = openaiChat.decode(wire);
    const part = first?.parts[0] as ToolPart;
    const short: ToolPart = { ...part, outcome: { status: "done", output: "short", attachments: [] } };
    const edit: Edit = {
      type: "replace-part",
      messageId: first?.id ?? "",
      partIndex: 0,
      part: short,
      ...WHY,
    };
    const edited = openaiChat.apply(wire, [edit], AT);
    expect(edited[1]).toBe(wire[1]);
    expect(edited[2]).toEqual(tool("a", "short"));
    expect(edited.slice(3)).toEqual(wire.slice(3));
  });

  it("hides one of two parallel calls with its result", () => {
    const wire = [user("go"), asks(call("a"), call("b")), tool("a"), tool("b")];
    const [, asked] = openaiChat.decode(wire);
    const edit: Edit = { type: "hide-part", what: "part", messageId: asked?.id ?? "", partIndex: 0, ...WHY };
    expect(openaiChat.apply(wire, [edit], AT)).toEqual([wire[0], asks(call("b")), wire[3]]);
  });

  it("empties the field of hidden reasoning, and takes signed details away whole", () => {
    const loop = SAMPLES["reasoning beside the content"] ?? [];
    const emptied = openaiChat.apply(
      loop,
      omitForChild()(openaiChat.decode(loop)),
      AT,
    ) as readonly ChatMessage[];
    expect(emptied[1]).toEqual(assistant("", { reasoning_content: "", tool_calls: [call("a")] }));
    const signed = SAMPLES["reasoning with details"] ?? [];
    const plain = openaiChat.apply(
      signed,
      omitForChild()(openaiChat.decode(signed)),
      AT,
    ) as readonly ChatMessage[];
    expect(plain[1]).toEqual(assistant("so"));
  });

  it("sends a model that wants the reasoning of all turns with calls the field of each, also of turns long over", () => {
    const loop = SAMPLES["reasoning beside the content"] as readonly ChatMessage[];
    const messages = [...loop, user("and now?")];
    const hidden = omitForChild()(openaiChat.decode(messages));
    for (const [model, fields] of [
      ["deepseek-v4-pro", 2],
      ["kimi-k3", 2],
      ["gpt-4o", 0],
    ] as const) {
      const wire = { model, messages };
      const sent = openaiChat.apply(wire, hidden, AT).messages;
      expect([model, sent.filter((message) => asObject(message).reasoning_content === "").length]).toEqual([
        model,
        fields,
      ]);
      const faults = openaiChat.faults({ ...wire, messages: withoutReasoning(sent) });
      expect(faults.filter(({ rule }) => rule === "openai-chat-31")).toHaveLength(fields);
    }
  });

  it("gives a turn that an edit puts into a loop the field that its vendor wants, and makes two answers in a row one", () => {
    const wire = SAMPLES["reasoning beside the content"] as readonly ChatMessage[];
    const [, second = "", third = ""] = openaiChat.decode(wire).map(({ id }) => id);
    const message = { id: "s", role: "assistant", parts: [{ type: "text" as const, text: "sum" }] };
    const insertAfter = (after: string): readonly ChatMessage[] =>
      openaiChat.apply(wire, [{ type: "insert-message", message, after, ...WHY }], AT);
    expect(insertAfter(third).at(-1)).toEqual(assistant("sum", { reasoning_content: "" }));
    const joined = insertAfter(second);
    expect(joined.map(({ role }) => role)).toEqual(wire.map(({ role }) => role));
    expect(joined[3]).toEqual({ ...wire[3], content: "sum" });
  });

  it("joins function calls of the older kind by their name", () => {
    const wire = [
      user("go"),
      assistant(null, { function_call: { name: "bash", arguments: "{}" } }),
      { role: "function", name: "bash", content: "out" },
      user("on"),
    ];
    const transcript = openaiChat.decode(wire);
    expect(transcript[1]?.parts).toMatchObject([{ tool: "bash", outcome: { output: "out" } }]);
    const hide: Edit = { type: "hide-message", messageId: transcript[1]?.id ?? "", ...WHY };
    expect(openaiChat.apply(wire, [hide], AT)).toEqual([wire[0], wire[3]]);
  });

  it("puts a late result right behind its call", () => {
    const wire = [user("go"), asks(call("a")), user("and"), tool("a"), assistant("ok"), user("so")];
    const repaired = openaiChat.apply(wire, repairRequest(openaiChat.decode(wire)), AT);
    expect(repaired).toEqual([wire[0], wire[1], wire[3], wire[2], wire[4], wire[5]]);
    expect(repairRequest(openaiChat.decode(repaired))).toEqual([]);
  });
});

function withoutReasoning(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.map((message) => {
    const { reasoning_content: _, ...rest } = asObject(message);
    return rest as unknown as ChatMessage;
  });
}
