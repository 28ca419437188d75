import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type ModelMessage, stepCountIs, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Carryover, type CarryoverOptions, carryover } from "../../src/ai-sdk.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import {
  createNativeAnthropic,
  createNativeOpenAI,
  createPlainChat,
  type NativeOptions,
  type NativeProvider,
} from "./harness/native-provider.ts";
import { toolText } from "./harness/tool-texts.ts";

const COMPACT = { type: "compact_20260112", trigger: { type: "input_tokens", value: 50_000 } } as const;
const managed = { anthropic: { contextManagement: { edits: [COMPACT] } } };

/** Reads twelve files of 40 KB, some 150,000 tokens in all, and then says so. */
const twelveFiles: NativeOptions["answer"] = (count) =>
  count < 12 ? { path: `src/file-${count}.ts` } : "All twelve files are read.";

function anthropicModel(provider: NativeProvider) {
  return createAnthropic({ apiKey: "k", fetch: provider.fetch })("claude-opus-5-5");
}

function read() {
  let seed = 0;
  return tool({
    description: "Reads a file.",
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => `// ${path}\n${toolText(++seed, 40_000)}`,
  });
}

interface Run {
  readonly text: string;
  readonly messages: ModelMessage[];
  readonly events: SessionEvent[];
  readonly session: Carryover<ReturnType<typeof anthropicModel>>["session"];
}

async function run(
  base: ReturnType<typeof anthropicModel>,
  { way = "generate", providerOptions = managed, messages = [QUESTION], ...options }: RunOptions = {},
): Promise<Run> {
  const events: SessionEvent[] = [];
  const { model, session } = carryover(base, { onEvent: (event) => events.push(event), ...options });
  const request = {
    model,
    tools: { read: read() },
    system: "You read code with care.",
    messages,
    providerOptions,
    stopWhen: stepCountIs(30),
    maxRetries: 0,
  };
  if (way === "generate") {
    const result = await generateText(request as Parameters<typeof generateText>[0]);
    return { text: result.text, messages: [...messages, ...answersOf(result)], events, session };
  }
  const result = streamText(request as Parameters<typeof streamText>[0]);
  const text = await result.text;
  return {
    text,
    messages: [...messages, ...answersOf({ response: await result.response })],
    events,
    session,
  };
}

/** Of all steps: `ai` 7 has them under a name of their own. */
function answersOf(result: object): ModelMessage[] {
  const { responseMessages, response } = result as {
    readonly responseMessages?: ModelMessage[];
    readonly response: { readonly messages: ModelMessage[] };
  };
  return responseMessages ?? response.messages;
}

interface RunOptions extends CarryoverOptions {
  readonly way?: "generate" | "stream";
  readonly providerOptions?: Record<string, unknown>;
  readonly messages?: ModelMessage[];
}

const QUESTION: ModelMessage = { role: "user", content: "Read the twelve files and name the odd one." };
const NEXT: ModelMessage = { role: "user", content: "Which of them was the fourth?" };
const steps = (session: Run["session"]) => new Set(session.ledger().map(({ step }) => step));
const backupsOf = (session: Run["session"]) =>
  session.transcript().filter(({ metadata }) => metadata?.kind === "backup_summary");

describe("a provider that compacts by itself", () => {
  it.each(["generate", "stream"] as const)(
    "is left alone, and ours keeps a backup summary: %s",
    async (way) => {
      const provider = createNativeAnthropic({
        thinking: "none",
        windowTokens: 200_000,
        answer: twelveFiles,
      });
      const { text, session, events } = await run(anthropicModel(provider), { way, limits: SMALL });
      expect(text).toContain("All twelve files are read.");
      expect(provider.refusals).toEqual([]);
      expect(provider.faults).toEqual([]);
      expect(provider.blocks.length).toBeGreaterThanOrEqual(2);
      expect(steps(session)).toEqual(new Set(["trim-outputs", "keep-backup-summary"]));
      // Every request begins with the one before it: nothing is cut before or around a block.
      const wires = provider.requests.map(({ messages }) => JSON.stringify(messages).slice(0, -1));
      for (const [index, wire] of wires.entries())
        expect(wire.startsWith(wires[index - 1]?.slice(0, -20) ?? "")).toBe(true);
      // What a block stands for does not count.
      const readTokens = provider.readTokens.at(-1) ?? 0;
      expect(Math.abs(session.status().estimate.tokens - readTokens)).toBeLessThan(readTokens * 0.3);
      const seen = events.filter(
        (event) => event.type === "context_changed" && event.kind === "provider-compacted",
      );
      expect(seen).toHaveLength(wires.at(-1)?.match(/"type":"compaction"/g)?.length ?? 0);
      expect(backupsOf(session)).toHaveLength(1);
      expect(JSON.stringify(backupsOf(session))).toContain("src/file-1.ts");
      expect(JSON.stringify(backupsOf(session))).toContain("name the odd one");
    },
  );

  it("does not keep what is before its block from being recalled", async () => {
    const provider = createNativeAnthropic({ answer: twelveFiles });
    const { session } = await run(anthropicModel(provider));
    const found = await session.recall({ search: "src/file-0.ts" });
    expect(found).toMatchObject({ status: "matches" });
    expect(found.status === "matches" && found.totalPieces).toBeGreaterThan(0);
  });

  it("does not keep a long output from being trimmed", async () => {
    const provider = createNativeAnthropic({ answer: twelveFiles });
    const { session } = await run(anthropicModel(provider), { toolOutput: { maxBytes: 8_000 } });
    expect(steps(session)).toContain("trim-outputs");
    expect(provider.faults).toEqual([]);
  });

  it("is told apart from one that only clears: then compaction is ours, and clearing is not", async () => {
    const provider = createNativeAnthropic({ thinking: "free", windowTokens: 64_000, answer: twelveFiles });
    const clearing = { anthropic: { contextManagement: { edits: [{ type: "clear_tool_uses_20250919" }] } } };
    const limits = { contextTokens: 64_000, outputTokens: 4_000 };
    const summarizer = { summarize: async () => SUMMARY };
    const { session } = await run(anthropicModel(provider), {
      providerOptions: clearing,
      limits,
      summarizer,
    });
    expect(provider.refusals).toEqual([]);
    expect(steps(session)).toEqual(new Set(["compact"]));
  });

  it("is seen by its answers too, where the options are set below the model", async () => {
    const provider = createNativeAnthropic({ answer: twelveFiles });
    const base = anthropicModel(provider);
    const below = {
      ...asModel(base),
      doGenerate: (call: object) => base.doGenerate({ ...call, providerOptions: managed } as never),
    };
    // Before it first acts nothing tells of it, and ours would prune until it never has to.
    const { session } = await run(below as unknown as typeof base, { providerOptions: {}, prune: "off" });
    expect(provider.refusals).toEqual([]);
    expect(provider.blocks.length).toBeGreaterThanOrEqual(2);
    expect(steps(session)).toContain("keep-backup-summary");
    expect(steps(session)).not.toContain("compact");
    expect(steps(session)).not.toContain("use-backup-summary");
  });

  it("is left alone by prepareStep, which sees no options", async () => {
    const provider = createNativeAnthropic({ windowTokens: 200_000, answer: twelveFiles });
    const base = anthropicModel(provider);
    const { messages } = await run(base);
    const { prepareStep, session } = carryover(base, {
      limits: { contextTokens: 20_000, outputTokens: 2_000 },
    });
    const { text } = await generateText({
      model: base,
      prepareStep,
      tools: { read: read() },
      system: "You read code with care.",
      messages: [...messages, NEXT],
      providerOptions: managed as never,
      maxRetries: 0,
    });
    expect(text).toBe("All twelve files are read.");
    expect(provider.refusals).toEqual([]);
    expect(steps(session)).toEqual(new Set(["keep-backup-summary"]));
    expect(JSON.stringify(provider.requests.at(-1)?.messages)).toContain("Summary 2 of the provider");
  });
});

/** In a window of this size ours would act long before the provider does. */
const SMALL = { contextTokens: 40_000, outputTokens: 4_000 };
const SUMMARY =
  "## Goal\nRead the twelve files and name the odd one.\n## Progress\nSome are read.\n## Next steps\nRead on.";

function asModel(base: ReturnType<typeof anthropicModel>) {
  const { provider, modelId, specificationVersion } = base;
  return { provider, modelId, specificationVersion, supportedUrls: {}, doStream: base.doStream };
}

describe("the backup summary of a provider's compaction", () => {
  async function afterCompaction(options: Partial<NativeOptions> = {}) {
    const provider = createNativeAnthropic({
      thinking: "none",
      windowTokens: 200_000,
      answer: twelveFiles,
      ...options,
    });
    const { messages, session } = await run(anthropicModel(provider));
    const state: unknown = JSON.parse(JSON.stringify(session.toJSON()));
    return { provider, messages, state };
  }

  async function askOther(messages: ModelMessage[], options: CarryoverOptions) {
    const other = createPlainChat({ windowTokens: 120_000, answer: () => "The fourth was src/file-3.ts." });
    const { model, session, tools } = carryover(
      createOpenAI({ apiKey: "k", fetch: other.fetch }).chat("gpt-4.1"),
      {
        limits: { contextTokens: 128_000, outputTokens: 8_000 },
        ...options,
      },
    );
    const { text } = await generateText({ model, tools, messages: [...messages, NEXT], maxRetries: 0 });
    return { other, session, text, sent: JSON.stringify(other.requests.at(-1)?.messages) };
  }

  it("takes the block's place when another provider goes on", async () => {
    const { messages, state } = await afterCompaction();
    const { other, session, text, sent } = await askOther(messages, { restore: state });
    expect(text).toBe("The fourth was src/file-3.ts.");
    expect(other.refusals).toEqual([]);
    expect(steps(session)).toContain("use-backup-summary");
    expect(sent).toContain("src/file-1.ts");
    expect(sent).toContain("name the odd one");
    // What the provider's block says in words stays, as words.
    expect(sent).toContain("Summary 2 of the provider");
    expect(other.readTokens.at(-1)).toBeLessThan(70_000);
  });

  it("is made again from the messages where no state was kept", async () => {
    const { messages } = await afterCompaction();
    const { session, sent } = await askOther(messages, {});
    expect(steps(session)).toContain("use-backup-summary");
    expect(sent).toContain("src/file-1.ts");
  });

  it("is all that is needed where the application drops what is before the block", async () => {
    const { messages, state } = await afterCompaction();
    const block = messages.findLastIndex((message) =>
      JSON.stringify(message).includes('"type":"compaction"'),
    );
    const { sent } = await askOther(messages.slice(block), { restore: state });
    expect(sent).toContain("src/file-1.ts");
    expect(sent).toContain("name the odd one");
  });

  it("takes the block's place when the same provider is no longer asked to compact", async () => {
    const { provider, messages, state } = await afterCompaction();
    const { text } = await run(anthropicModel(provider), {
      messages: [...messages, NEXT],
      providerOptions: {},
      restore: state,
    });
    expect(text).toBe("All twelve files are read.");
    expect(provider.refusals).toEqual([]);
    expect(provider.faults).toEqual([]);
    expect(JSON.stringify(provider.requests.at(-1)?.messages)).not.toContain('"type":"compaction"');
  });

  it("helps a request that is refused although the provider manages", async () => {
    const { messages, state } = await afterCompaction();
    const refusing = createNativeAnthropic({
      thinking: "free",
      answer: () => "The fourth was src/file-3.ts.",
      refuses: (count) => count === 0,
    });
    (refusing.blocks as string[]).push("Summary 1 of the provider: the files were read in order.");
    (refusing.blocks as string[]).push("Summary 2 of the provider: the files were read in order.");
    const { text, session } = await run(anthropicModel(refusing), {
      messages: [...messages, NEXT],
      restore: state,
    });
    expect(text).toBe("The fourth was src/file-3.ts.");
    expect(refusing.refusals).toHaveLength(1);
    expect(session.ledger().map(({ step, reason }) => `${step} ${reason}`)).toContain(
      "recover use-backup-summary",
    );
    const sent = JSON.stringify(refusing.requests.at(-1)?.messages);
    expect(sent).not.toContain('"type":"compaction"');
    expect(sent).toContain("src/file-1.ts");
  });

  it("gives the same window in the next process", async () => {
    const { provider, messages, state } = await afterCompaction();
    const next = { messages: [...messages, NEXT], restore: state };
    const { session } = await run(anthropicModel(provider), next);
    const wire = JSON.stringify(provider.requests.at(-1)?.messages);
    await run(anthropicModel(provider), { ...next, restore: JSON.parse(JSON.stringify(session.toJSON())) });
    expect(JSON.stringify(provider.requests.at(-1)?.messages)).toBe(wire);
    expect(backupsOf(session)).toHaveLength(1);
    expect(provider.refusals).toEqual([]);
  });

  it("is not what undo takes back", async () => {
    const provider = createNativeAnthropic({ answer: twelveFiles });
    const { session } = await run(anthropicModel(provider));
    expect(await session.undo()).toEqual({ status: "nothing" });
    expect(backupsOf(session)).toHaveLength(1);
  });
});

describe("Anthropic's compaction as the summarizer", () => {
  it("sums up the messages as they stand, and leaves when and where to us", async () => {
    const provider = createNativeAnthropic({ windowTokens: 110_000, answer: twelveFiles });
    const used: number[] = [];
    const { session, text } = await run(anthropicModel(provider), {
      providerOptions: {},
      // Below 50,000 tokens the provider does not compact.
      limits: { contextTokens: 100_000, outputTokens: 4_000 },
      prune: "off",
      summarizer: { way: "compaction" },
      onUsage: ({ usage }) => void used.push(usage.inputTokens),
    });
    expect(text).toBe("All twelve files are read.");
    expect(provider.refusals).toEqual([]);
    expect(provider.faults).toEqual([]);
    expect(steps(session)).toEqual(new Set(["compact"]));
    expect(provider.blocks.length).toBeGreaterThan(0);
    expect(used).toHaveLength(provider.blocks.length);
    const asked = provider.requests.filter((body) => body.compaction ?? body.context_management);
    expect(asked).toHaveLength(provider.blocks.length);
    // The request is the conversation itself, tools and all: what the provider has in its cache.
    const [first] = asked;
    expect(first?.tools).toEqual(provider.requests[0]?.tools);
    const before = provider.requests[provider.requests.indexOf(first ?? {}) - 1];
    const cached = JSON.stringify(before?.messages).slice(0, -20);
    expect(JSON.stringify(first?.messages).startsWith(cached)).toBe(true);
    expect(JSON.stringify(first)).toContain("## Next steps");
    // Its words are an ordinary summary of ours: no block is sent.
    const sent = JSON.stringify(provider.requests.at(-1)?.messages);
    expect(sent).toContain(provider.blocks.at(-1));
    expect(sent).not.toContain('"type":"compaction"');
  });

  it("asks by a prompt where the provider does not compact", async () => {
    const provider = createPlainChat({
      windowTokens: 90_000,
      answer: (count) => (count === 0 ? SUMMARY : "The fourth was src/file-3.ts."),
    });
    const filled = Array.from({ length: 12 }, (_, index): ModelMessage[] => [
      { role: "user", content: `Question ${index}?` },
      { role: "assistant", content: toolText(index + 1, 20_000) },
    ]).flat();
    const { model, session } = carryover(
      createOpenAI({ apiKey: "k", fetch: provider.fetch }).chat("gpt-4.1"),
      {
        limits: { contextTokens: 64_000, outputTokens: 4_000 },
        summarizer: { way: "compaction" },
      },
    );
    const { text } = await generateText({ model, messages: [...filled, NEXT], maxRetries: 0 });
    expect(text).toBe("The fourth was src/file-3.ts.");
    expect(steps(session)).toContain("compact");
    expect(provider.requests).toHaveLength(2);
  });
});

const openaiOptions = {
  openai: { store: false, contextManagement: [{ type: "compaction", compactThreshold: 50_000 }] },
};
const probe = createNativeOpenAI({ answer: () => "yes" });
await createOpenAI({ apiKey: "k", fetch: probe.fetch })
  .responses("gpt-5")
  .doGenerate({
    prompt: [{ role: "user", content: [{ type: "text", text: "?" }] }],
    providerOptions: openaiOptions,
  } as never);
/** Version 3 of the package, for `ai` 6, has no option for it and drops the items. */
const isCarried = probe.requests[0]?.context_management !== undefined;

describe.skipIf(!isCarried)("OpenAI's own compaction", () => {
  function openaiModel(provider: NativeProvider) {
    const model = createOpenAI({ apiKey: "k", fetch: provider.fetch }).responses("gpt-5");
    return model as unknown as ReturnType<typeof anthropicModel>;
  }

  it("is left alone, and its item goes back as it came", async () => {
    const provider = createNativeOpenAI({ windowTokens: 200_000, answer: twelveFiles });
    const { text, session } = await run(openaiModel(provider), {
      providerOptions: openaiOptions,
      limits: SMALL,
    });
    expect(text).toBe("All twelve files are read.");
    expect(provider.refusals).toEqual([]);
    expect(provider.faults).toEqual([]);
    expect(provider.blocks.length).toBeGreaterThanOrEqual(2);
    expect(steps(session)).toEqual(new Set(["trim-outputs", "keep-backup-summary"]));
    // What a block stands for does not count.
    const readTokens = provider.readTokens.at(-1) ?? 0;
    expect(Math.abs(session.status().estimate.tokens - readTokens)).toBeLessThan(readTokens * 0.3);
  });

  it("moves to another provider by its backup summary, since nobody else can read the item", async () => {
    const provider = createNativeOpenAI({ windowTokens: 200_000, answer: twelveFiles });
    const { messages, session } = await run(openaiModel(provider), { providerOptions: openaiOptions });
    const other = createNativeAnthropic({ windowTokens: 120_000, answer: () => "The fourth." });
    const moved = await run(anthropicModel(other), {
      messages: [...messages, NEXT],
      providerOptions: {},
      restore: JSON.parse(JSON.stringify(session.toJSON())),
    });
    expect(moved.text).toBe("The fourth.");
    expect(other.refusals).toEqual([]);
    expect(other.faults).toEqual([]);
    const sent = JSON.stringify(other.requests.at(-1)?.messages);
    expect(sent).toContain("src/file-1.ts");
    expect(sent).toContain("name the odd one");
  });

  it("is an answer also where it is all that is answered", async () => {
    const provider = createNativeOpenAI({ answer: () => "Yes." });
    const { model } = carryover(openaiModel(provider));
    const { response } = await generateText({
      model,
      prompt: "Compact now.",
      providerOptions: { openai: { store: false, compactionTrigger: true } },
      maxRetries: 0,
    });
    expect(provider.requests).toHaveLength(1);
    expect(JSON.stringify(response.messages)).toContain("openai.compaction");
  });
});
