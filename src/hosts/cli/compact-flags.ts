import type { Summarizer } from "../../compaction/summarizer.ts";
import { CliError } from "./cli-error.ts";
import { createOpenAiSummarizer } from "./openai-summarizer.ts";

/** What `carryover compact` is told. */
export interface CompactFlags {
  readonly json?: true;
  readonly window: number;
  readonly keep?: number;
  readonly model?: string;
  readonly url?: string;
  readonly keyEnv?: string;
  readonly fold?: true;
  readonly out?: string;
  readonly write?: true;
}

/** The model that writes the summary, if one is named; throws where what is said of it is not enough. */
export function summarizerOf({ model, url, keyEnv, fold }: CompactFlags): Summarizer | undefined {
  if (model === undefined && url === undefined) {
    if (keyEnv !== undefined) throw new CliError("--key-env is for a model", ["Add --model and --url."]);
    return undefined;
  }
  if (fold) throw new CliError("--fold is without a model", ["Leave out --fold, or --model and --url."]);
  if (model === undefined || url === undefined)
    throw new CliError("--model and --url belong together", ["Name the model, and where its API is."]);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CliError(`${url} is no address of an API`, ["Give one such as http://localhost:11434/v1."]);
  const key = keyEnv === undefined ? undefined : process.env[keyEnv];
  if (keyEnv !== undefined && !key) throw new CliError(`The environment variable ${keyEnv} is not set`);
  return createOpenAiSummarizer({ model, url: new URL(url), ...(key && { key }) });
}

/** Throws where nothing would be written, or two things at once. */
export function checkPlaces(path: string, { write, out }: CompactFlags, isDryRun: boolean): void {
  if (write && out !== undefined) throw new CliError("--write and --out name two places", ["Choose one."]);
  if (write && path === "-") throw new CliError("Standard input cannot be written to", ["Use --out <file>."]);
  if (isDryRun && (write || out !== undefined))
    throw new CliError("There is nothing to write: without a model this only shows what would be done", [
      "Add --model and --url, or --fold to sum up without a model.",
    ]);
}
