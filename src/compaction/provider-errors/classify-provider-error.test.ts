import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classifyProviderError, isContextLengthExceeded } from "./doors.ts";

/** A line is "observed/limit wording"; a dash stands for a figure that the wording does not give. */
function wordings(
  lines: string,
): { wording: string; observed: number | undefined; limit: number | undefined }[] {
  return lines
    .trim()
    .split("\n")
    .map((line) => {
      const [, observed = "-", limit = "-", wording = ""] = /^(\S+)\/(\S+) (.*)$/.exec(line.trim()) ?? [];
      const figure = (text: string): number | undefined => (text === "-" ? undefined : Number(text));
      return { wording, observed: figure(observed), limit: figure(limit) };
    });
}

const INPUT_TOO_LONG = wordings(`
  9001/8192 prompt is too long: 9001 tokens > 8192 maximum
  9001/8192 This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.
  9001/8192 The input token count (9001) exceeds the maximum number of tokens allowed (8192).
  9001/8192 Unable to submit request because the input token count is 9001 but model only supports up to 8192.
  -/- ValidationException: Input is too long for requested model.
  -/- Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.
  9001/8192 400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9001
  301234/272000 Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 301234 tokens.
  -/8000 Request body too large for gpt-4o model. Max size: 8000 tokens.
  9001/8192 The decoder prompt (length 9001) is longer than the maximum model length of 8192.
  9001/8192 The prompt (total length 9001) is too long to fit into the model (context length 8192).
  9001/8192 You passed 9001 input tokens and requested 1024 output tokens. However, the model's context length is only 8192 tokens.
  9001/8192 Input length (9001 tokens) exceeds the maximum allowed length (8192 tokens). Use a shorter input.
  9001/8192 Token indices sequence length is longer than the specified maximum sequence length for this model (9001 > 8192).
  9001/8192 Input validation error: \`inputs\` must have less than 8192 tokens. Given: 9001
  9001/8192 Requested tokens (9001) exceed context window of 8192
  9001/8192 The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9001>= n_ctx: 8192)
  -/4096 Reached context length of 4096 tokens with model (arch: x) that does not currently support mid-generation context overflow
  -/- too many tokens: size limit exceeded by 809 tokens. Try using shorter or fewer inputs.
  9001/8192 number of input tokens (9001) has exceeded max_prompt_tokens (8192) limit.
  9001/8192 the number of input tokens 9001 cannot exceed the total tokens limit 8192 for this model
  9001/8192 prompt token count (9001) cannot exceed 8192. Please reduce the length of your prompt
  -/200000 max tokens of 200000 exceeded
  -/- invalid params, context window exceeds limit (2013)
  -/- Total tokens of image and text exceed max message tokens. Request id: 02
  9001/8192 Input length 9001 exceeds the maximum length 8192
  -/30720 <400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]
  -/- Request input tokens exceed model token limit. Reduce the input size.
  -/- Please reduce the length of the messages or completion.
  9001/8192 Your input is too long. Max input length is 8192 tokens, but you supplied 9001 tokens.
  -/- Request size exceeds model context window
  256000/128000 Model context window is 128k tokens, you requested 256k tokens
  9001/8192 Provided input has 9,001 tokens. Maximum allowed is 8,192.
  9001/8192 This model can only process 8192 tokens at a time, your request contains 9001
  -/- The prompt is too long. Please reduce the number of messages.
  -/- Too many messages: the context window is exceeded
  -/- The tool output exceeds the model's context window
  -/8192 The tokens of the system message and of all assistant messages must be less than 8192
  -/- Your conversation has grown too long. Please start a new chat.
  -/- litellm.ContextWindowExceededError: something happened
  -/- Unhandled stop reason: model_context_window_exceeded
  -/131072 502 Bad Gateway: upstream error: This model's maximum context length is 131072 tokens
  9001/8192 请求的上下文长度(9001)超过模型支持的最大长度(8192)
  -/- 输入内容过长，请缩短后重试
  -/- 對話過長，超出模型的上下文長度
  -/- 入力が長すぎます。コンテキスト長を超えています
  -/- 입력 토큰이 최대 컨텍스트 길이를 초과했습니다
`);

const WITH_OUTPUT = wordings(`
  7000/8192 input length and \`max_tokens\` exceed context limit: 7000 + 2000 > 8192, decrease input length or \`max_tokens\`
  9001/8192 This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (8001 in the messages, 1000 in the completion).
  9001/8192 This endpoint's maximum context length is 8192 tokens. However, you requested about 9001 tokens (7000 of text input, 1001 of tool input, 1000 in the output).
  120/4096 'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 120 input tokens (5000 > 4096 - 120).
  9001/8192 Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9001 tokens: 7001 tokens from the input messages and 2000 tokens for the completion.
  6204/8192 Input validation error: \`inputs\` tokens + \`max_new_tokens\` must be <= 8192. Given: 6204 \`inputs\` tokens and 2047 \`max_new_tokens\`
  9001/8192 The estimated number of input and maximum output tokens (9001) exceeded this model context window limit (8192).
  9001/2048 too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 9001.
  -/- LLM request rejected: max_tokens would exceed context window
`);

describe("classifyProviderError", () => {
  it.each(INPUT_TOO_LONG)("knows an overflow: $wording", ({ wording, observed, limit }) => {
    const { class: errorClass, observedTokens, limitTokens } = classifyProviderError(wording);
    expect({ errorClass, observedTokens, limitTokens }).toEqual({
      errorClass: "context_overflow",
      observedTokens: observed,
      limitTokens: limit,
    });
  });

  it.each(WITH_OUTPUT)(
    "knows one that a shorter answer may cure: $wording",
    ({ wording, observed, limit }) => {
      const report = classifyProviderError(wording);
      expect(report).toMatchObject({
        class: "context_overflow_output",
        isOverflow: true,
        recovery: "lower-output",
      });
      expect([report.observedTokens, report.limitTokens]).toEqual([observed, limit]);
    },
  );

  it("splits what was asked for into input and output", () => {
    expect(classifyProviderError(WITH_OUTPUT[2]?.wording)).toMatchObject({
      inputTokens: 8_001,
      outputTokens: 1_000,
    });
  });

  it("does not hope for a shorter answer when the input alone is too long", () => {
    const wording =
      "This model's maximum context length is 8192 tokens. However, you requested 12000 tokens (11000 in the messages, 1000 in the completion).";
    expect(classifyProviderError(wording).class).toBe("context_overflow");
  });

  it("RELIABILITY 1: the machine code decides, whatever the text says", () => {
    for (const code of [
      "context_length_exceeded",
      "exceed_context_size_error",
      "ContextWindowExceededError",
      "prompt_too_long",
    ]) {
      expect(classifyProviderError({ error: { code, message: "rate limit reached" } }).class).toBe(
        "context_overflow",
      );
    }
    expect(
      classifyProviderError({ error: { code: "string_above_max_length", message: "too many tokens" } })
        .isOverflow,
    ).toBe(false);
  });

  it("RELIABILITY 1: billing, then rate limits, come before the words of an overflow", () => {
    const overflow = "prompt is too long: 9001 tokens > 8192 maximum";
    expect(classifyProviderError({ status: 402, message: overflow }).class).toBe("other");
    expect(classifyProviderError({ status: 429, message: overflow }).class).toBe("rate_limit");
    expect(classifyProviderError(`Insufficient credits. ${overflow}`).class).toBe("other");
    expect(classifyProviderError(`Rate limit exceeded. ${overflow}`).class).toBe("rate_limit");
  });

  it("RELIABILITY 1: the status is weak evidence", () => {
    for (const status of [200, 400, 413, 422, 500, 502, 503]) {
      expect(classifyProviderError({ status, message: "prompt is too long" }).class).toBe("context_overflow");
    }
  });

  it("a 413 without the words is about bytes, and an empty one only means tokens from Cerebras", () => {
    const error = { status: 413, message: "413 status code (no body)" };
    expect(classifyProviderError(error)).toMatchObject({
      class: "payload_too_large",
      recovery: "drop-media",
    });
    expect(classifyProviderError(error, { provider: "cerebras" }).class).toBe("context_overflow");
    expect(classifyProviderError({ ...error, provider: "Cerebras" }).class).toBe("context_overflow");
    expect(classifyProviderError({ status: 400 }, { provider: "cerebras" }).class).toBe("context_overflow");
    expect(classifyProviderError({ status: 500 }, { provider: "cerebras" }).isOverflow).toBe(false);
  });

  it("reads a wording that says little only from the provider that means it", () => {
    expect(isContextLengthExceeded("length limit exceeded")).toBe(false);
    expect(isContextLengthExceeded("length limit exceeded", { provider: "tgi" })).toBe(true);
    expect(isContextLengthExceeded({ code: "1261", message: "failed" }, { provider: "zai" })).toBe(true);
    expect(isContextLengthExceeded({ code: "1261", message: "failed" })).toBe(false);
  });

  it("RELIABILITY 1: an error nobody knows is never an overflow", () => {
    expect(classifyProviderError("the flux capacitor is out of plutonium")).toEqual({
      class: "other",
      isOverflow: false,
      recovery: "none",
      message: "the flux capacitor is out of plutonium",
    });
  });

  it("gives a request that is larger than the rate limit its own class, with both figures", () => {
    const message = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 342389.";
    expect(classifyProviderError({ status: 429, message })).toMatchObject({
      class: "rate_limit_size",
      recovery: "fit-rate-limit",
      observedTokens: 342_389,
      limitTokens: 30_000,
    });
    const waits = "Rate limit reached on tokens per day (TPD): Limit 100000, Used 97050, Requested 3619.";
    expect(classifyProviderError(waits).class).toBe("rate_limit");
  });

  const pick = (...words: readonly string[]) => fc.constantFrom(...words);
  const subject = pick(
    "The prompt",
    "Your input",
    "The input token count",
    "Your messages",
    "The conversation",
    "The number of tokens in your request",
  );
  const relation = pick(
    "exceeds",
    "is longer than",
    "is larger than",
    "has exceeded",
    "is greater than",
    "went over",
  );
  const bound = pick(
    "the model's context window",
    "the maximum context length",
    "the model's token limit",
    "the maximum number of input tokens allowed",
    "the context size",
  );

  it("knows every mixture of a subject, a relation and a bound", () => {
    const figures = fc.option(
      fc.tuple(fc.integer({ min: 10_001, max: 900_000 }), fc.integer({ min: 1_000, max: 10_000 })),
    );
    fc.assert(
      fc.property(subject, relation, bound, figures, (what, how, than, counts) => {
        const text =
          counts === null
            ? `${what} ${how} ${than}.`
            : `${what} (${counts[0]} tokens) ${how} ${than} (${counts[1]} tokens).`;
        const report = classifyProviderError({ status: 400, message: text });
        expect([text, report.isOverflow, report.observedTokens, report.limitTokens]).toEqual([
          text,
          true,
          counts?.[0],
          counts?.[1],
        ]);
      }),
    );
  });

  it("takes no mixture with another subject or another bound for an overflow", () => {
    const other = pick(
      "The image",
      "The file",
      "The request body",
      "The tool name",
      "Your account",
      "The number of tools",
      "max_tokens",
    );
    const otherBound = pick(
      "the limit of 20 MB",
      "the maximum size of 5242880 bytes",
      "the maximum length of 64 characters",
      "the limit of your plan",
    );
    const mixture = fc.oneof(
      fc.tuple(other, relation, otherBound),
      fc.tuple(subject, relation, pick("the rate limit", "10 MB", "your daily quota")),
    );
    fc.assert(
      fc.property(mixture, ([what, how, than]) => {
        const text = `${what} ${how} ${than}.`;
        expect([text, isContextLengthExceeded({ status: 400, message: text })]).toEqual([text, false]);
      }),
    );
  });
});
