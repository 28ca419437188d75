import { runHook } from "./agents/hooks/run-hook.ts";
import { hookWords, loadHookAgent } from "./hook-agents.ts";
import type { UnknownObject } from "./text/unknown-value.ts";

/** A hook of the plugin folder: `hook.js <agent> [part]`. */
const [agent = "claude-code", part = "1"] = process.argv.slice(2);
const words = hookWords(agent);
void runHook({
  name: `${agent} ${part}`,
  agent: words,
  part: Number(part),
  async decide(payload, known) {
    const { answerHook } = await import("./agents/hooks/answer-hook.ts");
    return answerHook(payload, {
      agent: words,
      loadAgent: () => loadHookAgent(agent),
      part: Number(part),
      env: process.env,
      ...known,
      leaveToAnother,
    });
  },
});

/** The same hook in a process of its own, which goes on when this one and the agent have ended. */
async function leaveToAnother(payload: UnknownObject): Promise<void> {
  const { spawn } = await import("node:child_process");
  const [program, hook = ""] = process.argv;
  const stdio = ["pipe", "ignore", "ignore"] as const;
  const child = spawn(program ?? "node", [hook, agent], { detached: true, stdio: [...stdio] });
  child.on("error", () => {}).unref();
  child.stdin?.on("error", () => {}).end(JSON.stringify(payload));
}
