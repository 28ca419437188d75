import { createPlugin } from "../../plugin/plugin.ts";
import { createHooks } from "./adapter.ts";
import { createHostCalls } from "./calls.ts";
import type { Hooks, PluginInput } from "./hooks.ts";
import { createOpencodeHost } from "./host.ts";

/**
 * The plugin as OpenCode 1 loads it. `host.ts` gives OpenCode's sessions, messages and tools in the plugin's terms,
 * `adapter.ts` turns its hooks into moments of the plugin; nothing is decided here.
 */
export async function createServer({ client, directory }: PluginInput, options?: unknown): Promise<Hooks> {
  const calls = createHostCalls({ client, directory });
  if (calls === undefined) return {};
  const { env, argv } = process;
  const host = createOpencodeHost({ calls, directory, env, args: argv.slice(2) });
  const plugin = createPlugin(host, options, { env });
  return createHooks(plugin, (hook, cause) =>
    host.log("error", `${hook} failed and changed nothing`, { cause: String(cause) }),
  );
}
