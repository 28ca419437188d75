import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { generateText, type ModelMessage } from "ai";
import { expect, it, onTestFinished } from "vitest";
import { carryover } from "../../src/ai-sdk.ts";
import { longConversation } from "./harness/conversation.ts";
import { startScriptedProvider, summary, tooLong } from "./harness/scripted-provider.ts";
import { read } from "./harness/tools.ts";

const messages: ModelMessage[] = [
  ...longConversation({ turns: 16, outputBytes: 6_000 }),
  { role: "user", content: "Which module was the last one?" },
];

it("each call for a summary is a span with its model and usage, one that failed says so", async () => {
  const counts: number[] = [];
  const provider = await startScriptedProvider({
    windowTokens: 20_000,
    answer: () => ({ type: "answer", text: "Module 15." }),
    summarize({ count, inputTokens }) {
      if (count === 0) return tooLong(inputTokens, 1_000);
      counts.push(inputTokens);
      return summary(count);
    },
  });
  onTestFinished(() => provider.stop());
  const exporter = new InMemorySpanExporter();
  const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const { model } = carryover(provider.model("anthropic"), {
    limits: { contextTokens: 20_000, outputTokens: 2_000 },
    // By default this conversation is pruned and needs no summary (summarizer.test.ts).
    prune: "off",
    telemetry: { tracer: tracing.getTracer("product") },
  });
  await generateText({ model, messages, tools: { read }, maxRetries: 0 });
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name, status }) => [name, status.code])).toEqual([
    ["carryover.summarize", 2],
    ["carryover.summarize", 0],
  ]);
  expect(spans[0]?.events.map(({ name }) => name)).toEqual(["exception"]);
  expect(spans[1]?.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "claude-opus-5-5",
    "gen_ai.usage.input_tokens": counts[0],
    "gen_ai.usage.output_tokens": 60,
  });
  expect(spans[1]?.attributes["gen_ai.provider.name"]).toContain("anthropic");
});

it("a tracer that is none is refused with what to give", () => {
  const base = { specificationVersion: "v3", provider: "p", modelId: "m", doGenerate() {}, doStream() {} };
  expect(() => carryover(base as never, { telemetry: { tracer: {} } as never })).toThrow(
    /tracer of OpenTelemetry/,
  );
});
