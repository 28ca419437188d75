import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type AgentTools, createAgentTools } from "./agents/hooks/agent-tools.ts";
import { serveMcp } from "./agents/hooks/serve-mcp.ts";
import { createLogFile } from "./agents/log-file.ts";
import { loadHookAgent } from "./hook-agents.ts";
import { LOG_FILE, pluginFolders } from "./plugin/stores/folders.ts";
import { asObject, asString } from "./text/unknown-value.ts";

/** The server of tools in the plugin folder: `mcp.js <agent>`. */
const [agent = "claude-code"] = process.argv.slice(2);
const { env } = process;
const manifest: unknown = JSON.parse(
  readFileSync(join(dirname(process.argv[1] ?? ""), ".claude-plugin", "plugin.json"), "utf8"),
);
const setup = {
  env,
  directory: env.CLAUDE_PROJECT_DIR || process.cwd(),
  log: createLogFile(join(pluginFolders({ store: undefined, env }).root, LOG_FILE)),
  version: asString(asObject(manifest).version) ?? "0",
};
void loadHookAgent(agent)
  .then((known) => createAgentTools(known, setup))
  .then(serve);

/**
 * Agents end their servers by signals. One that was killed only closes the input: then its forks go on to their ends, within
 * their limits, and the session is told when it is resumed.
 */
async function serve(tools: AgentTools): Promise<void> {
  const { stdin: input, stdout: output } = process;
  const ended = new Promise<void>((resolve) => {
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => resolve());
  });
  output.on("error", () => {});
  await Promise.race([serveMcp(tools, { input, output }), ended]);
  await Promise.race([tools.settled(), ended]);
  await tools.dispose();
  process.exit(0);
}
