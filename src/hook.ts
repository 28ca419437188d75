import { readOutput as readClaudeCode } from "./hosts/claude-code/tool-output.ts";
import { readOutput as readCodex } from "./hosts/codex/tool-output.ts";
import { runHook } from "./hosts/hooks/run-hook.ts";

/** A hook of the plugin folder: `hook.js <agent> [part]`. */
const [agent = "claude-code", part = "1"] = process.argv.slice(2);
await runHook({
  name: `${agent} ${part}`,
  readOutput: agent === "codex" ? readCodex : readClaudeCode,
  async decide(payload, log) {
    const { decide } = await import("./hook-agents.ts");
    return decide(payload, { agent, part: Number(part), log });
  },
});
