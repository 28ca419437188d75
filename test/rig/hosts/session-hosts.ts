import { MemorySaver } from "@langchain/langgraph";
import { generateText, type ModelMessage, stepCountIs, tool } from "ai";
import { createAgent, tool as langChainTool } from "langchain";
import { z } from "zod";
import { carryover } from "../../../src/ai-sdk.ts";
import { type CarryoverMiddlewareOptions, carryoverMiddleware } from "../../../src/langchain.ts";
import { createMemoryJournal } from "../../../src/stores/memory/journal.ts";
import { createMemoryOutputStore } from "../../../src/stores/memory/output-store.ts";
import {
  HOST_SUMMARY,
  type HostUnderTest,
  type ScriptedReply,
  type StagedHost,
} from "../../../src/testing.ts";
import { type ScriptedProvider, startScriptedProvider } from "../../ai-sdk/harness/scripted-provider.ts";
import { chatModel } from "../../langchain/scripted-agent.ts";

const OUTPUT_TOKENS = 8_000;
const NO_FORK = {
  fork: "it starts no agents of its own; `forkContext` gives a child its messages",
  delivery: "it starts no agents of its own",
};

/** A model of the AI SDK with Carryover around it, in a loop of the SDK. */
export const AI_SDK_HOST: HostUnderTest = {
  name: "AI SDK",
  cannot: NO_FORK,
  async start({ files, windowTokens }) {
    const replies: ScriptedReply[] = [];
    const provider = await startProvider(replies);
    const store = { journal: createMemoryJournal(), outputs: createMemoryOutputStore() };
    const bash = tool({
      description: "Runs a command.",
      inputSchema: COMMAND,
      execute: ({ command }) => files[command.replace("cat ", "")] ?? "",
    });
    const limits = { contextTokens: windowTokens, outputTokens: OUTPUT_TOKENS };
    const open = () => carryover(provider.model("anthropic"), { limits, store });
    const messages: ModelMessage[] = [];
    let conversation = open();
    return staged(provider, replies, {
      async say(content) {
        messages.push({ role: "user", content });
        const { model, tools } = conversation;
        const answer = await generateText({
          model,
          messages,
          tools: { ...tools, bash },
          stopWhen: stepCountIs(100),
          maxRetries: 0,
        });
        messages.push(...answer.response.messages);
      },
      async compact() {
        await conversation.compact(messages);
      },
      async restart() {
        conversation = open();
      },
    });
  },
};

/** An agent of LangChain with the middleware. */
export const LANGCHAIN_HOST: HostUnderTest = {
  name: "LangChain",
  cannot: NO_FORK,
  async start({ files, windowTokens }) {
    const replies: ScriptedReply[] = [];
    const provider = await startProvider(replies);
    const checkpointer = new MemorySaver();
    const bash = langChainTool(
      async ({ command }: { command: string }) => files[command.replace("cat ", "")] ?? "",
      { name: "bash", description: "Runs a command.", schema: COMMAND },
    );
    const limits = { contextTokens: windowTokens, outputTokens: OUTPUT_TOKENS };
    const open = (options: CarryoverMiddlewareOptions) =>
      createAgent({
        model: chatModel(provider, "anthropic"),
        tools: [bash],
        middleware: [carryoverMiddleware(options)],
        checkpointer,
      });
    let agent = open({ limits });
    return staged(provider, replies, {
      async say(content) {
        const thread = { configurable: { thread_id: "1" }, recursionLimit: 500 };
        await agent.invoke({ messages: [{ role: "user", content }] }, thread);
      },
      // Nobody can ask for it: it comes when a window is full and pruning is not enough.
      async compact() {
        const contextTokens = windowTokens / 3;
        agent = open({ limits: { ...limits, contextTokens }, prune: "off", backgroundCompaction: "off" });
      },
      async restart() {
        agent = open({ limits });
      },
    });
  },
};

const COMMAND = z.object({ command: z.string() });

function startProvider(replies: ScriptedReply[]): Promise<ScriptedProvider> {
  return startScriptedProvider({
    answer() {
      const reply = replies.shift() ?? { say: "(nothing scripted)" };
      if ("say" in reply) return { type: "answer", text: reply.say };
      return { type: "answer", calls: [{ tool: reply.call, input: reply.args }] };
    },
    summarize: () => ({ type: "answer", text: HOST_SUMMARY }),
  });
}

interface Talk extends Pick<StagedHost, "compact" | "restart"> {
  say(text: string): Promise<void>;
}

function staged({ server, stop }: ScriptedProvider, replies: ScriptedReply[], talk: Talk): StagedHost {
  return {
    async turn(text, script) {
      const before = server.requests.length;
      replies.push(...script);
      await talk.say(text);
      return server.requests
        .slice(before)
        .filter(({ body }) => body.tools !== undefined)
        .map(({ body }) => JSON.stringify(body.messages));
    },
    compact: talk.compact,
    restart: talk.restart,
    childReply: () => {},
    childRequests: () => [],
    stop,
  };
}
