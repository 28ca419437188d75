import type { ProviderCompaction, SummarizeOptions, Summarizer } from "../compaction/ports/summarizer.ts";
import { compactionInstructions } from "../compaction/summary/request.ts";
import { contentOf } from "../formats/wires/ai-sdk/ai-sdk-message.ts";
import { asObject, asString } from "../text/unknown-value.ts";
import type { Edit } from "../transcript/edit.ts";
import type { ProviderBlock } from "../transcript/part.ts";
import { answerFacts } from "./answer.ts";
import { asCallable, type LanguageModelLike, type ModelCall } from "./language-model.ts";
import { ownBlocks } from "./provider-management.ts";

/**
 * A summarizer that has Anthropic compact the messages as they stand, which are in its cache, instead of quoting them in
 * a request of their own. Where that gives no compaction, `otherwise` is asked.
 */
export function createCompactionSummarizer(
  model: LanguageModelLike,
  { current, otherwise, of, ...words }: CompactionSummarizerOptions,
): Summarizer {
  const isAnthropic = ownBlocks(model.provider, model.modelId) === "anthropic";
  // A gateway may ask a platform that has no such blocks.
  const takesBlock =
    isAnthropic && of === "this-model" && model.provider !== "gateway" && compactsOnDemand(model);
  const ask = (
    { call, way, prompt }: CurrentRequest,
    { instructions, maxOutputTokens }: Omit<ProviderCompaction, "edits">,
    { signal, onProgress, onUsage }: SummarizeOptions,
  ): Promise<ReadBlock> => {
    const own = asObject(asObject(call.providerOptions).anthropic);
    // For a stream the package declares tools in another way, and nothing would be read from the cache.
    const asSent = way === "generate" ? { ...own, toolStreaming: false } : own;
    return readBlock(
      () =>
        asCallable(model).doStream({
          ...call,
          prompt,
          maxOutputTokens,
          abortSignal: signal,
          providerOptions: {
            ...asObject(call.providerOptions),
            anthropic: askToCompact(model, asSent, instructions),
          },
        }),
      { onProgress, ...(onUsage && { onUsage }) },
    );
  };
  return {
    async summarize(request, options) {
      const now = current();
      if (now === undefined || !isAnthropic) return otherwise.summarize(request, options);
      const { maxOutputTokens } = request;
      const asked = { instructions: compactionInstructions(words), maxOutputTokens };
      const { text } = await ask(now, asked, options);
      return text.trim() === "" && !options.signal.aborted ? otherwise.summarize(request, options) : text;
    },
    ...(takesBlock && { byProvider: { keptFrom: "user", compact } }),
  };

  /** The package joins answers that follow each other, so what is kept begins with the user. */
  async function compact(
    { edits, ...request }: ProviderCompaction,
    options: SummarizeOptions,
  ): Promise<ProviderBlock | undefined> {
    const now = current(edits);
    if (now === undefined || isTrimmed(now.prompt)) return undefined;
    const { text, signature } = await ask(now, request, options);
    return signature === undefined ? undefined : { type: "compaction", content: text, signature };
  }
}

/** The package cuts blanks off the end of a last answer, so the block would stand for other messages than ours. */
function isTrimmed(prompt: CurrentRequest["prompt"]): boolean {
  const last = prompt.at(-1);
  const text = last && asString(contentOf(last).at(-1)?.text);
  return text !== undefined && text !== text.trim();
}

/** Whether the provider's package can ask for a compaction of any size and takes the signed block back: those for `ai` 7 do. */
function compactsOnDemand({ specificationVersion }: LanguageModelLike): boolean {
  return specificationVersion !== "v3" && specificationVersion !== "v2";
}

/** A request that is being prepared, with the messages as they would be sent now. */
export interface CurrentRequest {
  readonly call: ModelCall;
  readonly way: "generate" | "stream";
  readonly prompt: ModelCall["prompt"];
}

interface CompactionSummarizerOptions {
  /** Undefined where none is known. */
  readonly current: (edits?: readonly Edit[]) => CurrentRequest | undefined;
  /** Whose conversation it is: only its own model takes a block in it. */
  readonly of: "this-model" | "another-model";
  /** Asked where the provider does not compact. */
  readonly otherwise: Summarizer;
  readonly system?: string;
  readonly instructions?: string;
}

/** Older packages compact only from a number of tokens on, of which this is the least. */
function askToCompact(
  model: LanguageModelLike,
  { contextManagement: _, ...options }: Readonly<Record<string, unknown>>,
  instructions: string,
): Readonly<Record<string, unknown>> {
  if (compactsOnDemand(model)) return { ...options, compaction: { type: "summarize", instructions } };
  const trigger = { type: "input_tokens", value: LEAST_TRIGGER_TOKENS };
  const edit = { type: "compact_20260112", trigger, pauseAfterCompaction: true, instructions };
  return { ...options, contextManagement: { edits: [edit] } };
}

const LEAST_TRIGGER_TOKENS = 50_000;

interface ReadBlock {
  readonly text: string;
  readonly signature?: string | undefined;
}

const NO_BLOCK: ReadBlock = { text: "" };

/** The compaction block in an answer; without words where there is none, or no answer. */
async function readBlock(
  start: () => PromiseLike<unknown>,
  { onProgress, onUsage }: Pick<Parameters<Summarizer["summarize"]>[1], "onProgress" | "onUsage">,
): Promise<ReadBlock> {
  const texts: string[] = [];
  let blockId: unknown;
  let signature: string | undefined;
  try {
    const { stream } = (await start()) as { readonly stream: ReadableStream<unknown> };
    for await (const value of stream) {
      const { type, id, delta, providerMetadata } = asObject(value);
      const own = asObject(asObject(providerMetadata).anthropic);
      if (type === "text-start" && own.type === "compaction") {
        blockId = id;
        signature = asString(own.signature);
      }
      const text = type === "text-delta" && id === blockId ? asString(delta) : undefined;
      onProgress(text);
      if (text !== undefined) texts.push(text);
      if (type === "error") return NO_BLOCK;
      const { usage } = type === "finish" ? answerFacts(value) : {};
      if (usage !== undefined) onUsage?.(usage);
    }
  } catch {
    return NO_BLOCK;
  }
  return { text: texts.join(""), signature };
}
