import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { readEvalSession } from "../src/cli/eval/run-eval.ts";
import { findTranscriptFiles } from "../src/cli/files/find-files.ts";
import { measurePrompts, type PromptStep } from "../src/eval/measures/measure-prompts.ts";
import { summarizePrompts } from "../src/eval/report/summarize-tokens.ts";

const corpora = ["corpus", "corpus2"].map((name) => resolve(import.meta.dirname, "../../shared/eval", name));
const isThere = corpora.every((corpus) => existsSync(corpus));
if (!isThere) console.log("corpus-tokens: skipped, ../shared/eval/corpus and corpus2 are not there");

describe.skipIf(!isThere)("whole prompts estimated without usage", () => {
  it("are near what the provider counted, for every model with at least 100 requests", async () => {
    const measures: { readonly prompts: readonly PromptStep[] }[] = [];
    for (const path of await findTranscriptFiles(corpora)) {
      const file = await readEvalSession(readFileSync(path), { name: path, branches: "file" });
      if (file.status === "read") measures.push({ prompts: measurePrompts(file.session) });
    }
    const models = summarizePrompts(measures).filter(({ requests }) => requests >= 100);
    expect(models.map(({ model }) => model)).toEqual(
      expect.arrayContaining(["claude-fable-5", "claude-sonnet-5", "claude-opus-4-6", "gpt-5.5"]),
    );
    for (const { model, median, p90, bias } of models) {
      expect(median, `median of ${model}`).toBeLessThan(0.08);
      expect(p90, `90 of 100 of ${model}`).toBeLessThan(0.22);
      expect(Math.abs(bias), `bias of ${model}`).toBeLessThan(0.04);
    }
  }, 120_000);
});
