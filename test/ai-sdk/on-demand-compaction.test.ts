import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, type ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { type CarryoverOptions, carryover } from "../../src/ai-sdk.ts";
import { asArray, asObject, type UnknownObject } from "../../src/text/unknown-value.ts";
import { createThinkingCheck, isThought, type ThinkingRead } from "../rig/bound-thinking/bound-thinking.ts";

const BETA = "compact-2026-09-04";

/** Anthropic's Messages API with models that bind thoughts, and its compaction on demand, as they are documented. */
function createProvider({ refuses = false } = {}) {
  const check = createThinkingCheck();
  const requests: UnknownObject[] = [];
  const refusals: string[] = [];
  let blocks = 0;
  const refuse = (read: ThinkingRead | string): Response => {
    const message =
      typeof read === "string" ? read : read.status === 400 ? read.error.error.message : "(taken)";
    refusals.push(message);
    return Response.json(
      { type: "error", error: { type: "invalid_request_error", message } },
      { status: 400 },
    );
  };
  const fetch: typeof globalThis.fetch = async (_, init) => {
    const body = asObject(JSON.parse(String(init?.body)));
    requests.push(body);
    const beta = new Headers(init?.headers).get("anthropic-beta") ?? "";
    const isAsked = body.compaction !== undefined;
    if ((isAsked || hasBlock(body)) && !beta.includes(BETA)) return refuse("compaction needs its beta");
    const read = check.read(body, { beta });
    if (read.status === 400 || (isAsked && refuses))
      return refuse(read.status === 400 ? read : "not available");
    const content = isAsked
      ? [check.compact(read, `## Goal\nPart ${++blocks}.`)]
      : check.sign(read, [
          { type: "thinking", thinking: "Considering.", signature: "" },
          { type: "text", text: `Answer ${requests.length}. ${"All is well. ".repeat(600)}`.trim() },
        ]);
    const message = {
      id: "msg",
      type: "message",
      role: "assistant",
      model: "claude-opus-5-5",
      content,
      stop_reason: isAsked ? "compaction" : "end_turn",
      stop_sequence: null,
      usage: {
        input_tokens: 20,
        output_tokens: 1_900,
        cache_read_input_tokens: Math.floor(JSON.stringify(body.messages).length / 4),
        cache_creation_input_tokens: 0,
      },
    };
    return body.stream === true ? streamed(message) : Response.json(message);
  };
  return { fetch, requests, refusals, blocks: () => blocks };
}

function streamed({ content, stop_reason, usage, ...head }: UnknownObject): Response {
  const events = [
    { type: "message_start", message: { ...head, content: [], stop_reason: null, usage } },
    ...asArray(content).flatMap((block, index) => [
      { type: "content_block_start", index, content_block: block },
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

function blocksOf(body: UnknownObject): readonly UnknownObject[] {
  return asArray(body.messages).flatMap((message) => asArray(asObject(message).content).map(asObject));
}

function hasBlock(body: UnknownObject): boolean {
  return blocksOf(body).some(({ type }) => type === "compaction");
}

async function chat(
  provider: ReturnType<typeof createProvider>,
  turns: number,
  options: CarryoverOptions = {},
): Promise<{ readonly events: readonly string[]; readonly used: readonly number[] }> {
  const events: string[] = [];
  const used: number[] = [];
  const { model } = carryover(createAnthropic({ apiKey: "k", fetch: provider.fetch })("claude-opus-5-5"), {
    limits: { contextTokens: 30_000, outputTokens: 2_000 },
    summarizer: { way: "compaction" },
    onEvent: (event) => {
      if (event.type === "warning") events.push(event.code);
    },
    onUsage: ({ usage }) => void used.push(usage.outputTokens),
    ...options,
  });
  const messages: ModelMessage[] = [];
  for (let turn = 0; turn < turns; turn++) {
    messages.push({ role: "user", content: `Question ${turn}?` });
    const result = await generateText({ model, system: "Be brief.", messages, maxRetries: 0 });
    messages.push(...result.response.messages);
  }
  return { events, used };
}

/** Version 3 of the package, for `ai` 6, cannot ask for it and loses the signature of a block. */
const probe = createProvider();
await createAnthropic({ apiKey: "k", fetch: probe.fetch })("claude-opus-5-5").doGenerate({
  prompt: [{ role: "user", content: [{ type: "text", text: "?" }] }],
  providerOptions: { anthropic: { compaction: { type: "summarize" } } },
} as never);
const isCarried = probe.requests[0]?.compaction !== undefined;

describe.skipIf(!isCarried)("Anthropic's compaction on demand", () => {
  it("keeps the thoughts of the kept turns, compaction after compaction", async () => {
    const provider = createProvider();
    const { events, used } = await chat(provider, 30);
    expect([events, provider.refusals]).toEqual([[], []]);
    expect(provider.blocks()).toBeGreaterThan(1);
    expect(used).toEqual(Array.from({ length: provider.blocks() }, () => 1_900));
    const asked = provider.requests.findIndex(({ compaction }) => compaction !== undefined);
    const next = blocksOf(provider.requests[asked + 1] ?? {});
    expect(next[0]).toMatchObject({ type: "compaction", content: "## Goal\nPart 1." });
    // The provider made them before it compacted, and takes them behind its block.
    expect(next.filter(isThought).length).toBeGreaterThan(0);
  });

  it("that is refused is told once, and the model is asked as ever", async () => {
    const provider = createProvider({ refuses: true });
    const { events } = await chat(provider, 30);
    expect(events.filter((code) => code === "provider-not-compacting")).toHaveLength(1);
    expect(provider.refusals.every((message) => message === "not available")).toBe(true);
    expect(provider.blocks()).toBe(0);
  });
});
