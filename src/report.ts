import { readFileSync } from "node:fs";
import { reportOf, statusOf } from "./agents/files/report.ts";
import { loadHookAgent } from "./hook-agents.ts";
import { jsonOrText } from "./text/json.ts";
import { asObject, asString } from "./text/unknown-value.ts";

/** The reports of the plugin folder: `report.js context|cost <agent> [session]`; `status` is told the session by its input. */
const [what = "context", agent = "claude-code", sessionId = ""] = process.argv.slice(2);
const { env } = process;
// A placeholder that the agent did not fill in counts as unset.
const named = sessionId.startsWith("$") ? "" : sessionId;
const report =
  what === "status"
    ? statusOf(asString(asObject(jsonOrText(readFileSync(0, "utf8"))).session_id) ?? "unknown", env)
    : loadHookAgent(agent).then((known) =>
        reportOf(known, { what, sessionId: named, directory: process.cwd(), env }),
      );
void report.then((text) => process.stdout.write(`${text}\n`));
