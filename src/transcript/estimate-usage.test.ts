import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, transcript as notated } from "../../test/rig/notation.ts";
import { unroundedTokens } from "../text/tokens/estimate-tokens.ts";
import {
  estimateContextTokens,
  observeUsage,
  reportsContextUsage,
  usageTotalTokens,
} from "./estimate-context.ts";
import { isVisibleToModel, type Message, type ModelRef, type Transcript, type Usage } from "./message.ts";
import type { Part } from "./part.ts";

const prompt = (inputTokens: number, cacheReadTokens = 0): Usage => ({
  inputTokens,
  outputTokens: 50,
  reasoningTokens: 0,
  cacheReadTokens,
  cacheWriteTokens: 0,
});
const model = { provider: "anthropic", id: "claude-opus-4-6" };
const output = "const answer = compute(question);\n".repeat(50);
const call: Part = {
  type: "tool",
  callId: "1",
  tool: "read",
  input: { path: "src/a.ts" },
  outcome: { status: "done", output, attachments: [] },
};

function session(change: Partial<Message> = {}, between: readonly Message[] = []): Transcript {
  return deepFreeze([
    { id: "u", role: "user", parts: [{ type: "text", text: "go" }] },
    { id: "a", role: "assistant", parts: [call], usage: prompt(100, 900), model, ...change },
    ...between,
    { id: "b", role: "assistant", parts: [{ type: "text", text: "done" }], usage: prompt(200, 1800), model },
  ]);
}

describe("observeUsage", () => {
  it("compares the growth of the prompt with the text that was added", () => {
    const expected = ["read", JSON.stringify({ path: "src/a.ts" }), output].reduce(
      (sum, text) => sum + unroundedTokens(text, "calibrated"),
      0,
    );
    expect(observeUsage(session(), { epoch: 4 })).toEqual({
      model: "claude-opus-4-6",
      epoch: 4,
      estimatedTokens: expected,
      usageTokens: 1000 - 80,
    });
  });

  it("leaves out what the family of the model that counted pays for a call", () => {
    const gpt = session().map((message) => ({ ...message, model: { provider: "openai", id: "gpt-5.5" } }));
    expect(observeUsage(gpt, { epoch: 0 })?.usageTokens).toBe(1000 - 12);
  });

  it("leaves out thoughts whose length is known", () => {
    const thought: Part = { type: "reasoning", text: "hmm", sealedChars: 1000 };
    expect(observeUsage(session({ parts: [thought, call] }), { epoch: 0 })?.usageTokens).toBe(
      1000 - 80 - 240,
    );
  });

  it("says nothing of a new turn after which thoughts are no longer read", () => {
    const thought: Part = { type: "reasoning", text: "hmm", sealedChars: 1000 };
    const asked: Message = { id: "u2", role: "user", parts: [{ type: "text", text: "and now" }] };
    const of = (id: string) =>
      session({ parts: [thought, call] }, [asked]).map((message) => ({
        ...message,
        model: { provider: "anthropic", id },
      }));
    expect(observeUsage(of("claude-opus-4-6"), { epoch: 0 })).toBeDefined();
    expect(observeUsage(of("claude-sonnet-4-5"), { epoch: 0 })).toBeUndefined();
  });

  it.each<{ name: string; messages: Transcript }>([
    { name: "there is one usage only", messages: session().slice(0, 2) },
    { name: "there are no messages", messages: [] },
    { name: "the models differ", messages: session({ model: { provider: "openai", id: "gpt-5" } }) },
    { name: "the older answer failed", messages: session({ error: { name: "APIError", text: "" } }) },
    {
      name: "there was reasoning of unknown length",
      messages: session({ parts: [{ type: "reasoning", text: "hmm" }, call] }),
    },
    {
      name: "there was an image",
      messages: session({}, [{ id: "i", role: "user", parts: [{ type: "file", mime: "image/png" }] }]),
    },
    {
      name: "a summary came between",
      messages: session({}, [{ id: "s", role: "assistant", summary: true, parts: [] }]),
    },
  ])("says nothing when $name", ({ messages }) => {
    expect(observeUsage(messages, { epoch: 0 })).toBeUndefined();
  });

  it("says nothing when the older usage is from before the epoch", () => {
    expect(observeUsage(session(), { epoch: 0, epochStartIndex: 2 })).toBeUndefined();
    expect(observeUsage(session(), { epoch: 0, epochStartIndex: 1 })).toBeDefined();
  });
});

it("takes the provider's total, else the sum of prompt, cache and answer", () => {
  expect(usageTotalTokens({ ...prompt(100, 900), totalTokens: 77 })).toBe(77);
  expect(usageTotalTokens(prompt(100, 900))).toBe(1050);
  expect(usageTotalTokens(undefined)).toBe(0);
});

describe("an estimate of a transcript that grows", () => {
  const models = [undefined, { provider: "p", id: "m" }, { provider: "p", id: "n" }];
  const anyMessage: fc.Arbitrary<Message> = fc
    .record({
      id: fc.uuid(),
      role: fc.constantFrom("user", "assistant", "assistant", "system"),
      chars: fc.nat(500),
      total: fc.nat(3000),
      finish: fc.constantFrom("stop", "tool-calls", "error"),
      visible: fc.constantFrom(true, true, true, false),
      summary: fc.constantFrom(false, false, false, true),
      model: fc.constantFrom(...models),
      createdAt: fc.nat(9),
      clearedAt: fc.option(fc.nat(9), { nil: undefined, freq: 4 }),
    })
    .map(({ id, role, chars, total, finish, visible, summary, model, createdAt, clearedAt }) => ({
      id,
      role,
      createdAt,
      parts: [
        { type: "text" as const, text: "x".repeat(chars) },
        ...(notated("a(bash:90)")[0]?.parts ?? []).map((part) => ({
          ...part,
          ...(clearedAt !== undefined && { clearedAt }),
        })),
      ] as Message["parts"],
      finish,
      metadata: { agentVisible: visible },
      ...(role === "assistant" && { usage: { ...prompt(0), totalTokens: total }, ...(model && { model }) }),
      ...(role === "assistant" && summary && { summary: true as const }),
    }));
  /** Which usage holds, found by reading the messages in their order. */
  const lastUsageIndex = (messages: Transcript, epochStartIndex: number, model?: ModelRef): number => {
    let known: { readonly index: number; readonly model: ModelRef | undefined } | undefined;
    let clearedAt = Number.NEGATIVE_INFINITY;
    const isOther = (one?: ModelRef, other?: ModelRef) => one && other && one.id !== other.id;
    for (const [index, message] of messages.entries()) {
      if (!isVisibleToModel(message)) continue;
      if (message.summary || isOther(known?.model, message.model)) known = undefined;
      const { createdAt = 0 } = message;
      if (index >= epochStartIndex && reportsContextUsage(message) && clearedAt <= createdAt)
        known = { index, model: message.model };
      for (const part of message.parts)
        if (part.type === "tool") clearedAt = Math.max(clearedAt, part.clearedAt ?? clearedAt);
    }
    return known && !isOther(known.model, model) ? known.index : -1;
  };

  it("gives after each message what the whole transcript gives, by the usage that holds", () => {
    fc.assert(
      fc.property(
        fc.array(anyMessage, { maxLength: 30 }),
        fc.nat(10),
        fc.constantFrom(...models),
        (messages, epochStartIndex, model) => {
          const options = { epochStartIndex, ...(model && { model }) };
          for (let count = 0; count <= messages.length; count++) {
            const begun = messages.slice(0, count);
            const estimate = estimateContextTokens(begun, options);
            expect(estimate.lastUsageIndex).toBe(lastUsageIndex(begun, epochStartIndex, model));
            expect(estimate.low).toBeLessThanOrEqual(estimate.tokens);
            expect(estimate.tokens).toBeLessThanOrEqual(estimate.high);
            expect(estimate.tokens).toBe(estimate.usageTokens + estimate.trailingTokens);
          }
        },
      ),
    );
  });

  it("never falls when a message without usage is appended", () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 20 }), fc.nat(400), (messages, chars) => {
        const more: Message = {
          id: "more",
          role: "user",
          parts: [{ type: "text", text: "x".repeat(chars) }],
        };
        expect(estimateContextTokens([...messages, more]).tokens).toBeGreaterThanOrEqual(
          estimateContextTokens(messages).tokens,
        );
      }),
    );
  });

  it("reads each message's text once, however often the context is estimated", () => {
    let asked = 0;
    const estimator = (text: string): number => {
      asked += 1;
      return text.length;
    };
    const messages: Message[] = [];
    for (const message of notated("u:5 a:5 u:5 a:5 u:5 a:5")) {
      messages.push(message);
      estimateContextTokens(messages, { estimator });
    }
    expect(asked).toBe(6);
  });
});
