import { generateText, type ModelMessage, stepCountIs, streamText, tool } from "ai";
import { expect } from "vitest";
import { z } from "zod";
import { type CarryoverOptions, carryover } from "../../../src/ai-sdk.ts";
import { NO_SIGNATURES } from "../../../src/formats/blocks/thought-signature.ts";
import { findGeminiFaults } from "../../../src/formats/wires/gemini/find-faults.ts";
import type { LanguageModelLike } from "../../../src/middleware/language-model.ts";
import { startModelServer } from "../../rig/model-server/model-server.ts";
import type { Answer, ScriptedCall } from "../../rig/model-server/step.ts";
import { createStrictRules } from "../../rig/model-server/strict/strict-rules.ts";
import { outputBytes, toolText } from "./tool-texts.ts";

/** A version of `@ai-sdk/google`, as far as it is used here. */
export interface GoogleProvider {
  createGoogleGenerativeAI(settings: {
    readonly baseURL: string;
    readonly apiKey: string;
  }): (model: string) => LanguageModelLike;
}

export interface GeminiLoop {
  readonly provider: GoogleProvider;
  readonly steps: number;
  /** Calls of one step, of which only the first is signed. */
  readonly parallel: number;
  readonly way: "generate" | "stream";
  /** Unset: everything as it is by default. */
  readonly options?: CarryoverOptions;
  /** So often the process ends in the middle of the turn; another one goes on with the messages and the stored state. */
  readonly restarts?: 0 | 1;
}

export interface GeminiLoopReport {
  readonly text: string;
  readonly messages: readonly ModelMessage[];
  readonly requests: number;
  /** What the server refused. */
  readonly refusals: readonly string[];
  /** What our own rules find in a request. */
  readonly faults: readonly string[];
  /** Requests in which a stand-in takes the place of a signature. */
  readonly standIns: number;
  /** What the AI SDK would have written to the console, and what we warn of. */
  readonly warnings: readonly unknown[];
  /** The steps of the session that changed the messages. */
  readonly edits: readonly string[];
}

const MODEL = "gemini-3-pro-preview";

/** Runs one tool loop of a user's turn against a server that enforces Gemini's rule of signatures. */
export async function runGeminiLoop(loop: GeminiLoop): Promise<GeminiLoopReport> {
  const { provider, steps, way, options = {}, restarts = 0 } = loop;
  const rules = createStrictRules();
  const refusals: string[] = [];
  const faults: string[] = [];
  const warnings: unknown[] = [];
  let requests = 0;
  let standIns = 0;
  let answered = 0;
  const server = await startModelServer({
    judge(request) {
      const { body, model, rawBody } = request;
      faults.push(...findGeminiFaults(body, { model }).map(({ rule, text }) => `${rule}: ${text}`));
      if (NO_SIGNATURES.some((standIn) => rawBody.includes(standIn))) standIns++;
      requests++;
      const refused = rules.refuse(request);
      if (refused !== undefined) refusals.push(JSON.stringify(refused.body));
      return refused ?? (body.tools === undefined ? SUMMARY : answerOf(answered++, loop));
    },
  });
  const log = (given: { readonly warnings: readonly unknown[] }) => warnings.push(...given.warnings);
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: log });
  const edits: string[] = [];
  const base = provider.createGoogleGenerativeAI({ baseURL: server.url, apiKey: "none" })(MODEL);
  const messages: ModelMessage[] = [{ role: "user", content: "Bring every module in order." }];
  let state: unknown;
  let text = "";
  try {
    const half = Math.ceil(steps / 2);
    for (const count of restarts === 0 ? [steps + 1] : [half, steps + 1 - half]) {
      const wrapped = carryover(base, {
        ...options,
        ...(state !== undefined && { restore: state }),
        onEvent(event) {
          if (event.type === "warning") warnings.push(event.code);
        },
      });
      const request = {
        model: wrapped.model,
        tools: { ...createTools(), ...wrapped.tools },
        system: "You are a careful engineer.",
        messages,
        stopWhen: stepCountIs(count),
        maxRetries: 0,
      } as unknown as Parameters<typeof generateText>[0];
      const result = way === "stream" ? await streamed(request) : await generateText(request);
      messages.push(...(await answersOf(result)));
      text = result.text;
      state = JSON.parse(JSON.stringify(wrapped.session)) as unknown;
      for (const { step, outcome } of wrapped.session.ledger()) if (outcome === "applied") edits.push(step);
    }
  } catch (error) {
    text = `failed: ${String(error).slice(0, 200)}`;
  } finally {
    await server.stop();
    Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  }
  return { text, messages, requests, refusals, faults, standIns, warnings, edits };
}

/** What one answer calls: reads, searches, and writes of the same few files, some of which fail. */
function answerOf(count: number, { steps, parallel }: GeminiLoop): Answer {
  if (count >= steps) return { type: "answer", reasoning: "All is done.", text: "Everything is in order." };
  const calls = Array.from({ length: parallel }, (_, index): ScriptedCall => {
    const number = count * parallel + index;
    const path = `src/module-${number % 7}.ts`;
    if (number % 5 === 3) return { tool: "write", input: { path, content: toolText(number, 1_500) } };
    return number % 3 === 0
      ? { tool: "search", input: { words: `module ${number}` } }
      : { tool: "read", input: { path } };
  });
  return { type: "answer", reasoning: `Thought ${count}.`, text: `Step ${count}.`, calls };
}

const SUMMARY: Answer = {
  type: "answer",
  text: "## Goal\nBring every module in order.\n## Progress\nSome were read.\n## Next steps\nRead on.",
};

function createTools() {
  let calls = 0;
  const output = (): string => toolText(++calls, outputBytes(calls, { leastBytes: 300, mostBytes: 20_000 }));
  return {
    read: tool({
      description: "Reads a file.",
      inputSchema: z.object({ path: z.string() }),
      execute: output,
    }),
    search: tool({
      description: "Searches the project.",
      inputSchema: z.object({ words: z.string() }),
      execute: output,
    }),
    write: tool({
      description: "Writes a file.",
      inputSchema: z.object({ path: z.string(), content: z.string() }),
      execute() {
        if (++calls % 3 === 0) throw new Error("The file is locked.");
        return "written";
      },
    }),
  };
}

async function streamed(request: Parameters<typeof generateText>[0]) {
  let failure: unknown;
  const result = streamText({
    ...request,
    onError({ error }) {
      failure = error;
    },
  } as Parameters<typeof streamText>[0]);
  await result.consumeStream();
  if (failure !== undefined) throw failure;
  return {
    text: await result.text,
    response: await result.response,
    responseMessages: await answersOf(result),
  };
}

/** Of all steps: `ai` 7 has them under a name of their own. */
async function answersOf(result: object): Promise<ModelMessage[]> {
  const { responseMessages, response } = result as {
    readonly responseMessages?: ModelMessage[] | PromiseLike<ModelMessage[]>;
    readonly response:
      | { readonly messages: ModelMessage[] }
      | PromiseLike<{ readonly messages: ModelMessage[] }>;
  };
  return (await responseMessages) ?? (await response).messages;
}

/** Loops of one turn, which pruning shortens several times. */
export const GEMINI_LOOPS: readonly Omit<GeminiLoop, "provider">[] = [2, 3].flatMap((parallel) =>
  (["generate", "stream"] as const).flatMap((way) =>
    ([0, 1] as const).map((restarts) => ({ parallel, way, restarts, steps: 64 })),
  ),
);

/** Runs a loop and expects that it goes through without a step that lost its signature. */
export async function loopThatHolds(loop: GeminiLoop): Promise<GeminiLoopReport> {
  const report = await runGeminiLoop(loop);
  const { text, requests, refusals, faults, standIns, warnings, edits } = report;
  expect({ text, refusals, faults, standIns, warnings }).toEqual({
    text: "Everything is in order.",
    refusals: [],
    faults: [],
    standIns: 0,
    warnings: [],
  });
  expect(requests).toBeGreaterThan(loop.steps);
  expect(edits.length).toBeGreaterThan(0);
  return report;
}
