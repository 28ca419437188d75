import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { sessionFormatOf } from "../../formats/registry.ts";
import { type ModelRow, readModelRows } from "../../models/model-row.ts";
import { errorMessage } from "../../text/failure.ts";
import { modelWindowOf } from "../../transcript/model-window.ts";
import { CliError } from "../terminal/cli-error.ts";
import type { InputFile } from "./read-input.ts";

/** Adds the option that names facts about models. */
export function withModelsOption(command: Command): Command {
  return command.option(
    "--models <file>",
    "a JSON file with windows and prices of models, before the built-in ones",
  );
}

/** What `withModelsOption` parses. */
export interface ModelsFlag {
  readonly models?: string;
}

/** The rows of the file that was named; undefined without one. */
export async function modelsOf({ models: path }: ModelsFlag): Promise<readonly ModelRow[] | undefined> {
  if (path === undefined) return undefined;
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new CliError(`Cannot read ${path}: ${error.message}`, [], { cause: error });
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError(`${path} is no JSON: ${errorMessage(error)}`, [], { cause: error });
  }
  return readModelRows(value);
}

/** The window of the model that a session in a file would be sent to next. */
export function windowOfFile(
  { format, wire, transcript }: Pick<InputFile, "format" | "wire" | "transcript">,
  rows: readonly ModelRow[] | undefined,
): ReturnType<typeof modelWindowOf> {
  const { provider, windowTokensOf } = sessionFormatOf(format) ?? {};
  return modelWindowOf(transcript, { recordedTokens: windowTokensOf?.(wire), provider, rows });
}
