import { hookAgent } from "./hook-agents.ts";
import { reportOf } from "./hosts/hooks/report.ts";

/** The reports of the plugin folder: `report.js context|cost <agent> [session]`. */
const [what = "context", agent = "claude-code", sessionId = ""] = process.argv.slice(2);
const { env } = process;
// A place that the agent did not fill in is none.
const named = sessionId.startsWith("$") ? "" : sessionId;
const report = await reportOf(hookAgent(agent), { what, sessionId: named, directory: process.cwd(), env });
process.stdout.write(`${report}\n`);
