import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ModelServer, startModelServer } from "./model-server.ts";
import { call, callAll, refuseLength, refuseLengthInStream, say } from "./step.ts";

let model: ModelServer;

beforeEach(async () => {
  model = await startModelServer();
});

afterEach(async () => {
  await model.stop();
});

describe("the scripted model server", () => {
  it("listens on the loopback interface only", () => {
    expect(model.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  });

  it("plays the steps in order and then says that nothing is scripted", async () => {
    model.script([say("first"), say("second")]);
    const answers = [await ask("a"), await ask("b"), await ask("c")].map(textIn);
    expect(answers).toEqual(["first", "second", "(nothing scripted)"]);
  });

  it("keeps a step for the session, lane, family and text it waits for", async () => {
    model.script([
      say("for s2", { sessionId: "s2" }),
      say("a summary", { lane: "summary" }),
      say("for a child", { family: "child" }),
      say("about plums", { contains: "plums" }),
      say("for anyone", { lane: "any", times: "always" }),
    ]);
    expect(textIn(await ask("hello", { "x-session-id": "s1" }))).toBe("for anyone");
    expect(textIn(await ask("hello", { "x-session-id": "s2" }))).toBe("for s2");
    expect(textIn(await ask("You are a context summarization agent"))).toBe("a summary");
    expect(textIn(await ask("hello", { "x-parent-session-id": "s1" }))).toBe("for a child");
    expect(textIn(await ask("any plums left?"))).toBe("about plums");
    expect(model.unusedSteps()).toHaveLength(1);
  });

  it("records every request without its key", async () => {
    await ask("hello", { "x-session-id": "s1", authorization: "Bearer secret" });
    expect(model.requests).toMatchObject([
      { wire: "openai-chat", lane: "main", model: "m", sessionId: "s1", body: { stream: true } },
    ]);
    expect(JSON.stringify(model.requests)).not.toContain("secret");
  });

  it("streams reasoning, text, calls and usage over the OpenAI wire", async () => {
    model.script([
      callAll(
        [
          { tool: "read", input: { path: "a" } },
          { tool: "bash", input: { command: "ls" }, id: "call_x" },
        ],
        { reasoning: "hm", text: "I look.", usage: { inputTokens: 90, outputTokens: 7, cachedTokens: 30 } },
      ),
    ]);
    const events = eventsIn(await ask("hello"));
    const deltas = events.map((event) => pick(event, "choices", 0, "delta"));
    expect(deltas.map((delta) => pick(delta, "reasoning_content"))).toContain("hm");
    expect(deltas.flatMap((delta) => (pick(delta, "tool_calls") as unknown[]) ?? [])).toEqual([
      { index: 0, id: "call_1_0", type: "function", function: { name: "read", arguments: '{"path":"a"}' } },
      { index: 1, id: "call_x", type: "function", function: { name: "bash", arguments: '{"command":"ls"}' } },
    ]);
    expect(events.at(-1)).toMatchObject({
      usage: { prompt_tokens: 90, completion_tokens: 7, total_tokens: 97 },
    });
    expect(events.map((event) => pick(event, "choices", 0, "finish_reason"))).toContain("tool_calls");
  });

  it("streams the same answer over the Anthropic wire", async () => {
    model.script([
      call(
        "read",
        { path: "a" },
        { text: "I look.", usage: { inputTokens: 90, outputTokens: 7, cachedTokens: 30 } },
      ),
    ]);
    const response = await post("messages", { model: "m", stream: true, messages: [] });
    const events = eventsIn(await response.text());
    expect(events.map((event) => pick(event, "type"))).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    expect(events[0]).toMatchObject({
      message: { usage: { input_tokens: 60, cache_read_input_tokens: 30 } },
    });
    expect(events[5]).toMatchObject({ delta: { type: "input_json_delta", partial_json: '{"path":"a"}' } });
    expect(events[7]).toMatchObject({ delta: { stop_reason: "tool_use" }, usage: { output_tokens: 7 } });
  });

  it("answers a client that wants no stream with one object", async () => {
    model.script([say("all at once")]);
    const response = await post("chat/completions", { model: "m", messages: [] });
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: "all at once" } }] });
  });

  it("refuses with the status and body of the script", async () => {
    model.script([refuseLength()]);
    const response = await post("chat/completions", { model: "m", stream: true, messages: [] });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: "context_length_exceeded" } });
  });

  it("streams the same answer over the Responses wire", async () => {
    model.script([call("read", { path: "a" }, { reasoning: "hm", text: "I look." })]);
    const response = await post("responses", { model: "m", stream: true, input: [] });
    const events = eventsIn(await response.text());
    expect(events.map((event) => pick(event, "sequence_number"))).toEqual([...events.keys()]);
    expect(events.map((event) => pick(event, "delta")).filter(Boolean)).toEqual([
      "hm",
      "I look.",
      '{"path":"a"}',
    ]);
    expect(events.at(-1)).toMatchObject({
      type: "response.completed",
      response: { output: [{ type: "reasoning" }, { type: "message" }, { type: "function_call" }] },
    });
  });

  it("streams the same answer over the Gemini wire, the first call signed", async () => {
    const usage = { inputTokens: 90, outputTokens: 7, cachedTokens: 30 };
    const step = call("read", { path: "a" }, { reasoning: "hm", text: "I look.", usage });
    model.script([step, step]);
    const contents = [{ role: "user", parts: [{ text: "go" }] }];
    const streamed = await post("models/gemini-3-pro:streamGenerateContent?alt=sse", { contents });
    const events = eventsIn(await streamed.text());
    const parts = events.map((event) => pick(event, "candidates", 0, "content", "parts", 0));
    expect(parts).toMatchObject([
      { text: "hm", thought: true },
      { text: "I look." },
      { functionCall: { name: "read", args: { path: "a" } }, thoughtSignature: expect.any(String) },
    ]);
    expect(events.at(-1)).toMatchObject({
      candidates: [{ finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 90, cachedContentTokenCount: 30, totalTokenCount: 97 },
    });
    const whole = await post("models/gemini-3-pro:generateContent", { contents });
    expect(pick(await whole.json(), "candidates", 0, "content", "parts")).toHaveLength(3);
    expect(model.requests.map(({ wire, model: name }) => [wire, name])).toEqual([
      ["gemini", "gemini-3-pro"],
      ["gemini", "gemini-3-pro"],
    ]);
  });

  it.each([
    ["messages", "anthropic"],
    ["responses", "openai-responses"],
    ["models/gemini-3-pro:generateContent", "gemini"],
  ])("says on %s what a search of the provider's own found", async (path) => {
    model.script([say("Found.", { searches: [{ query: "ports", found: "8080 is free" }] })]);
    const response = await post(path, { model: "m", messages: [], input: [], contents: [] });
    expect(await response.text()).toMatch(/8080 is free|ODA4MCBpcyBmcmVl/);
  });

  it.each([
    ["chat/completions", { error: { code: "context_length_exceeded" } }],
    ["responses", { type: "error", error: { code: "context_length_exceeded" } }],
    ["messages", { type: "error", error: { type: "invalid_request_error" } }],
  ])("says an error in the stream of %s", async (path, expected) => {
    model.script([refuseLengthInStream()]);
    const response = await post(path, { model: "m", stream: true, messages: [] });
    expect(response.status).toBe(200);
    expect(eventsIn(await response.text()).at(-1)).toMatchObject(expected);
  });

  it("lets a judge answer before the script", async () => {
    await model.stop();
    model = await startModelServer({
      judge: ({ rawBody }) =>
        rawBody.length > 200 ? { type: "refusal", status: 413, body: { error: "too long" } } : undefined,
    });
    model.script([say("short enough")]);
    expect(textIn(await ask("x".repeat(300)))).toBe("");
    expect(textIn(await ask("x"))).toBe("short enough");
    expect(model.requests.map(({ reply }) => reply.type)).toEqual(["refusal", "answer"]);
  });

  it("cuts the connection in the middle of a text", async () => {
    model.script([{ reply: { type: "drop", text: "half a sen" } }]);
    await expect(ask("hello")).rejects.toThrow();
  });

  it("ends a stalled stream when it stops", async () => {
    model.script([{ reply: { type: "stall", text: "wait" } }]);
    const response = await post("chat/completions", { model: "m", stream: true, messages: [] });
    const text = response.text();
    text.catch(() => undefined);
    await model.stop();
    await expect(text).rejects.toThrow();
    model = await startModelServer();
  });

  it("knows no other route", async () => {
    expect((await post("embeddings", {})).status).toBe(404);
  });
});

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${model.url}/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function ask(text: string, headers: Record<string, string> = {}): Promise<string> {
  const body = { model: "m", stream: true, messages: [{ role: "user", content: text }] };
  return (await post("chat/completions", body, headers)).text();
}

function eventsIn(stream: string): readonly unknown[] {
  return stream
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice("data: ".length)));
}

function textIn(stream: string): string {
  return eventsIn(stream)
    .map((event) => pick(event, "choices", 0, "delta", "content") ?? "")
    .join("");
}

function pick(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      inner === undefined || inner === null ? undefined : (inner as Record<string | number, unknown>)[key],
    value,
  );
}
