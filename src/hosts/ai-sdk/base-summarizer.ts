import type { Summarizer } from "../../compaction/summarizer.ts";
import { fields, stringField } from "../../formats/fields.ts";
import type { CallableModel, ModelCall } from "./language-model.ts";

/** A summarizer that asks a model of the AI SDK, without tools; streamed, so that a stalled answer is noticed. */
export function createModelSummarizer(model: CallableModel, headers: () => ModelCall["headers"]): Summarizer {
  return {
    async summarize({ system, prompt, maxOutputTokens }, { signal, onProgress }) {
      const sent = headers();
      const result = await model.doStream({
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
        const part = fields(value);
        onProgress();
        if (part.type === "error") throw part.error;
        if (part.type === "text-delta") texts.push(stringField(part.delta) ?? "");
      }
      return texts.join("");
    },
  };
}
