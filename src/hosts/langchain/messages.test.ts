import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { aiSdk } from "../../formats/wires/ai-sdk/ai-sdk.ts";
import type { Edit } from "../../transcript/edit.ts";
import { fromWire, toWire, trimResult } from "./messages.ts";

const call = (id: string) => ({ type: "tool_call", id, name: "read", args: { path: "a" } }) as const;
const thinking = { type: "thinking", thinking: "Hm.", signature: "s" };
const search = { type: "server_tool_use", id: "srv", name: "web_search", input: { query: "q" } };
const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

const anthropic = new AIMessage({
  id: "ai-1",
  content: [
    thinking,
    search,
    { type: "text", text: "I read.", cache_control: { type: "ephemeral" } },
    { type: "tool_use", id: "c1", name: "read", input: { path: "a" } },
    { type: "tool_use", id: "c2", name: "read", input: { path: "a" } },
  ],
  tool_calls: [call("c1"), call("c2")],
});
const conversation = [
  new SystemMessage("Be brief."),
  new HumanMessage({ content: [{ type: "text", text: "Look." }, picture], id: "h-1" }),
  anthropic,
  new ToolMessage({ content: "one", tool_call_id: "c1", name: "read", artifact: { lines: 1 } }),
  new ToolMessage({ content: "two", tool_call_id: "c2", name: "read", status: "error" }),
  new AIMessage({ content: "Done." }),
];

/** The conversation with one edit, as a session would make it. */
const edited = (make: (ids: readonly string[]) => Edit) => {
  const wire = toWire(conversation);
  const ids = aiSdk.decode(wire).map(({ id }) => id);
  return fromWire(aiSdk.apply(wire, [make(ids)], { at: 0 }));
};

describe("LangChain's messages in the form of the AI SDK", () => {
  it("come back as the very same objects where nothing was edited", () => {
    const back = fromWire(toWire(conversation));
    expect(back).toHaveLength(conversation.length);
    for (const [index, message] of back.entries()) expect(message).toBe(conversation[index]);
    expect(aiSdk.faults(toWire(conversation))).toEqual([]);
  });

  it("say what they are to a transcript", () => {
    const [, user, answer] = aiSdk.decode(toWire(conversation));
    expect(user?.parts).toMatchObject([{ text: "Look." }, { type: "file", mime: "image/png", sizeBytes: 3 }]);
    expect(answer?.parts.map(({ type }) => type)).toEqual(["reasoning", "opaque", "text", "tool", "tool"]);
    expect(answer?.parts[0]).toEqual({ type: "reasoning", text: "Hm.", sealedChars: 1 });
    expect(answer?.parts.at(-1)).toMatchObject({ outcome: { status: "failed", error: "two" } });
  });

  it("keep everything of a result but what was edited, and its neighbour as it is", () => {
    const back = edited((ids) => {
      const part = aiSdk.decode(toWire(conversation))[2]?.parts[3];
      if (part?.type !== "tool") throw new Error("no call");
      const outcome = { status: "done", output: "[cleared]", attachments: [] } as const;
      return {
        type: "replace-part",
        messageId: ids[2] ?? "",
        partIndex: 3,
        part: { ...part, outcome },
        stage: "prune",
        reason: "test",
      };
    });
    const results = back.filter((message) => ToolMessage.isInstance(message));
    expect(results[0]).toMatchObject({
      text: "[cleared]",
      tool_call_id: "c1",
      name: "read",
      artifact: { lines: 1 },
    });
    expect(results[1]).toBe(conversation[4]);
  });

  it("write an answer anew with its blocks, and calls where their provider looks for them", () => {
    const back = edited((ids) => ({
      type: "replace-part",
      messageId: ids[2] ?? "",
      partIndex: 2,
      part: { type: "text", text: "I …" },
      stage: "test",
      reason: "test",
    }));
    expect(back[2]).toMatchObject({
      id: "ai-1",
      content: [
        thinking,
        search,
        { type: "text", text: "I …", cache_control: { type: "ephemeral" } },
        { type: "tool_use", id: "c1", name: "read", input: { path: "a" } },
        { type: "tool_use", id: "c2", name: "read", input: { path: "a" } },
      ],
      tool_calls: [{ id: "c1" }, { id: "c2" }],
    });
  });

  it("leave out what OpenAI has stored under ids once an answer is another", () => {
    const stored = new AIMessage({
      content: [{ type: "text", text: "Hello there.", id: "msg_1" }],
      tool_calls: [call("c1")],
      additional_kwargs: {
        reasoning: { id: "rs_1" },
        __openai_function_call_ids__: { c1: "fc_1" },
        note: "kept",
      },
      response_metadata: { output: [{ id: "rs_1" }], model_provider: "openai" },
    });
    const wire = toWire([
      new HumanMessage("Hi."),
      stored,
      new ToolMessage({ content: "one", tool_call_id: "c1" }),
    ]);
    const messageId = aiSdk.decode(wire)[1]?.id ?? "";
    const edit: Edit = {
      type: "replace-part",
      messageId,
      partIndex: 0,
      part: { type: "text", text: "Hello." },
      stage: "test",
      reason: "test",
    };
    const [, answer] = fromWire(aiSdk.apply(wire, [edit], { at: 0 }));
    expect(answer).toMatchObject({ content: "Hello.", tool_calls: [{ id: "c1" }] });
    expect(answer?.additional_kwargs).toEqual({ note: "kept" });
    expect(answer?.response_metadata).toEqual({ model_provider: "openai" });
  });

  it("show a session the whole of an output that was cut as it came in", () => {
    const cut = trimResult(new ToolMessage({ content: "a long text", tool_call_id: "c1" }), "a …", "beside");
    const [, , , whole] = fromWire(toWire([...conversation.slice(0, 3), cut]));
    expect([cut.text, whole?.text, whole?.additional_kwargs]).toEqual(["a …", "a long text", {}]);
  });
});
