import { describe, expect, it } from "vitest";
import { classifyProviderError } from "./classify-provider-error.ts";

/** A line is "class: wording". */
const LOOK_ALIKES = `
  other: Your credit balance is too low. Maximum request token limit exceeded.
  other: You have run out of credits
  other: Budget has been exceeded! Current cost: 10.5, Max budget: 10.0
  other: Extra usage is required for long context requests.
  other: 您的账户余额不足
  rate_limit: Too many tokens, please wait before trying again.
  rate_limit: Too many tokens per day. Please try again tomorrow.
  rate_limit: Number of request tokens has exceeded your per-minute rate limit
  rate_limit: This request would exceed your organization's rate limit of 40,000 input tokens per minute.
  rate_limit: You have exceeded your token limit for today
  rate_limit: Token limit exceeded for your organization
  rate_limit: Monthly token quota exceeded
  rate_limit: Enqueued token limit reached for m in organization
  rate_limit: 每分钟token数超过限制
  rate_limit: 已达到 Token Plan 用量上限
  other: The security token included in the request is expired
  other: token expired
  other: invalid token
  other: Incorrect API key provided
  other: Each tool_use block must have a corresponding tool_result block in the next message.
  other: The conversation must end with a user message; prefill is not supported.
  other: The request body is not valid JSON: no low surrogate in string
  other: Unexpected token < in JSON at position 0
  other: Input is too long. Content size exceeds the maximum input size in text units.
  other: The prompt triggered the content management policy
  other: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes
  other: At least one of the image dimensions exceed max allowed size: 8000 pixels
  other: number of images exceeds the limit of 20
  payload_too_large: image content cannot exceed 30 MB
  payload_too_large: A maximum of 100 PDF pages may be provided.
  payload_too_large: File too large: exceeds the limit of 512 MB
  payload_too_large: Request payload size exceeds the limit: 20971520 bytes.
  payload_too_large: 413 Request Entity Too Large
  payload_too_large: grpc: received message larger than max (5000000 vs. 4194304)
  other: Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 123 instead.
  other: Invalid 'messages[3].content': string too long. Expected a string with maximum length 1048576.
  other: Invalid 'tools': array too long. Expected an array with maximum length 128.
  other: Too many messages in request: maximum is 500
  other: Invalid 'metadata': maximum input length is 512 characters.
  other: The specified schema has too many states for serving.
  other: Cached content is too small. total_token_count=500, min_total_token_count=4096
  other: Model context window too small (minimum is 128k tokens)
  other: User-specified max_model_len (262144) is greater than the derived max_model_len (131072)
  other: The model \`m\` does not exist
  output_limit: max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.
  output_limit: max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for m
  output_limit: Range of max_tokens should be [1, 8192]
  output_limit: Input validation error: \`max_new_tokens\` must be <= 192. Given: 200
  output_limit: The maximum tokens you requested exceeds the model limit of 4096. Try again with a lower value.
  output_limit: \`max_completion_tokens\` must be less than or equal to \`16384\`, which is less than the \`context_window\` for this model
  output_limit: max_tokens must be at least 1, got -186.
  output_limit: finish_reason: length
  other: context deadline exceeded
  other: Service tier capacity exceeded for this model.
  other: CUDA out of memory. Tried to allocate 20.00 MiB
  other: Let's look into the context overflow bug
  other: We're debugging why the prompt is too long
  other: RangeError: Maximum call stack size exceeded
  other: Max turns (25) exceeded
  other: context canceled
`
  .trim()
  .split("\n")
  .map((line) => {
    const [, expected = "", wording = ""] = /^\s*(\w+): (.*)$/.exec(line) ?? [];
    return { expected, wording };
  });

describe("look-alikes of an overflow", () => {
  it.each(LOOK_ALIKES)("$expected, not an overflow: $wording", ({ expected, wording }) => {
    const { class: errorClass, isOverflow } = classifyProviderError(wording);
    expect({ errorClass, isOverflow }).toEqual({ errorClass: expected, isOverflow: false });
  });

  it("an output-length stop is not a context overflow", () => {
    for (const stop of ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens"]) {
      expect(classifyProviderError({ choices: [{ finish_reason: stop }] }).class).toBe("output_limit");
    }
  });

  it("billing wins over a rate limit, whichever part of the error says it", () => {
    const error = {
      status: 429,
      message: "Too Many Requests",
      error: { message: "Please check your plan and billing details." },
    };
    expect(classifyProviderError(error).class).toBe("other");
  });
});
