import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../../test/rig/notation.ts";
import { conversation, startSession, step, user } from "../../../test/rig/session.ts";
import { applyEdits, type Edit } from "../../transcript/edit.ts";
import { type Message, messageText, type Transcript } from "../../transcript/message.ts";
import { CLEARED_PLACEHOLDER, COMPACTION_QUESTION, type Part } from "../../transcript/part.ts";
import { aiSdk } from "../wires/ai-sdk/ai-sdk.ts";
import { anthropic } from "../wires/anthropic/anthropic.ts";
import type { AnthropicMessage } from "../wires/anthropic/read-message.ts";
import { gemini } from "../wires/gemini/gemini.ts";
import { openaiChat } from "../wires/openai-chat/openai-chat.ts";
import { openaiResponses } from "../wires/openai-responses/openai-responses.ts";

const FORMATS = [anthropic, openaiChat, openaiResponses, gemini, aiSdk].map((format) => ({
  name: format.name,
  encode: (messages: Transcript): unknown => format.encode(messages),
  encodeAndDecode: (messages: Transcript): Transcript => format.decode(format.encode(messages) as never),
}));
const WHY = { stage: "test", reason: "test" };
const copyOf = (messages: Transcript): Transcript => JSON.parse(JSON.stringify(messages)) as Transcript;
const answer = (...parts: Part[]): Message => ({ id: "a", role: "assistant", parts });
const IMAGE = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };

describe.each(FORMATS)("a transcript sent to $name", ({ encode, encodeAndDecode }) => {
  it("asks for the summary of a compaction in words", async () => {
    const { session } = startSession();
    session.observe(conversation(40));
    await session.prepare();
    const [question, summary] = encodeAndDecode(session.messages());
    expect(session.messages()[0]?.parts).toMatchObject([{ type: "compaction" }]);
    expect(question).toMatchObject({ role: "user", parts: [{ text: COMPACTION_QUESTION }] });
    expect(summary?.role).toBe("assistant");
    expect(messageText(summary as Message)).toContain("Ship the parser.");
  });

  it("has a placeholder for an output that was cleared", () => {
    const messages = [user("u", "go"), step("a", "long", { clearedAt: 1 })];
    expect(encodeAndDecode(messages)[1]?.parts).toMatchObject([{ outcome: { output: CLEARED_PLACEHOLDER } }]);
  });

  it("gives calls ids of their own, however often a server repeats one", () => {
    const ids = ["call_0", "call_0", "", "", "functions.bash:0", "x".repeat(90)];
    const messages = [
      user("u", "go"),
      ...ids.map((callId, index) => step(`a${index}`, `out ${index}`, { callId })),
    ];
    const calls = encodeAndDecode(messages).flatMap(({ parts }) =>
      parts.filter((part) => part.type === "tool"),
    );
    expect(calls.map((part) => part.outcome)).toMatchObject(
      ids.map((_, index) => ({ output: `out ${index}` })),
    );
    expect(new Set(calls.map(({ callId }) => callId)).size).toBe(ids.length);
  });

  it("has what follows a call behind its result", () => {
    const { parts } = step("a", "two files");
    const said = encodeAndDecode([
      user("u", "go"),
      answer(...parts, { type: "text", text: "So." }),
      user("v", "on"),
    ]);
    expect(said.map(({ role, parts: [part] }) => `${role} ${part?.type}`)).toEqual([
      "user text",
      "assistant tool",
      "assistant text",
      "user text",
    ]);
  });

  it("names a file that it does not have, and sends no thought of somebody else", () => {
    const file = { type: "file", mime: "image/png", filename: "shot.png" } as const;
    const shot = step("b", "done", { outcome: { status: "done", output: "seen", attachments: [file] } });
    const messages: Transcript = [
      { id: "u", role: "user", parts: [file] },
      { ...shot, parts: [{ type: "reasoning", text: "a secret thought" }, ...shot.parts] },
    ];
    const wire = JSON.stringify(encode(messages));
    expect(wire.split("[File: image/png shot.png]")).toHaveLength(3);
    expect(wire).not.toContain("a secret thought");
  });

  it("takes inputs of any kind", () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    const inputs = [undefined, "text", [1], 7n, circle];
    const messages = inputs.map((input, index) => step(`a${index}`, "out", { input }));
    const calls = encodeAndDecode(messages).flatMap(({ parts }) =>
      parts.filter((part) => part.type === "tool"),
    );
    expect(calls.map((part) => part.input)).toEqual([{}, { input: "text" }, { input: [1] }, {}, {}]);
  });

  it("asks to go on where nothing is asked, and changes nothing that it was given", () => {
    const messages = deepFreeze(transcript("u:10 a:10"));
    expect(messageText(encodeAndDecode(messages).at(-1) as Message)).toBe("Continue.");
    expect(messageText(encodeAndDecode([])[0] as Message)).toBe("Continue.");
  });
});

describe("what the same format has read", () => {
  const messages: readonly AnthropicMessage[] = deepFreeze([
    { role: "user", content: [IMAGE, { type: "text", text: "what is this?" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "c2ln" },
        { type: "tool_use", id: "t1", name: "look", input: { at: 1 } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "a dot" }, IMAGE] },
      ],
    },
  ]);

  it("is sent as it came, images and signatures too", () => {
    expect(anthropic.encode(anthropic.decode(messages))).toEqual({ messages });
  });

  it("is sent by name when it was copied, or goes to somebody else", () => {
    for (const wire of [
      anthropic.encode(copyOf(anthropic.decode(messages))),
      openaiChat.encode(anthropic.decode(messages)),
    ]) {
      expect(JSON.stringify(wire)).toContain("[File: image/png]");
      expect(JSON.stringify(wire)).not.toMatch(/iVBOR|c2ln/);
    }
  });

  it("keeps the image beside an output that was cut", () => {
    const decoded = anthropic.decode(messages);
    const old = decoded[1]?.parts[1];
    if (old?.type !== "tool" || old.outcome.status !== "done") throw new Error("no result");
    const part = { ...old, outcome: { ...old.outcome, output: "a" } };
    const cut: Edit = { type: "replace-part", messageId: decoded[1]?.id ?? "", partIndex: 1, part, ...WHY };
    const wire = anthropic.encode(applyEdits(decoded, [cut], { at: 0 }));
    expect(wire.messages[2]?.content).toMatchObject([{ content: [{ type: "text", text: "a" }, IMAGE] }]);
  });

  it("leaves out a thought of which nothing is left", () => {
    const thinking = { type: "thinking", thinking: "hm", signature: "c2ln" };
    const decoded = anthropic.decode([
      { role: "user", content: "go" },
      { role: "assistant", content: [thinking, { type: "text", text: "done" }] },
      { role: "user", content: "on" },
    ]);
    const place = { messageId: decoded[1]?.id ?? "", partIndex: 1 };
    const hide: Edit = { type: "hide-part", what: "part", ...place, ...WHY };
    const { messages: left } = anthropic.encode(applyEdits(decoded, [hide], { at: 0 }));
    expect(left.map(({ role }) => role)).toEqual(["user"]);
  });

  it("keeps the image beside an output whose call needs another id", () => {
    const output = {
      type: "content",
      value: [{ type: "image-data", data: "iVBORw0KGgo=", mediaType: "image/png" }],
    };
    const head = { toolCallId: "functions.look:0", toolName: "look" };
    const decoded = aiSdk.decode([
      { role: "user", content: "go" },
      { role: "assistant", content: [{ type: "tool-call", ...head, input: {} }] },
      { role: "tool", content: [{ type: "tool-result", ...head, output }] },
    ]);
    const [, call, result] = aiSdk.encode(decoded);
    const toolCallId = expect.stringMatching(/^[a-zA-Z0-9_-]+$/);
    expect(call?.content).toMatchObject([{ toolCallId }]);
    expect(result?.content).toMatchObject([{ toolCallId, output }]);
    expect(aiSdk.faults([...aiSdk.encode(decoded)])).toEqual([]);
  });

  it("keeps the signature of a Gemini call whose output was cleared", () => {
    const call = { functionCall: { name: "look", args: { at: 1 } }, thoughtSignature: "c2ln" };
    const decoded = gemini.decode([
      { role: "user", parts: [{ text: "go" }] },
      { role: "model", parts: [call] },
      { role: "user", parts: [{ functionResponse: { name: "look", response: { output: "long" } } }] },
    ]);
    const clear: Edit = {
      type: "hide-part",
      what: "output",
      messageId: decoded[1]?.id ?? "",
      partIndex: 0,
      ...WHY,
    };
    const { contents } = gemini.encode(applyEdits(decoded, [clear], { at: 1 }));
    expect(contents[1]?.parts).toEqual([call]);
    expect(JSON.stringify(contents[2])).toContain(CLEARED_PLACEHOLDER);
  });

  it("loses the references of OpenAI when only a part of a turn is sent", () => {
    const items = [
      { role: "user", content: "go" },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "c2VhbGVk" },
      {
        type: "message",
        role: "assistant",
        id: "msg_1",
        content: [{ type: "output_text", text: "I look." }],
      },
      { type: "function_call", id: "fc_1", call_id: "c1", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "a dot" },
    ];
    const decoded = openaiResponses.decode(items);
    expect(JSON.stringify(openaiResponses.encode(decoded).input)).toContain("rs_1");
    const hide: Edit = {
      type: "hide-part",
      what: "part",
      messageId: decoded[1]?.id ?? "",
      partIndex: 1,
      ...WHY,
    };
    const { input } = openaiResponses.encode(applyEdits(decoded, [hide], { at: 0 }));
    expect(JSON.stringify(input)).not.toMatch(/rs_1|msg_1|fc_1/);
    expect(input).toHaveLength(3);
  });
});

it("joins the texts of an answer where they would run into each other, and is a plain string for vendors of chat", () => {
  const said = (text: string): Part => ({ type: "text", text });
  const messages = [
    user("u", "go"),
    answer(said("One."), said("Two.")),
    { ...answer(said("Three.")), id: "b" },
  ];
  expect(aiSdk.encode(messages)[1]?.content).toEqual([{ type: "text", text: "One.\n\nTwo.\n\nThree." }]);
  expect(openaiChat.encode(messages).messages[1]?.content).toBe("One.\n\nTwo.\n\nThree.");
});

describe("the rest of a request", () => {
  const messages: Transcript = [
    { id: "s", role: "system", parts: [{ type: "text", text: "be brief" }] },
    user("u", "go"),
    { id: "s2", role: "developer", parts: [{ type: "text", text: "in English" }] },
  ];

  it("is kept, with the system texts of the transcript behind its own", () => {
    const rest = { model: "m", max_tokens: 9, system: "you help" };
    expect(anthropic.encode(messages, rest)).toEqual({
      model: "m",
      max_tokens: 9,
      system: [
        { type: "text", text: "you help" },
        { type: "text", text: "be brief" },
        { type: "text", text: "in English" },
      ],
      messages: [{ role: "user", content: [{ type: "text", text: "go" }] }],
    });
    expect(openaiResponses.encode(messages, { instructions: "you help" })).toMatchObject({
      instructions: "you help",
      input: [{ role: "system" }, { role: "user" }, { role: "system" }],
    });
    expect(gemini.encode(messages).systemInstruction).toEqual({
      parts: [{ text: "be brief" }, { text: "in English" }],
    });
    expect(aiSdk.encode(messages).map(({ role }) => role)).toEqual(["system", "system", "user"]);
  });

  it("decides what a model needs: a signature for Gemini 3, reasoning_content for DeepSeek", () => {
    const looped = [user("u", "go"), step("a", "out")];
    expect(JSON.stringify(gemini.encode(looped, { model: "gemini-3-pro" }))).toContain("skip_thought");
    expect(JSON.stringify(gemini.encode(looped))).not.toContain("skip_thought");
    expect(JSON.stringify(openaiChat.encode(looped, { model: "deepseek-reasoner" }))).toContain(
      "reasoning_content",
    );
  });
});
