import { afterEach, describe, expect, it } from "vitest";
import { asArray, asObject, type UnknownObject } from "../../../../src/text/unknown-value.ts";
import { type ModelServer, startModelServer } from "../model-server.ts";
import { call, say } from "../step.ts";

let server: ModelServer;
afterEach(() => server.stop());

async function post(path: string, body: unknown): Promise<UnknownObject> {
  const init = { method: "POST", body: JSON.stringify(body) };
  return asObject(await (await fetch(`${server.url}/${path}`, init)).json());
}

const wordsOf = (answer: UnknownObject): unknown => asObject(answer.error).message;

describe("Claude, over HTTP", () => {
  const model = "claude-opus-5-5";
  const go = { role: "user", content: "go" };

  /** Asks once, and gives the conversation with the result of the call. */
  async function loop(): Promise<readonly UnknownObject[]> {
    server.script([call("read", { path: "a" }, { times: "always" })]);
    const { content } = await post("messages", { model, messages: [go] });
    const result = { type: "tool_result", tool_use_id: "call_1_0", content: "out" };
    return [go, { role: "assistant", content }, { role: "user", content: [result] }];
  }

  it("thinks in every answer, scripted or not, and takes the thought back", async () => {
    server = await startModelServer();
    const messages = await loop();
    expect(messages[1]).toMatchObject({
      content: [{ type: "thinking", thinking: "", signature: expect.stringMatching(/^.{88}$/) }, {}],
    });
    expect(await post("messages", { model, messages })).toMatchObject({ stop_reason: "tool_use" });
  });

  it("streams the same thought", async () => {
    server = await startModelServer();
    const whole = asObject((await loop())[1]).content;
    server.discardSteps();
    server.script([call("read", { path: "a" })]);
    const body = JSON.stringify({ model, messages: [go], stream: true });
    const stream = await (await fetch(`${server.url}/messages`, { method: "POST", body })).text();
    expect(stream).toContain(`"signature":"${String(asObject(asArray(whole)[0]).signature)}"`);
    expect(stream).not.toContain('"thinking_delta"');
  });

  it("refuses it behind an edit, and no step of the script is used up", async () => {
    server = await startModelServer();
    const [, ...others] = await loop();
    server.discardSteps();
    server.script([say("ok")]);
    const refused = await post("messages", { model, messages: [{ ...go, content: "edited" }, ...others] });
    expect(wordsOf(refused)).toMatch(/^messages\.1\.content\.0: .* bound to a different conversation/);
    expect(server.unusedSteps()).toHaveLength(1);
    expect(server.thinking.takeRefusals()).toEqual([wordsOf(refused)]);
  });

  it("fails the test in which nobody expected that", async () => {
    server = await startModelServer();
    const [, ...others] = await loop();
    await post("messages", { model, messages: [{ ...go, content: "edited" }, ...others] });
    await expect(server.stop()).rejects.toThrow("thoughts were refused");
    server = await startModelServer();
  });

  it("as an old account's is not refused, and reports it to who asks", async () => {
    server = await startModelServer({ thinking: "free" });
    const [, ...others] = await loop();
    const messages = [{ ...go, content: "edited" }, ...others];
    const headers = { "anthropic-beta": "thinking-binding-controls-2026-08-01" };
    const init = { method: "POST", headers, body: JSON.stringify({ model, messages }) };
    const answer = await (await fetch(`${server.url}/messages`, init)).json();
    expect(answer).toMatchObject({ input_transformations: [{ type: "thinking_mismatch_allowed" }] });
  });

  it("of before September drops the thoughts of another model", async () => {
    server = await startModelServer();
    await post("messages", { model: "claude-opus-5", messages: await loop() });
    expect(server.thinking.dropped).toEqual(["messages.1.content.0: model_binding_mismatch"]);
  });
});

describe("the newest models of OpenAI", () => {
  const model = "gpt-6.1-sol";
  const go = { role: "user", content: [{ type: "input_text", text: "go" }] };
  const output = { type: "function_call_output", call_id: "call_1_0", output: "out" };

  it("drop reasoning behind an edit without an error, and no other", async () => {
    server = await startModelServer();
    server.script([call("read", { path: "a" }, { reasoning: "hm" })]);
    const items = asArray((await post("responses", { model, input: [go] })).output);
    await post("responses", { model, input: [{ role: "user", content: "go" }, ...items, output] });
    expect(server.thinking.dropped).toEqual([]);
    await post("responses", { model, input: [{ role: "user", content: "edited" }, ...items, output] });
    expect(server.thinking.dropped).toEqual(["input.1: reasoning of another history"]);
    await post("responses", {
      model: "gpt-5",
      input: [{ role: "user", content: "edited" }, ...items, output],
    });
    expect(server.thinking.dropped).toHaveLength(1);
  });

  it.each([
    [{ type: "reasoning", id: "rs_1" }, "Missing required parameter: 'input[1].summary'."],
    [{ type: "reasoning", id: "rs_1", summary: [] }, "without its required following item"],
  ])("refuse %o without what belongs to it", async (item, words) => {
    server = await startModelServer();
    expect(wordsOf(await post("responses", { model, input: [go, item, go] }))).toContain(words);
    expect(server.thinking.takeRefusals()).toHaveLength(1);
  });
});

it.each([
  ["deepseek-v4-pro", "The `reasoning_content` in the thinking mode must be passed back to the API."],
  [
    "kimi-k3",
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
  ],
])("%s wants the reasoning of every turn with calls again, be it empty", async (model, words) => {
  server = await startModelServer();
  server.script([call("read", { path: "a" })]);
  const go = { role: "user", content: "go" };
  const { choices } = await post("chat/completions", { model, messages: [go] });
  const message = asObject(asObject(asArray(choices)[0]).message);
  const result = { role: "tool", tool_call_id: "call_1_0", content: "out" };
  const ask = (fields: object) =>
    post("chat/completions", { model, messages: [go, { ...message, ...fields }, result] });
  expect([wordsOf(await ask({})), wordsOf(await ask({ reasoning_content: "" }))]).toEqual([
    undefined,
    undefined,
  ]);
  expect(wordsOf(await ask({ reasoning_content: undefined }))).toBe(words);
  expect(server.thinking.takeRefusals()).toEqual([words]);
});

it("Gemini wants the signature of the first call of each step of the running turn again", async () => {
  server = await startModelServer();
  server.script([call("read", { path: "a" })]);
  const path = "models/gemini-3-pro:generateContent";
  const go = { role: "user", parts: [{ text: "go" }] };
  const { candidates } = await post(path, { contents: [go] });
  const content = asObject(asObject(asArray(candidates)[0]).content);
  const result = { role: "user", parts: [{ functionResponse: { name: "read", response: {} } }] };
  expect(wordsOf(await post(path, { contents: [go, content, result] }))).toBe(undefined);
  const unsigned = asArray(content.parts).map((part) => ({ ...asObject(part), thoughtSignature: undefined }));
  const refused = await post(path, { contents: [go, { ...content, parts: unsigned }, result] });
  expect(wordsOf(refused)).toContain("missing a thought_signature");
  expect(server.thinking.takeRefusals()).toHaveLength(1);
});
