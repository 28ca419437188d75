import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../test/rig/runs.ts";
import { detectSilentOverflow } from "../trigger/detect-silent-overflow.ts";
import { classifyProviderError, isContextLengthExceeded } from "./classify-provider-error.ts";

interface Sent {
  readonly message: string;
  readonly status?: number | null;
  readonly code?: string | number | null;
}

/** The ways in which an error has been seen to reach a caller. */
const WRAPPERS: Readonly<Record<string, (sent: Sent) => unknown>> = {
  "the bare message": ({ message }) => message,
  "a JSON body as a text": ({ message, code }) =>
    JSON.stringify({ error: { message, code, type: "some_error" } }),
  "a nested error": ({ message }) => ({ error: { message } }),
  "metadata.raw, encoded twice": ({ message }) => ({
    error: {
      message: "Provider returned error",
      code: 400,
      metadata: { raw: JSON.stringify(JSON.stringify({ error: { message } })), provider_name: "Upstream" },
    },
  }),
  "an AI SDK APICallError": ({ message, status }) =>
    Object.assign(new Error("Bad Request"), {
      name: "AI_APICallError",
      statusCode: status ?? 400,
      requestBodyValues: {
        messages: [{ role: "user", content: "prompt is too long: 9 tokens > 8 maximum" }],
      },
      responseBody: JSON.stringify({ error: { message } }),
    }),
  "a stream event with HTTP 200": ({ message }) => ({
    status: 200,
    body: `event: error\ndata: ${JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } })}\n\n`,
  }),
};

const OVERFLOWS: readonly Sent[] = [
  { message: "prompt is too long: 210001 tokens > 200000 maximum" },
  { message: "Your prompt (9001 tokens) does not fit the context window of 8192 tokens" },
  {
    message:
      '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210001 tokens > 200000 maximum"}}',
  },
  {
    message:
      "Error code: 400 - {'error': {'message': \"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.\", 'code': 'context_length_exceeded'}}",
  },
];
const LOOK_ALIKES: readonly Sent[] = [
  {
    message: "Request too large for model on tokens per minute (TPM): Limit 8000, Requested 9001",
    status: 413,
    code: "rate_limit_exceeded",
  },
  { message: "max_tokens is too large: 99999. This model supports at most 16384 completion tokens." },
  { message: "Let's find out why the prompt is too long" },
  {
    message: '{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
    status: 413,
  },
];

describe.each(Object.entries(WRAPPERS))("an error that comes as %s", (_, wrap) => {
  it.each(OVERFLOWS)("is known as an overflow: $message", (sent) => {
    expect(classifyProviderError(wrap(sent))).toMatchObject({
      class: "context_overflow",
      recovery: "compact",
    });
  });

  it.each(LOOK_ALIKES)("is known as none: $message", (sent) => {
    expect(isContextLengthExceeded(wrap(sent))).toBe(false);
  });
});

describe("other wrappers", () => {
  const message = "prompt is too long: 210001 tokens > 200000 maximum";
  const figures = { isOverflow: true, observedTokens: 210_001, limitTokens: 200_000 };

  it.each<{ name: string; error: unknown }>([
    {
      name: "a chain of causes",
      error: new Error("failed", { cause: new Error("again", { cause: new Error(message) }) }),
    },
    {
      name: "an axios error",
      error: {
        message: "Request failed with status code 400",
        response: { status: 400, data: { error: { message } } },
        config: { data: "{}" },
      },
    },
    {
      name: "a list of errors, as Gemini sends it",
      error: `[{"error":{"code":400,"message":"${message}","status":"INVALID_ARGUMENT"}}]`,
    },
    {
      name: "an AWS exception",
      error: {
        name: "ValidationException",
        message: `The model returned the following errors: ${message}`,
        $metadata: { httpStatusCode: 400 },
      },
    },
    {
      name: "the last error of a retry",
      error: {
        name: "AI_RetryError",
        message: "Failed after 3 attempts",
        errors: [{ statusCode: 429, message: "rate limit" }],
        lastError: { statusCode: 400, message },
      },
    },
    {
      name: "an error inside a choice",
      error: { choices: [{ finish_reason: "error", error: { code: 400, message } }] },
    },
    {
      name: "a failed response event",
      error: {
        type: "response.failed",
        response: { status: "failed", error: { code: "invalid_prompt", message } },
      },
    },
    {
      name: "the last event of a stream",
      error: `${'data: {"choices":[{"delta":{"content":"hello"}}]}\n\n'.repeat(40)}data: {"error":{"message":"${message}"}}\n\ndata: [DONE]\n`,
    },
    {
      name: "OpenCode's stored error",
      error: {
        name: "APIError",
        data: { message, statusCode: 400, responseBody: `{"error":{"message":"${message}"}}` },
      },
    },
    { name: "text around JSON", error: `400 Bad Request: {"error":{"message":"${message}"}} (request id 7)` },
  ])("finds the message and its figures in $name", ({ error }) => {
    expect(classifyProviderError(error)).toMatchObject(figures);
  });

  it("takes the figures from the text that gives most of them", () => {
    const start = "This model's maximum context length is 8192 tokens.";
    const error = {
      message: start,
      body: { error: { message: `${start} However, your request has 9001 input tokens.` } },
    };
    expect(classifyProviderError(error)).toMatchObject({ observedTokens: 9_001, limitTokens: 8_192 });
  });

  it("takes the figures that a body carries in fields of their own", () => {
    const error = {
      error: { type: "exceed_context_size_error", message: "too much", n_prompt_tokens: 9_001, n_ctx: 8_192 },
    };
    expect(classifyProviderError(error)).toMatchObject({
      isOverflow: true,
      observedTokens: 9_001,
      limitTokens: 8_192,
      code: "exceed_context_size_error",
    });
  });
});

describe("what is not the provider's word", () => {
  const quoted = "prompt is too long: 9001 tokens > 8192 maximum";

  it.each<{ name: string; error: unknown }>([
    {
      name: "the request of an SDK error",
      error: { message: "fetch failed", requestBodyValues: { prompt: quoted } },
    },
    {
      name: "the request and its configuration",
      error: { message: "Bad Request", request: { body: quoted }, config: { data: quoted } },
    },
    { name: "a message of the conversation", error: { role: "assistant", content: quoted, message: quoted } },
    {
      name: "an echoed message inside an error",
      error: { error: { message: { role: "user", content: quoted } } },
    },
    {
      name: "an echoed message inside a text",
      error: `Invalid user message={'role': 'user', 'content': '${quoted}'}`,
    },
    {
      name: "an echoed value of a validator",
      error: `1 validation error: value should be a list [input_value='${quoted}']`,
    },
    {
      name: "the input of a failed check",
      error: { detail: [{ msg: "field required", input: { role: "user", content: quoted } }] },
    },
    { name: "a person who talks about errors", error: "I read the log, and it says prompt is too long" },
    {
      name: "a list of wordings",
      error: "prompt is too long, exceeds the context window, maximum context length, too many tokens",
    },
    {
      name: "source code",
      error: "const PATTERNS = [/prompt is too long/i, /maximum context length is \\d+/i]",
    },
    {
      name: "the text of an answer that streams",
      error: `data: {"choices":[{"delta":{"role":"assistant","content":"${quoted}"}}]}`,
    },
  ])("is not looked at: $name", ({ error }) => {
    expect(isContextLengthExceeded(error)).toBe(false);
  });
});

describe("hostile errors", () => {
  const throwing = new Proxy(
    {},
    {
      get: () => {
        throw new Error("no");
      },
    },
  );
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const cyclic: Record<string, unknown> = { message: "prompt is too long" };
  cyclic.error = cyclic;
  cyclic.errors = [cyclic, [cyclic]];

  it.each<{ name: string; error: unknown; isOverflow: boolean }>([
    { name: "a throwing proxy", error: throwing, isOverflow: false },
    { name: "a revoked proxy", error: { cause: revoked, message: "prompt is too long" }, isOverflow: true },
    {
      name: "a throwing getter",
      error: {
        get message() {
          throw new Error("no");
        },
        error: { message: "prompt is too long" },
      },
      isOverflow: true,
    },
    { name: "a cycle", error: cyclic, isOverflow: true },
    { name: "10 MB of text", error: "x".repeat(10_000_000), isOverflow: false },
    {
      name: "10 MB behind the message",
      error: `prompt is too long ${"x".repeat(10_000_000)}`,
      isOverflow: true,
    },
    {
      name: "10 MB before the message",
      error: `${"x".repeat(10_000_000)}. The prompt is too long`,
      isOverflow: true,
    },
    { name: "a million braces", error: "{".repeat(1_000_000), isOverflow: false },
    {
      name: "100,000 errors",
      error: Array.from({ length: 100_000 }, () => ({ message: "no" })),
      isOverflow: false,
    },
    {
      name: "a response whose body was not read",
      error: {
        status: 400,
        statusText: "Bad Request",
        headers: new Map(),
        json: () => ({ message: "prompt is too long" }),
      },
      isOverflow: false,
    },
    { name: "a function", error: () => "prompt is too long", isOverflow: false },
    { name: "a symbol", error: Symbol("prompt is too long"), isOverflow: false },
    { name: "nothing", error: undefined, isOverflow: false },
    { name: "null", error: null, isOverflow: false },
    { name: "an empty text", error: "", isOverflow: false },
  ])("survives $name", ({ error, isOverflow }) => {
    const report = classifyProviderError(error);
    expect(report.isOverflow).toBe(isOverflow);
    expect(report.message.length).toBeLessThanOrEqual(1_000);
  });

  it("never throws, and calls nothing random an overflow", () => {
    fc.assert(
      fc.property(
        fc.anything({ withNullPrototype: true, withDate: true, withMap: true, withTypedArray: true }),
        (error) => {
          expect(classifyProviderError(error).isOverflow).toBe(false);
        },
      ),
      { numRuns: runs(500) },
    );
  });
});

interface FixtureCase extends Sent {
  readonly id: string;
  readonly provider: string;
  readonly isOverflow: boolean;
  readonly class: string;
  readonly observed?: number;
  readonly limit?: number;
}
interface SilentCase {
  readonly id: string;
  readonly contextWindow: number;
  readonly sentEstimate?: number;
  readonly stopReason: string;
  readonly usage: unknown;
  readonly isOverflow: boolean;
}

const catalogue = new URL("../../../../shared/fixtures/overflow-errors.json", import.meta.url);
const isMissing = !existsSync(catalogue);
if (isMissing)
  console.log(
    "skipped: the catalogue of provider errors (../shared/fixtures/overflow-errors.json) is not here",
  );

/** The catalogue names more kinds than are treated differently. */
const KEPT_CLASSES: ReadonlySet<string> = new Set([
  "context_overflow",
  "context_overflow_output",
  "payload_too_large",
  "rate_limit_size",
  "rate_limit",
  "output_limit",
]);

describe.skipIf(isMissing)("RELIABILITY 1: the catalogue of provider errors", () => {
  const { cases, silent }: { cases: FixtureCase[]; silent: SilentCase[] } = isMissing
    ? { cases: [], silent: [] }
    : JSON.parse(readFileSync(catalogue, "utf8"));

  it.each(Object.entries(WRAPPERS))("every class and every figure is right as %s", (_, wrap) => {
    const wrong = cases.filter((each) => {
      const report = classifyProviderError(wrap(each), { provider: each.provider });
      return (
        report.class !== (KEPT_CLASSES.has(each.class) ? each.class : "other") ||
        report.isOverflow !== each.isOverflow ||
        (each.observed !== undefined && report.observedTokens !== each.observed) ||
        (each.limit !== undefined && report.limitTokens !== each.limit)
      );
    });
    expect(wrong.map((each) => each.id)).toEqual([]);
    expect(cases.length).toBeGreaterThan(100);
  });

  it("every silent overflow is found and nothing else", () => {
    const wrong = silent.filter((each) => {
      const { isOverflow } = detectSilentOverflow({
        usage: each.usage,
        stopReason: each.stopReason,
        contextWindowTokens: each.contextWindow,
        ...(each.sentEstimate === undefined ? {} : { sentEstimateTokens: each.sentEstimate }),
      });
      return isOverflow !== each.isOverflow;
    });
    expect(wrong.map((each) => each.id)).toEqual([]);
    expect(silent.length).toBeGreaterThan(5);
  });
});
