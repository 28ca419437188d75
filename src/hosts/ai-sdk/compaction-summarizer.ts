import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import { MAX_SUMMARY_TOKENS, SECRETS_RULE, SUMMARY_INSTRUCTIONS } from "../../compaction/summary/request.ts";
import { asObject, asString } from "../../text/json.ts";
import { answerFacts } from "./conversation.ts";
import { asCallable, type LanguageModelLike, type ModelCall } from "./language-model.ts";
import { ownBlocks } from "./provider-management.ts";

/**
 * A summarizer that has Anthropic compact the messages as they stand, which are in its cache, instead of quoting them in
 * a request of their own. Whatever does not end with a compaction is asked of the other one.
 */
export function createCompactionSummarizer(
  model: LanguageModelLike,
  { current, otherwise, system, instructions = SUMMARY_INSTRUCTIONS }: CompactionSummarizerOptions,
): Summarizer {
  const told = [system, instructions, NO_TOOLS, LENGTH, SECRETS_RULE].filter(Boolean).join("\n\n");
  return {
    async summarize(request, options) {
      const now = current();
      const isAnthropic = ownBlocks(model.provider, model.modelId) === "anthropic";
      if (now === undefined || !isAnthropic) return otherwise.summarize(request, options);
      const { signal, onProgress, onUsage } = options;
      const { call, way, prompt } = now;
      const { providerOptions } = call;
      const own = asObject(asObject(providerOptions).anthropic);
      // A stream changes how tools are declared, and with them everything that is cached.
      const asSent = way === "generate" ? { ...own, toolStreaming: false } : own;
      const text = await readBlock(
        () =>
          asCallable(model).doStream({
            ...call,
            prompt,
            maxOutputTokens: request.maxOutputTokens,
            abortSignal: signal,
            providerOptions: {
              ...asObject(providerOptions),
              anthropic: askToCompact(model, asSent, told),
            },
          }),
        { onProgress, ...(onUsage && { onUsage }) },
      );
      return text.trim() === "" && !signal.aborted ? otherwise.summarize(request, options) : text;
    },
  };
}

/** A request that is being prepared: with these messages it would be sent now. */
export interface CurrentRequest {
  readonly call: ModelCall;
  readonly way: "generate" | "stream";
  readonly prompt: ModelCall["prompt"];
}

interface CompactionSummarizerOptions {
  /** Undefined where none is known. */
  readonly current: () => CurrentRequest | undefined;
  /** Asked where the provider does not compact. */
  readonly otherwise: Summarizer;
  readonly system?: string;
  readonly instructions?: string;
}

const NO_TOOLS = "Call no tools, and do not go on with the conversation: write the summary and nothing else.";
const LENGTH = `Write at most ${Math.floor(MAX_SUMMARY_TOKENS * 0.6)} words.`;

/** Packages for `ai` 7 compact on demand; older ones only from a number of tokens on, of which this is the least. */
function askToCompact(
  { specificationVersion }: LanguageModelLike,
  { contextManagement: _, ...options }: Readonly<Record<string, unknown>>,
  instructions: string,
): Readonly<Record<string, unknown>> {
  if (specificationVersion !== "v3" && specificationVersion !== "v2")
    return { ...options, compaction: { type: "summarize", instructions } };
  const trigger = { type: "input_tokens", value: LEAST_TRIGGER_TOKENS };
  const edit = { type: "compact_20260112", trigger, pauseAfterCompaction: true, instructions };
  return { ...options, contextManagement: { edits: [edit] } };
}

const LEAST_TRIGGER_TOKENS = 50_000;

/** The words of the compaction block in an answer; nothing where there is none, or no answer. */
async function readBlock(
  start: () => PromiseLike<unknown>,
  { onProgress, onUsage }: Pick<Parameters<Summarizer["summarize"]>[1], "onProgress" | "onUsage">,
): Promise<string> {
  const texts: string[] = [];
  let blockId: unknown;
  try {
    const { stream } = (await start()) as { readonly stream: ReadableStream<unknown> };
    for await (const value of stream) {
      const { type, id, delta, providerMetadata } = asObject(value);
      const isBlock = asObject(asObject(providerMetadata).anthropic).type === "compaction";
      if (type === "text-start" && isBlock) blockId = id;
      const text = type === "text-delta" && id === blockId ? asString(delta) : undefined;
      onProgress(text);
      if (text !== undefined) texts.push(text);
      if (type === "error") return "";
      const { usage } = type === "finish" ? answerFacts(value) : {};
      if (usage !== undefined) onUsage?.(usage);
    }
  } catch {
    return "";
  }
  return texts.join("");
}
