import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import { inputWindowTokens } from "../../compaction/trigger/overflow.ts";
import type { SessionOptions } from "../../session/options.ts";
import { check, either, methods, oneOf, type Rule, text } from "../../text/check.ts";
import { omitUndefined } from "../../text/json.ts";
import type { ModelRef } from "../../transcript/message.ts";
import { type CurrentRequest, createCompactionSummarizer } from "./compaction-summarizer.ts";
import {
  createModelSummarizer,
  knownLimits,
  type LanguageModelLike,
  type ModelCall,
} from "./language-model.ts";
import { resolveModel } from "./model-by-name.ts";

/** Who writes summaries, and what it is told. */
export interface SummarizerChoice {
  /** Another model of the AI SDK, by object or by name, or code of your own. @default the model itself */
  readonly model?: LanguageModelLike | string | Summarizer;
  /** Who it is and for whom it writes; the rules that hold for every product follow. @default the memory of an AI agent */
  readonly system?: string;
  /** What to write and under which headings; merging, length and secrets are still told after it. @default six headings */
  readonly instructions?: string;
  /** `compaction`: Anthropic compacts the messages as they stand in its cache; other models are asked by a prompt. @default prompt */
  readonly way?: "prompt" | "compaction";
}

/** What the option `summarizer` may be. */
export type SummarizerOption = LanguageModelLike | string | Summarizer | SummarizerChoice;

/** The summarizer of a conversation with this model, as the session takes it, and the model that is asked; none without either. */
export function readSummarizer(
  base: LanguageModelLike | undefined,
  given: SummarizerOption | undefined,
  { headers, current }: SummarizerCalls,
): ReadSummarizer {
  const { model: chosen = base, system, instructions, way } = choiceOf(given);
  const writer = typeof chosen === "string" ? resolveModel(chosen) : chosen;
  const told = omitUndefined({ system, instructions });
  if (writer === undefined) return { option: told };
  if (!isModel(writer))
    return { summarizer: writer as Summarizer, ...(base && { model: modelRef(base) }), option: told };
  const model = modelRef(writer);
  const limits = knownLimits(model.id);
  const byPrompt = createModelSummarizer(writer, headers);
  return {
    summarizer:
      way === "compaction"
        ? createCompactionSummarizer(writer, { current, otherwise: byPrompt, ...told })
        : byPrompt,
    model,
    option:
      writer === base
        ? told
        : { model, windowTokens: inputWindowTokens(limits), outputTokens: limits.outputTokens, ...told },
  };
}

/** What is known of the conversation's own requests. */
export interface SummarizerCalls {
  readonly headers: () => ModelCall["headers"];
  /** The request that is being prepared, as it would be sent now. */
  readonly current: () => CurrentRequest | undefined;
}

interface ReadSummarizer {
  readonly summarizer?: Summarizer;
  /** For telemetry. */
  readonly model?: ModelRef;
  readonly option: NonNullable<SessionOptions["summarizer"]>;
}

/** A model as sessions name it. */
export function modelRef({ provider, modelId }: LanguageModelLike): ModelRef {
  return { provider: String(provider), id: String(modelId) };
}

function choiceOf(given: SummarizerOption = {}): SummarizerChoice {
  const isWriter = typeof given === "string" || isModel(given) || "summarize" in Object(given);
  return isWriter ? { model: given as LanguageModelLike | string | Summarizer } : (given as SummarizerChoice);
}

function isModel(value: unknown): value is LanguageModelLike {
  return "modelId" in Object(value);
}

/** What the option may be, given the rule of a model. */
export function summarizerRule(languageModel: Rule): Rule {
  const writer = either(methods("summarize"), languageModel);
  const shape = { model: writer, system: text, instructions: text, way: oneOf("prompt", "compaction") };
  return {
    expects: `${writer.expects}, or { model, system, instructions, way }`,
    find: (value, path) =>
      ["model", "system", "instructions", "way"].some((name) => Object.hasOwn(Object(value), name))
        ? check(shape, value, path)
        : writer.find(value, path),
  };
}
