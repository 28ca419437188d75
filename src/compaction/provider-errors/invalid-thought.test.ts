import { describe, expect, it } from "vitest";
import { classifyProviderError } from "./classify-provider-error.ts";

const BOUND =
  'messages.5.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header. The `tools` list differs from when the block was created.';
const DAMAGED = "messages.1.content.0: Invalid `signature` in `thinking` block";
const body = (message: string) => ({ type: "error", error: { type: "invalid_request_error", message } });
const thrown = (message: string, fields: object = {}): Error => Object.assign(new Error(message), fields);

describe("a thought that the provider does not take", () => {
  it.each([
    ["the body of Anthropic", body(BOUND)],
    ["a damaged signature", body(DAMAGED)],
    [
      "an error of the SDK",
      thrown(`400 ${JSON.stringify(body(BOUND))}`, { status: 400, error: body(BOUND) }),
    ],
    [
      "an error of the AI SDK",
      thrown(BOUND, { statusCode: 400, responseBody: JSON.stringify(body(BOUND)), data: body(BOUND) }),
    ],
    ["an event of a stream", { type: "error", error: { type: "invalid_request_error", message: BOUND } }],
    ["Bedrock", thrown(BOUND, { name: "ValidationException", $metadata: { httpStatusCode: 400 } })],
    [
      "Bedrock's older page",
      thrown(
        "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set mismatch_behavior.",
        { name: "ValidationException" },
      ),
    ],
    ["Vertex", { error: { code: 400, status: "INVALID_ARGUMENT", message: JSON.stringify(body(BOUND)) } }],
    [
      "OpenRouter",
      {
        error: {
          message: "Provider returned error",
          code: 400,
          metadata: { raw: JSON.stringify(body(BOUND)), provider_name: "Anthropic" },
        },
      },
    ],
    [
      "LiteLLM",
      thrown(
        `litellm.BadRequestError: AnthropicException - ${JSON.stringify(body(BOUND))}. Received Model Group=opus`,
        { status: 400 },
      ),
    ],
    ["a gateway that answers 502", thrown(`502 upstream error: ${BOUND}`, { status: 502 })],
    [
      "a sealed thought",
      body(
        "messages.2.content.1: Invalid `signature` in `redacted_thinking` block. The block is bound to a different conversation.",
      ),
    ],
  ])("%s", (_, error) => {
    expect(classifyProviderError(error)).toMatchObject({
      class: "invalid_thought",
      recovery: "leave-out-thoughts",
      isOverflow: false,
    });
  });

  it.each([
    ["a field without its header", body("thinking.adaptive.block_binding: Extra inputs are not permitted")],
    [
      "a missing thought",
      body("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."),
    ],
    [
      "a signature of Gemini",
      {
        error: { code: 400, message: "Function call is missing a thought_signature in functionCall parts." },
      },
    ],
    [
      "words about it",
      "Here is how I would fix the invalid signature in thinking block error: remove the block.",
    ],
    [
      "a key",
      {
        error: { message: "The request signature we calculated does not match the signature you provided." },
      },
    ],
  ])("is not: %s", (_, error) => {
    expect(classifyProviderError(error).recovery).not.toBe("leave-out-thoughts");
  });
});
