import { claudeCode } from "./hosts/claude-code/claude-code.ts";
import { codex } from "./hosts/codex/codex.ts";
import { answerHook, type HookMoment } from "./hosts/hooks/answer-hook.ts";
import type { HookAgent } from "./hosts/hooks/hook-agent.ts";
import type { UnknownObject } from "./text/json.ts";

/** The agent of hooks that has this name. */
export function hookAgent(name: string): HookAgent {
  return name === "codex" ? codex : claudeCode;
}

/** The part of a hook that is loaded only where there may be something to decide. */
export function decide(
  payload: UnknownObject,
  { agent, part, log }: { readonly agent: string } & Pick<HookMoment, "part" | "log">,
): Promise<string | undefined> {
  return answerHook(payload, { agent: hookAgent(agent), part, env: process.env, log });
}
