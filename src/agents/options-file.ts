import { readFile } from "node:fs";
import { promisify } from "node:util";
import { type PluginOptions, readPluginOptions } from "../plugin/context/options.ts";
import { optionsFile } from "../plugin/stores/folders.ts";
import { errorMessage } from "../text/failure.ts";
import type { AgentPlace } from "./places.ts";

/** The options, or why none can be used; then nothing is done. */
export async function readHookOptions(env: AgentPlace["env"]): Promise<HookOptions> {
  const { options, problems } = readPluginOptions(await readOptionsFile(env));
  if (problems.length === 0) return { options };
  return {
    options,
    problem: `Nothing is done until ${optionsFile(env)} is corrected: ${problems.join("; ")}`,
  };
}

/** What the file of options holds; undefined where there is none, and a sentence where it is no JSON. */
export async function readOptionsFile(env: AgentPlace["env"]): Promise<unknown> {
  const file = optionsFile(env);
  const text = await promisify(readFile)(file, "utf8").catch(() => undefined);
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch (error) {
    return `${file} is no JSON: ${errorMessage(error)}`;
  }
}

interface HookOptions {
  readonly options: PluginOptions;
  readonly problem?: string;
}
