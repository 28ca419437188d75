import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { detectFormat } from "./detect-format.ts";
import { readTranscript } from "./read-transcript.ts";
import { SESSION_FORMATS } from "./registry.ts";

const recordings = new URL("../../test/recordings/", import.meta.url);
const samples = Object.keys(SESSION_FORMATS).flatMap((format) =>
  readdirSync(new URL(`${format}/`, recordings)).map((file) => ({ format, file: `${format}/${file}` })),
);

it.each(samples)("$file is $format", async ({ format, file }) => {
  const { format: found, reason } = await readTranscript(readFileSync(new URL(file, recordings)));
  expect({ found, reason }).toMatchObject({ found: format, reason: expect.stringMatching(/./) });
});

const call = { id: "c", type: "function", function: { name: "bash", arguments: "{}" } };
const messages: readonly { format: string; name: string; value: unknown }[] = [
  {
    format: "anthropic",
    name: "blocks",
    value: [
      { role: "user", content: "hi" },
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "bash", input: {} }] },
    ],
  },
  {
    format: "anthropic",
    name: "a request",
    value: { model: "claude", system: "be brief", messages: [{ role: "user", content: "hi" }] },
  },
  {
    format: "anthropic",
    name: "thinking",
    value: [{ role: "assistant", content: [{ type: "thinking", thinking: "…", signature: "s" }] }],
  },
  {
    format: "openai-chat",
    name: "calls",
    value: [
      { role: "system", content: "be brief" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c", content: "x" },
    ],
  },
  {
    format: "openai-chat",
    name: "plain messages",
    value: [
      { role: "user", content: "hi" },
      { role: "assistant", content: "hello" },
    ],
  },
  {
    format: "openai-chat",
    name: "a request",
    value: {
      model: "gpt",
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }],
    },
  },
  {
    format: "openai-responses",
    name: "items",
    value: [
      { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
      { type: "function_call", call_id: "c", name: "bash", arguments: "{}" },
    ],
  },
  {
    format: "openai-responses",
    name: "a request",
    value: { model: "gpt", input: [{ role: "user", content: "hi" }] },
  },
  {
    format: "gemini",
    name: "contents",
    value: [
      { role: "user", parts: [{ text: "hi" }] },
      { role: "model", parts: [{ functionCall: { name: "bash" } }] },
    ],
  },
  { format: "gemini", name: "a request", value: { contents: [{ role: "user", parts: [{ text: "hi" }] }] } },
  {
    format: "ai-sdk",
    name: "calls",
    value: [
      { role: "user", content: "hi" },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c", toolName: "bash", input: {} }] },
    ],
  },
  {
    format: "ai-sdk",
    name: "results",
    value: [
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c", toolName: "bash", output: { type: "text", value: "x" } },
        ],
      },
    ],
  },
  {
    format: "ai-sdk",
    name: "messages of the screen",
    value: [{ id: "1", role: "user", parts: [{ type: "text", text: "hi" }] }],
  },
  { format: "opencode", name: "a list", value: [{ info: { id: "m", role: "user" }, parts: [] }] },
  { format: "unknown", name: "an empty list", value: [] },
  { format: "unknown", name: "a text", value: "hello" },
  { format: "unknown", name: "a package", value: { name: "x", version: "1.0.0" } },
  { format: "unknown", name: "numbers", value: [1, 2, 3] },
];

describe("a document", () => {
  it.each(messages)("with $name is $format", ({ format, value }) => {
    expect(detectFormat({ type: "document", value }).format).toBe(format);
  });
});

describe("lines", () => {
  it.each([
    { name: "other JSON lines", lines: [{ level: "info", msg: "started" }, { level: "error" }] },
    { name: "no objects", lines: [null, 1, "x", []] },
    { name: "no lines", lines: [] },
  ])("$name are unknown", ({ lines }) => {
    expect(detectFormat({ type: "lines", lines }).format).toBe("unknown");
  });

  it("are told by the first line that belongs to one agent", () => {
    const lines = [{ note: 1 }, { type: "summary", summary: "x", leafUuid: "u" }];
    expect(detectFormat({ type: "lines", lines })).toEqual({
      format: "claude-code",
      reason: "a line is a title with a leafUuid",
    });
  });
});
