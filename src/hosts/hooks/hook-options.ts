import { readFile } from "node:fs/promises";
import { type PluginOptions, readPluginOptions } from "../../plugin/context/options.ts";
import { optionsFile } from "../../plugin/stores/folders.ts";
import { errorMessage } from "../../text/display.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The options, or why none can be used; then nothing is done. */
export async function readHookOptions(env: Environment): Promise<HookOptions> {
  const file = optionsFile(env);
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return { options: readPluginOptions().options };
  try {
    const { options, problems } = readPluginOptions(JSON.parse(text));
    if (problems.length === 0) return { options };
    return { options, problem: `Nothing is done until ${file} is corrected: ${problems.join("; ")}` };
  } catch (error) {
    const { options } = readPluginOptions();
    return { options, problem: `Nothing is done until ${file} is corrected: ${errorMessage(error)}` };
  }
}

interface HookOptions {
  readonly options: PluginOptions;
  readonly problem?: string;
}
