import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";
import { createCachePrice } from "../../test/ai-sdk/harness/cache-price.ts";
import {
  type ProviderName,
  type ScriptedProvider,
  startScriptedProvider,
} from "../../test/ai-sdk/harness/scripted-provider.ts";
import { outputBytes, toolText } from "../../test/ai-sdk/harness/tool-texts.ts";
import type { Reply } from "../../test/rig/model-server/step.ts";
import type { ThinkingMode } from "../../test/rig/model-server/thinking/thinking-rules.ts";
import type { Policy } from "./policies.ts";

/** One loop of an agent against the provider of ours. */
export interface Loop extends Script {
  readonly policy: Policy;
  readonly provider: ProviderName;
}

/** What is asked of an agent, whoever made it. */
export interface Script {
  readonly steps: number;
  readonly windowTokens: number;
  /** Where the product itself cuts outputs. */
  readonly cappedAtChars?: number;
  /** Unset: as for a new account. Others edit what thoughts are bound to, so they are measured with an old one. */
  readonly thinking?: ThinkingMode;
}

/** What became of it. */
export interface LoopResult {
  /** Unset when it came to its end. */
  readonly diedAtStep?: number;
  readonly usd: number;
  readonly summaries: number;
  readonly refusals: number;
  readonly faults: number;
  readonly largestTokens: number;
  readonly meanTokens: number;
  /** So much of the ten newest outputs, by line, the model was shown with a request. */
  readonly shownShare: number;
}

/** Runs one on the AI SDK. */
export function runLoop({ policy, provider: name, ...script }: Loop): Promise<LoopResult> {
  return playLoop(script, async ({ provider, output }) => {
    const { model, tools, prepareStep } = policy.setup(provider.model(name), script.windowTokens);
    const read = tool({
      description: READ_DESCRIPTION,
      inputSchema: z.object({ path: z.string() }),
      execute: output,
    });
    await generateText({
      model,
      tools: { read, ...tools },
      system: SYSTEM_PROMPT,
      prompt: TASK,
      stopWhen: stepCountIs(script.steps + 1),
      maxRetries: 0,
      providerOptions: { openai: { store: false } },
      ...(prepareStep && { prepareStep }),
    });
  });
}

export const READ_DESCRIPTION = "Reads a file.";
export const SYSTEM_PROMPT = "You are a careful reader of code.";
export const TASK = "Read every file of the project and tell me whether they are in order.";

/** What an agent has to work with. */
export interface Stage {
  readonly provider: ScriptedProvider;
  /** What its tool prints next. */
  readonly output: () => string;
}

/** Plays the script with an agent until it ends, or until the provider refuses a request and nobody makes it smaller. */
export async function playLoop(
  { steps, windowTokens, cappedAtChars, thinking = "bound" }: Script,
  runAgent: (stage: Stage) => Promise<void>,
): Promise<LoopResult> {
  const price = createCachePrice();
  let answers = 0;
  let inputs = 0;
  let summaries = 0;
  const texts: string[] = [];
  const shares: number[] = [];
  const provider = await startScriptedProvider({
    thinking,
    windowTokens,
    answer({ count, body, inputTokens }): Reply {
      answers = count + 1;
      inputs += inputTokens;
      price.add(body, STEP_OUTPUT_TOKENS);
      if (count > 0 && count % SHARE_EVERY === 0) shares.push(shownShare(body, texts.slice(-NEWEST)));
      const usage = { inputTokens, outputTokens: STEP_OUTPUT_TOKENS };
      if (count >= steps) return { type: "answer", text: "All files are read.", usage };
      const calls = [{ tool: "read", input: { path: `src/file-${count}.ts` } }];
      return { type: "answer", text: `Step ${count}.`, calls, usage };
    },
    summarize({ count, body, inputTokens }): Reply {
      summaries++;
      price.add(body, SUMMARY_OUTPUT_TOKENS);
      const text = `## Goal\nRead every file.\n## Progress\n${toolText(count + 1, SUMMARY_BYTES)}\n## Next steps\nRead on.`;
      return { type: "answer", text, usage: { inputTokens, outputTokens: SUMMARY_OUTPUT_TOKENS } };
    },
  });
  function output(): string {
    const seed = texts.length + 1;
    const text = toolText(seed, outputBytes(seed, RAW_BYTES)).slice(0, cappedAtChars);
    texts.push(text);
    return text;
  }
  try {
    await runAgent({ provider, output });
  } catch (error) {
    // A refusal ends the loop, and how far it came is told below; anything else is a fault of this bench.
    if (provider.refusals() === 0) throw error;
  } finally {
    await provider.stop();
  }
  return {
    ...(answers <= steps && { diedAtStep: answers }),
    usd: price.usd(),
    summaries,
    refusals: provider.refusals(),
    faults: provider.faults().length,
    largestTokens: provider.largestTokens(),
    meanTokens: Math.round(inputs / answers),
    shownShare: shares.reduce((sum, share) => sum + share, 0) / shares.length,
  };
}

/** How many lines of some outputs are in a request. */
function shownShare(body: unknown, outputs: readonly string[]): number {
  const sent = JSON.stringify(body);
  const lines = outputs.flatMap((output) => output.split("\n"));
  const shown = lines.filter((line) => sent.includes(JSON.stringify(line).slice(1, -1)));
  return shown.length / lines.length;
}

const NEWEST = 10;
const SHARE_EVERY = 16;

/** Most outputs are small and a few are large, as in real sessions; the mean is 11 KB. */
const RAW_BYTES = { leastBytes: 2_000, mostBytes: 100_000 };
const STEP_OUTPUT_TOKENS = 60;
const SUMMARY_BYTES = 3_000;
const SUMMARY_OUTPUT_TOKENS = 1_000;
