import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { generateText, type ModelMessage, streamText } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { carryover } from "../../src/ai-sdk.ts";
import { createFileJournal } from "../../src/stores/files/journal.ts";
import { createFileOutputStore } from "../../src/stores/files/output-store.ts";
import type { Reply } from "../rig/model-server/step.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { bundleAgent } from "./harness/bundle-agent.ts";
import { longConversation } from "./harness/conversation.ts";
import {
  type ScriptedProvider,
  type ScriptedProviderOptions,
  startScriptedProvider,
} from "./harness/scripted-provider.ts";
import { read } from "./harness/tools.ts";

let provider: ScriptedProvider;
afterEach(() => provider.stop());

const limits = { contextTokens: 20_000, outputTokens: 2_000 };
const messages: ModelMessage[] = [
  ...longConversation({ turns: 16, outputBytes: 6_000 }),
  { role: "user", content: "Which module was the last one?" },
];
const DONE: Reply = { type: "answer", text: "Module 15." };

async function start(options: ScriptedProviderOptions): Promise<void> {
  provider = await startScriptedProvider({ windowTokens: 20_000, answer: () => DONE, ...options });
}

async function untilRequested(count: number): Promise<void> {
  while (provider.server.requests.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe("an abort", () => {
  it("ends a request whose summary hangs, and leaves the conversation as it was", async () => {
    let isHanging = true;
    await start({ summarize: () => (isHanging ? { type: "stall" } : undefined) });
    // By default this conversation is pruned and nobody asks for a summary (summarizer.test.ts).
    const { model, session } = carryover(provider.model("openai-compatible"), { limits, prune: "off" });
    const controller = new AbortController();
    const answer = generateText({ model, messages, tools: { read }, abortSignal: controller.signal });
    await untilRequested(1);
    controller.abort();
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
    expect(session.toJSON().batches).toEqual([]);
    expect(provider.server.requests).toHaveLength(1);

    isHanging = false;
    expect((await generateText({ model, messages, tools: { read } })).text).toBe("Module 15.");
    expect(provider.faults()).toEqual([]);
  });

  it("ends an answer that hangs in the middle of its stream", async () => {
    await start({ answer: () => ({ type: "stall", text: "Mod" }) });
    const { model } = carryover(provider.model("anthropic"), { limits });
    const controller = new AbortController();
    const parts: string[] = [];
    const { fullStream } = streamText({
      model,
      messages: [{ role: "user", content: "hello" }],
      abortSignal: controller.signal,
    });
    for await (const part of fullStream) {
      parts.push(part.type);
      if (part.type === "text-delta") controller.abort();
    }
    expect(parts.at(-1)).toBe("abort");
  });

  it("before the request sends nothing at all", async () => {
    await start({});
    const { model } = carryover(provider.model("openai-compatible"), { limits });
    const abortSignal = AbortSignal.abort();
    await expect(generateText({ model, messages, tools: { read }, abortSignal })).rejects.toThrow();
    expect(provider.server.requests).toEqual([]);
  });
});

describe("Ctrl-C", () => {
  it("in the middle of a loop leaves the store whole, and another process goes on with it", async () => {
    const STEPS = 12;
    const folder = temporaryFolder();
    let isBack = false;
    await start({
      answer: ({ count }): Reply =>
        count < STEPS
          ? { type: "answer", calls: [{ tool: "list", input: { folder: `src/${count}` } }] }
          : isBack
            ? DONE
            : { type: "stall" },
    });
    const program = await bundleAgent();
    const child = fork(program.path, [provider.server.url, folder], {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let known: ModelMessage[] = [];
    child.on("message", (sent) => {
      known = sent as ModelMessage[];
    });
    // What the program knows comes over another channel than its request: both have to be here.
    const isStalled = () => provider.server.requests.some(({ reply }) => reply.type === "stall");
    while (!isStalled() || known.length < 1 + 2 * STEPS)
      await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGINT");
    const [, signal] = await once(child, "exit");
    program.remove();
    expect(signal).toBe("SIGINT");

    const journal = createFileJournal({ root: join(folder, "journal"), session: "agent" });
    const { entries, problems } = await journal.read();
    expect(problems).toEqual([]);
    expect(entries.length).toBeGreaterThan(3);
    const outputs = createFileOutputStore({ root: join(folder, "outputs") });
    const { model, session } = carryover(provider.model("openai-compatible"), {
      limits,
      store: { journal, outputs },
    });
    const sent = provider.server.requests.at(-1)?.body.messages as readonly unknown[];
    isBack = true;
    await generateText({ model, messages: known, tools: { read } });
    expect(provider.server.requests.at(-1)?.body.messages).toEqual(sent);
    const handles = session
      .status()
      .batches.flatMap(({ edits }) =>
        edits.flatMap((edit) => (edit.stage === "tool-output" && edit.omitted ? [edit.omitted.handle] : [])),
      );
    expect(handles.length).toBeGreaterThan(3);
    for (const handle of handles) expect((await session.recall(handle)).status).toBe("found");
  });
});
