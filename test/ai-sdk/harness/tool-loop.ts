import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { type CarryoverOptions, carryover } from "../../../src/ai-sdk.ts";
import type { LedgerEntry } from "../../../src/session/ledger.ts";
import type { Reply } from "../../rig/model-server/step.ts";
import type { ThinkingMode } from "../../rig/model-server/thinking/thinking-rules.ts";
import { createCachePrice } from "./cache-price.ts";
import { type ProviderName, startScriptedProvider } from "./scripted-provider.ts";
import { type OutputRange, outputBytes, toolText } from "./tool-texts.ts";

export interface LoopOptions extends OutputRange {
  readonly provider: ProviderName;
  readonly steps: number;
  readonly windowTokens: number;
  /** Whether answers are streamed. */
  readonly way?: "generate" | "stream";
  /** Calls of one step. */
  readonly parallel?: number;
  readonly thinking?: ThinkingMode;
  /** Unset: the loop runs without us. */
  readonly carryover?: CarryoverOptions;
}

export interface LoopReport {
  readonly text: string;
  readonly requests: number;
  readonly summaries: number;
  readonly refusals: number;
  readonly largestTokens: number;
  readonly faults: readonly unknown[];
  readonly price: number;
  readonly readTokens: number;
  readonly writtenTokens: number;
  readonly ledger: readonly LedgerEntry[];
  readonly error?: unknown;
}

/** Runs one agent loop against a scripted model: as many steps as asked for, each with tool outputs of random size. */
export async function runToolLoop(options: LoopOptions): Promise<LoopReport> {
  const { provider: name, steps, windowTokens, parallel = 1 } = options;
  const price = createCachePrice();
  const provider = await startScriptedProvider({
    windowTokens,
    ...(options.thinking && { thinking: options.thinking }),
    answer: ({ count }): Reply =>
      count < steps
        ? {
            type: "answer",
            text: `Step ${count}.`,
            calls: Array.from({ length: parallel }, (_, index) => ({
              tool: "read",
              input: { path: `src/file-${count * parallel + index}.ts` },
            })),
          }
        : { type: "answer", text: "All files are read." },
  });
  const base = provider.model(name);
  const wrapped = options.carryover && carryover(base, options.carryover);
  let seed = 0;
  const read = tool({
    description: "Reads a file.",
    inputSchema: z.object({ path: z.string() }),
    execute: () => toolText(++seed, outputBytes(seed, options)),
  });
  try {
    const request = {
      model: wrapped?.model ?? base,
      tools: { read, ...wrapped?.tools },
      system: "You are a careful reader of code.",
      prompt: "Read every file of the project and tell me whether they are in order.",
      stopWhen: stepCountIs(steps + 1),
      maxRetries: 0,
      providerOptions: { openai: { store: false } },
    };
    const text =
      options.way === "stream"
        ? await streamText({ ...request, onError: () => undefined }).text
        : (await generateText(request)).text;
    return report(text);
  } catch (error) {
    return { ...report(""), error };
  } finally {
    await provider.stop();
  }

  function report(text: string): LoopReport {
    const accepted = provider.server.requests.filter(({ reply }) => reply.type === "answer");
    for (const { body } of accepted) price.add(body);
    return {
      text,
      requests: provider.server.requests.length,
      summaries: accepted.filter(({ body }) => body.tools === undefined).length,
      refusals: provider.refusals(),
      largestTokens: provider.largestTokens(),
      faults: provider.faults(),
      price: Math.round(price.total()),
      readTokens: price.readTokens(),
      writtenTokens: price.writtenTokens(),
      ledger: wrapped?.session.ledger() ?? [],
    };
  }
}

/** The steps of a ledger with their number. */
export function stepCounts(ledger: readonly LedgerEntry[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { step, reason, outcome } of ledger) {
    const name = `${step} ${reason} ${outcome}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
