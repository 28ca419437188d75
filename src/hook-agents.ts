import type { HookAgent, HookWords } from "./agents/hooks/hook-agent.ts";
import { claudeCodeWords } from "./hosts/claude-code/tool-output.ts";
import { codexWords } from "./hosts/codex/tool-output.ts";

/** What the agent of hooks that has this name says and takes. */
export function hookWords(name: string): HookWords {
  return name === "codex" ? codexWords : claudeCodeWords;
}

/** Everything about it, which is much more: most hooks answer without. */
export async function loadHookAgent(name: string): Promise<HookAgent> {
  return name === "codex"
    ? (await import("./hosts/codex/codex.ts")).codex
    : (await import("./hosts/claude-code/claude-code.ts")).claudeCode;
}
