import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  type AgentMiddleware,
  ClearToolUsesEdit,
  contextEditingMiddleware,
  createAgent,
  summarizationMiddleware,
} from "langchain";
import { carryoverMiddleware } from "../src/langchain.ts";
import { chatModel, readTool } from "../test/langchain/scripted-agent.ts";
import { type LoopResult, playLoop, type Script, SYSTEM_PROMPT, TASK } from "./ai-sdk/run-loop.ts";
import { printTable } from "./measure.ts";

const STEPS = 320;
const WINDOWS = [32_000, 128_000];
const OUTPUTS = { "as they are": {}, "cut at 8,000 characters": { cappedAtChars: 8_000 } } as const;

/** Prints what the loop of `bench ai-sdk` costs an agent of LangChain, with us and with LangChain's own middleware. */
export async function benchLangChain(): Promise<void> {
  for (const [outputs, cap] of Object.entries(OUTPUTS)) {
    const head = WINDOWS.flatMap((window) => [`${window / 1_000}k`, "refused", "lines shown", "summaries"]);
    const rows: string[][] = [["", ...head]];
    for (const [name, middleware] of Object.entries(POLICIES)) {
      const cells: string[] = [];
      const thinking = name === "Carryover" ? "bound" : "free";
      for (const windowTokens of WINDOWS)
        cells.push(...shown(await runLoop({ steps: STEPS, windowTokens, thinking, ...cap }, middleware)));
      rows.push([name, ...cells]);
    }
    printTable(`${STEPS} steps at the prices of Claude Sonnet, outputs ${outputs}`, rows);
  }
}

type Policy = (model: BaseChatModel, windowTokens: number) => readonly unknown[];

/** LangChain's own with their defaults, but for the size at which they act: at eight tenths of the window, and where both are there the outputs are cleared at six. */
const POLICIES: Readonly<Record<string, Policy>> = {
  Carryover: (_, contextTokens) => [carryoverMiddleware({ limits: { contextTokens, outputTokens: 4_000 } })],
  summarizationMiddleware: (model, window) => [summarize(model, 0.8 * window)],
  contextEditingMiddleware: (_, window) => [clear(0.8 * window)],
  "both of them": (model, window) => [summarize(model, 0.8 * window), clear(0.6 * window)],
  nothing: () => [],
};

function summarize(model: BaseChatModel, tokens: number): unknown {
  return summarizationMiddleware({ model, trigger: { tokens }, keep: { messages: 20 } } as never);
}

function clear(tokens: number): unknown {
  return contextEditingMiddleware({ edits: [new ClearToolUsesEdit({ trigger: { tokens } })] });
}

function runLoop(script: Script, policy: Policy): Promise<LoopResult> {
  return playLoop(script, async ({ provider, output }) => {
    const model = chatModel(provider, "anthropic");
    const agent = createAgent({
      model,
      tools: [readTool(output)],
      systemPrompt: SYSTEM_PROMPT,
      middleware: policy(model, script.windowTokens) as AgentMiddleware[],
    });
    await agent.invoke(
      { messages: [{ role: "user", content: TASK }] },
      { recursionLimit: 10 * script.steps },
    );
  });
}

function shown({ diedAtStep, usd, refusals, shownShare, summaries }: LoopResult): readonly string[] {
  const price = diedAtStep === undefined ? `$${usd.toFixed(2)}` : `dies at ${diedAtStep}`;
  const share = diedAtStep === undefined ? `${Math.round(100 * shownShare)} %` : "-";
  return [price, String(refusals), share, String(summaries)];
}
