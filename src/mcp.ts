import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hookAgent } from "./hook-agents.ts";
import { createAgentTools } from "./hosts/hooks/agent-tools.ts";
import { serveMcp } from "./hosts/hooks/serve-mcp.ts";
import { createLogFile } from "./hosts/log-file.ts";
import { LOG_FILE, pluginFolders } from "./plugin/stores/folders.ts";
import { asObject, asString } from "./text/json.ts";

/** The server of tools in the plugin folder: `mcp.js <agent>`. */
const [agent = "claude-code"] = process.argv.slice(2);
const { env } = process;
const manifest: unknown = JSON.parse(
  readFileSync(new URL("./.claude-plugin/plugin.json", import.meta.url), "utf8"),
);
const tools = await createAgentTools(hookAgent(agent), {
  env,
  directory: env.CLAUDE_PROJECT_DIR || process.cwd(),
  log: createLogFile(join(pluginFolders({ store: undefined, env }).root, LOG_FILE)),
  version: asString(asObject(manifest).version) ?? "0",
});
await serveMcp(tools, { input: process.stdin, output: process.stdout });
