import { generateText, type ModelMessage, stepCountIs, streamText, ToolLoopAgent, tool } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { carryover } from "../../src/ai-sdk.ts";
import type { Reply } from "../rig/model-server/step.ts";
import { longConversation } from "./harness/conversation.ts";
import {
  type ScriptedProvider,
  type ScriptedProviderOptions,
  startScriptedProvider,
} from "./harness/scripted-provider.ts";
import { toolText } from "./harness/tool-texts.ts";
import { read } from "./harness/tools.ts";

let provider: ScriptedProvider;
afterEach(() => provider.stop());

const limits = { contextTokens: 20_000, outputTokens: 2_000 };
const STEPS = 24;

async function start(options: ScriptedProviderOptions = {}): Promise<void> {
  provider = await startScriptedProvider({
    windowTokens: 20_000,
    answer: ({ count }): Reply =>
      count < STEPS
        ? { type: "answer", calls: [{ tool: "list", input: { folder: `src/${count}` } }] }
        : { type: "answer", text: "All listed." },
    ...options,
  });
}

let listed = 0;
const list = tool({
  description: "Lists a folder.",
  inputSchema: z.object({ folder: z.string() }),
  execute: () => toolText(++listed, 12_000),
});
const prompt = "List every folder.";
const stopWhen = stepCountIs(STEPS + 1);

function expectWithinWindow(): void {
  expect(provider.refusals()).toBe(0);
  expect(provider.faults()).toEqual([]);
  expect(provider.server.requests.filter(({ body }) => body.tools !== undefined)).toHaveLength(STEPS + 1);
}

describe("a loop stays within its window", () => {
  it("with generateText and the wrapped model", async () => {
    await start();
    const { model, tools } = carryover(provider.model("openai-compatible"), { limits });
    expect((await generateText({ model, tools: { list, ...tools }, prompt, stopWhen })).text).toBe(
      "All listed.",
    );
    expectWithinWindow();
  });

  it("with streamText, whose parts come as they would without us", async () => {
    await start();
    const { model, tools } = carryover(provider.model("anthropic"), { limits });
    const types = new Set<string>();
    const result = streamText({ model, tools: { list, ...tools }, prompt, stopWhen });
    for await (const part of result.fullStream) types.add(part.type);
    expect(await result.text).toBe("All listed.");
    expect([...types]).toEqual(
      expect.arrayContaining(["start-step", "tool-call", "tool-result", "text-delta", "finish"]),
    );
    expect((await result.steps).at(-1)?.usage.inputTokens).toBeGreaterThan(0);
    expectWithinWindow();
  });

  it("with an agent", async () => {
    await start();
    const { model, tools } = carryover(provider.model("openai-responses"), { limits });
    const agent = new ToolLoopAgent({ model, tools: { list, ...tools }, stopWhen });
    expect((await agent.generate({ prompt })).text).toBe("All listed.");
    expectWithinWindow();
  });

  it("with prepareStep and a model that is not wrapped", async () => {
    await start();
    const base = provider.model("openai-chat");
    const { prepareStep, tools, session } = carryover(base, { limits });
    const result = await generateText({
      model: base,
      tools: { list, ...tools },
      prompt,
      stopWhen,
      prepareStep,
    });
    expect(result.text).toBe("All listed.");
    expect(session.ledger().map(({ step }) => step)).toContain("prune");
    expectWithinWindow();
  });

  it("with prepareStep, and summaries in place of pruning", async () => {
    await start();
    const base = provider.model("openai-chat");
    // By default such a loop is pruned (above); a compaction of prepareStep is looked at.
    const { prepareStep, tools, session } = carryover(base, { limits, prune: "off" });
    const result = await generateText({
      model: base,
      tools: { list, ...tools },
      prompt,
      stopWhen,
      prepareStep,
    });
    expect(result.text).toBe("All listed.");
    expect(session.ledger().map(({ step }) => step)).toContain("compact");
    expectWithinWindow();
  });

  it("with both at once, which is the same as the wrapped model alone", async () => {
    await start();
    const { model, prepareStep, tools, session } = carryover(provider.model("openai-chat"), { limits });
    const result = await generateText({ model, tools: { list, ...tools }, prompt, stopWhen, prepareStep });
    expect(result.text).toBe("All listed.");
    expect(session.ledger().every(({ outcome }) => outcome === "applied")).toBe(true);
    expectWithinWindow();
  });
});

type Tools = ReturnType<typeof carryover>["tools"];

describe("the recall tool", () => {
  it("gives the model what was left out of an output, by the handle that it was told", async () => {
    const long = toolText(7, 150_000);
    const lines = long.split("\n");
    await start({
      answer({ count, body }): Reply {
        if (count === 0) return { type: "answer", calls: [{ tool: "read", input: { path: "log" } }] };
        const handle = /kept: handle ([^.]+?)\. Read/.exec(JSON.stringify(body.messages))?.[1];
        if (count === 1)
          return {
            type: "answer",
            calls: [{ tool: "recall", input: { handle, fromLine: 900, toLine: 901 } }],
          };
        if (count === 2)
          return { type: "answer", calls: [{ tool: "recall", input: { search: lines[1200] } }] };
        return { type: "answer", text: "Found." };
      },
    });
    const { model, tools } = carryover(provider.model("openai-compatible"), { limits });
    const log = tool({ inputSchema: z.object({ path: z.string() }), execute: () => long });
    const { text, steps } = await generateText({
      model,
      tools: { read: log, ...tools },
      prompt: "What does the log say?",
      stopWhen: stepCountIs(6),
    });
    expect(text).toBe("Found.");
    const recalled = steps.slice(1, 3).map(({ toolResults }) => String(toolResults[0]?.output));
    expect(recalled[0]).toContain(`${lines[899]}\n${lines[900]}`);
    expect(recalled[1]).toContain("line 1201 of");
    expect(recalled[1]).toContain(`1201: ${lines[1200]}`);
  });

  it.each([
    { name: "its own name", given: (own: Tools) => own, says: "Read parts of it with the recall tool" },
    {
      name: "another name and description",
      given: ({ recall }: Tools) => ({ look_up: { ...recall, description: "Looks up old things." } }),
      says: "Read parts of it with the look_up tool",
    },
    { name: "none where the model does not have it", given: () => ({}), says: undefined },
    {
      name: "the name that an option gives",
      given: () => ({}),
      options: { recallTool: "archive" },
      says: "Read parts of it with the archive tool",
    },
  ])("is named in notices by $name", async ({ given, options, says }) => {
    await start({
      answer: ({ count }): Reply =>
        count === 0
          ? { type: "answer", calls: [{ tool: "read", input: { path: "log" } }] }
          : { type: "answer", text: "Seen." },
    });
    const { model, tools } = carryover(provider.model("openai-compatible"), { limits, ...options });
    const log = tool({ inputSchema: z.object({ path: z.string() }), execute: () => toolText(7, 150_000) });
    await generateText({ model, tools: { read: log, ...given(tools) }, prompt, stopWhen: stepCountIs(3) });
    const notice = /\[Full output kept: [^\]]*\]/.exec(
      JSON.stringify(provider.server.requests[1]?.body),
    )?.[0];
    expect(notice).toBeDefined();
    if (says === undefined) expect(notice).not.toMatch(/tool|[Rr]ecall/);
    else expect(notice).toContain(says);
  });

  it("brings back what pruning took out, with default options", async () => {
    await start({ answer: () => ({ type: "answer", text: "Module 11." }) });
    const { model, tools, session } = carryover(provider.model("openai-compatible"), { limits });
    const messages: ModelMessage[] = [
      ...longConversation({ turns: 16, outputBytes: 6_000 }),
      { role: "user", content: "And now?" },
    ];
    await generateText({ model, messages, tools: { read } });
    expect(session.ledger().map(({ step }) => step)).toEqual(["prune"]);
    const sent = JSON.stringify(provider.server.requests.at(-1)?.body);
    const gone = outputLines(messages).find((line) => !sent.includes(JSON.stringify(line).slice(1, -1)));
    expect(gone).toBeDefined();
    const options = { toolCallId: "x", messages: [], context: undefined } as never;
    expect(String(await tools.recall.execute?.({ search: gone ?? "" }, options))).toContain(gone);
  });

  it("brings back what a compaction folded", async () => {
    await start({ answer: () => ({ type: "answer", text: "Module 11." }) });
    const { model, tools, session } = carryover(provider.model("openai-compatible"), {
      limits,
      // By default this conversation is pruned and not folded.
      prune: "off",
    });
    const messages: ModelMessage[] = [
      ...longConversation({ turns: 16, outputBytes: 6_000 }),
      { role: "user", content: "And now?" },
    ];
    await generateText({ model, messages, tools: { read } });
    expect(session.ledger().map(({ step }) => step)).toContain("compact");
    const options = { toolCallId: "x", messages: [], context: undefined } as never;
    const found = await tools.recall.execute?.({ search: "Question 3:" }, options);
    expect(String(found)).toContain("what does module 3 do?");
    expect(String(await tools.recall.execute?.({ handle: "nowhere" }, options))).toContain("Nothing is kept");
  });
});

/** The lines of all tool results, the oldest first. */
function outputLines(messages: readonly ModelMessage[]): readonly string[] {
  return messages
    .flatMap(({ role, content }) => (role === "tool" ? content : []))
    .flatMap((part) =>
      part.type === "tool-result" && part.output.type === "text" ? [part.output.value] : [],
    )
    .flatMap((text) => text.split("\n").filter((line) => line.length > 20));
}

describe("pins", () => {
  it.each([
    { how: "pruned, as by default", options: {}, step: "prune" },
    // By default pruning spares this conversation the compaction.
    { how: "compacted", options: { prune: "off" }, step: "compact" },
  ] as const)("stay before the model whatever is $how", async ({ options, step }) => {
    await start({ answer: () => ({ type: "answer", text: "Module 11." }) });
    const { model, session } = carryover(provider.model("anthropic"), {
      limits,
      ...options,
      pins: [{ text: "Never touch the migrations folder." }],
    });
    const messages: ModelMessage[] = [
      { role: "user", content: "Never touch the migrations folder." },
      ...longConversation({ turns: 16, outputBytes: 6_000 }),
      { role: "user", content: "And now?" },
    ];
    await generateText({ model, messages, tools: { read } });
    const last = JSON.stringify(provider.server.requests.at(-1)?.body);
    expect(session.ledger().map((entry) => entry.step)).toEqual([step]);
    if (step === "compact") expect(last).not.toContain("Module 3 is in order.");
    expect(last).toContain("Never touch the migrations folder.");
  });
});
