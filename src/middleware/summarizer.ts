import type { Summarizer } from "../compaction/ports/summarizer.ts";
import { inputWindowTokens } from "../compaction/trigger/overflow.ts";
import { modelFacts } from "../models/model-facts.ts";
import type { ModelRow } from "../models/model-row.ts";
import type { SessionOptions } from "../session/options.ts";
import { check, either, methods, oneOf, type Rule, text } from "../text/check.ts";
import { asObject, asString, omitUndefined } from "../text/unknown-value.ts";
import type { Edit } from "../transcript/edit.ts";
import type { ModelRef } from "../transcript/message.ts";
import { answerFacts } from "./answer.ts";
import { type CurrentRequest, createCompactionSummarizer } from "./compaction-summarizer.ts";
import { asCallable, type LanguageModelLike, type ModelCall, modelRef } from "./language-model.ts";

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
  { headers, current, resolve, models }: SummarizerCalls,
): ReadSummarizer {
  const { model: chosen = base, system, instructions, way } = choiceOf(given);
  const writer = typeof chosen === "string" ? resolve?.(chosen) : chosen;
  const instructed = omitUndefined({ system, instructions });
  if (writer === undefined) return { option: instructed };
  if (!isModel(writer))
    return { summarizer: writer as Summarizer, ...(base && { model: modelRef(base) }), option: instructed };
  const model = modelRef(writer);
  const limits = modelFacts(model, { rows: models });
  const byPrompt = createModelSummarizer(writer, headers);
  return {
    summarizer:
      way === "compaction"
        ? createCompactionSummarizer(writer, {
            current,
            otherwise: byPrompt,
            of: writer === base ? "this-model" : "another-model",
            ...instructed,
          })
        : byPrompt,
    model,
    option:
      writer === base
        ? instructed
        : {
            model,
            windowTokens: inputWindowTokens(limits),
            outputTokens: limits.outputTokens,
            ...instructed,
          },
  };
}

/** What is known of the conversation's own requests. */
export interface SummarizerCalls {
  readonly headers: () => ModelCall["headers"];
  /** The request that is being prepared, as it would be sent now, or with these edits alone. */
  readonly current: (edits?: readonly Edit[]) => CurrentRequest | undefined;
  /** The model of a name, where models have names. */
  readonly resolve?: ((name: string) => LanguageModelLike) | undefined;
  /** Facts about models that were given. */
  readonly models?: readonly ModelRow[] | undefined;
}

interface ReadSummarizer {
  readonly summarizer?: Summarizer;
  /** For telemetry. */
  readonly model?: ModelRef;
  readonly option: NonNullable<SessionOptions["summarizer"]>;
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

/** A summarizer that asks a model of the AI SDK, without tools; streamed, so that a stalled answer is noticed. */
export function createModelSummarizer(
  model: LanguageModelLike,
  headers: () => ModelCall["headers"] = () => undefined,
): Summarizer {
  return {
    async summarize({ system, prompt, maxOutputTokens }, { signal, onProgress, onUsage }) {
      const sent = headers();
      const result = await asCallable(model).doStream({
        prompt: [
          { role: "system", content: system },
          { role: "user", content: [{ type: "text", text: prompt }] },
        ],
        maxOutputTokens,
        abortSignal: signal,
        ...(sent && { headers: sent }),
      });
      const { stream } = result as { readonly stream: ReadableStream<unknown> };
      const texts: string[] = [];
      for await (const value of stream) {
        const part = asObject(value);
        const text = part.type === "text-delta" ? asString(part.delta) : undefined;
        onProgress(text);
        if (part.type === "error") throw part.error;
        const { usage } = part.type === "finish" ? answerFacts(part) : {};
        if (usage !== undefined) onUsage?.(usage);
        if (text !== undefined) texts.push(text);
      }
      return texts.join("");
    },
  };
}
