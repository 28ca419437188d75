import { combineHooks, type Feature } from "./combine-hooks.ts";
import type { Hooks, PluginInput } from "./host.ts";
import { createHostCalls } from "./host-calls.ts";
import { createNotify } from "./notify.ts";
import { createPluginContext, type PluginContext } from "./plugin-context.ts";
import { readPluginOptions } from "./plugin-options.ts";

/** The plugin as OpenCode loads it: reads the options, connects the features, and never throws. */
export async function createServer(input: PluginInput, rawOptions?: unknown): Promise<Hooks> {
  const { options, problems } = readPluginOptions(rawOptions);
  const calls = createHostCalls({ client: input.client, directory: input.directory });
  if (calls === undefined) return {};
  const notify = createNotify({ calls, level: options.log });
  if (problems.length > 0) {
    const message = `Options that were not understood count as unset: ${problems.join("; ")}`;
    notify.log("error", message);
    notify.toastOnce(message, "warning");
  }
  const context = createPluginContext({
    options,
    directory: input.directory,
    calls,
    notify,
    env: process.env,
  });
  return combineHooks(featuresOf(context), ({ feature, hook, cause }) => {
    notify.log("error", `${feature}: ${hook} failed and changed nothing`, { cause: String(cause) });
    notify.toastOnce(`${feature} failed in ${hook}; the conversation goes on without it.`, "error");
  });
}

/** In the order in which they see each hook. */
function featuresOf(context: PluginContext): readonly Feature[] {
  return [{ name: "session tree", hooks: { event: async ({ event }) => context.tree.observe(event) } }];
}
