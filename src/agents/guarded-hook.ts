import type { AgentPlugin, ToolCall } from "../plugin/host/agent-host.ts";
import { inTime } from "./in-time.ts";

/** The most that a hook of ours may take: after that the agent goes on as if it had not been there. */
export const HOOK_MS = 10_000;

/**
 * A hook that never throws into the agent, where that would end the user's turn, and never holds it up: the agent has no time
 * limit of its own. `restore` puts back what a hook that failed or is late may have changed. A fork alone is stopped there:
 * its request would lack what it inherits.
 */
export function guardedHook<Given extends readonly unknown[]>(
  { name, run, restore, forkOf, limitMs = HOOK_MS }: GuardedHook<Given>,
  onFailure: (hook: string, cause: unknown) => void,
): (...given: Given) => Promise<void> {
  return async (...given) => {
    let undo: (() => void) | undefined;
    try {
      undo = restore?.(...given);
      const change = await inTime(run(...given), limitMs);
      change?.();
    } catch (cause) {
      undo?.();
      onFailure(name, cause);
      if (await isYes(forkOf?.(...given)))
        throw new Error(`The request was not sent: what this fork inherits is not in it (${String(cause)}).`);
    }
  };
}

interface GuardedHook<Given extends readonly unknown[]> {
  readonly name: string;
  /** What it gives back is done if it came in time. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook that changes something itself gives nothing
  run(...given: Given): Promise<(() => void) | undefined | void>;
  /** Remembers what was given as it is, and gives what makes it so again. */
  restore?(...given: Given): () => void;
  /** Whether it is about the request of a fork. */
  forkOf?(...given: Given): Promise<boolean>;
  readonly limitMs?: number;
}

/** Why a call must not be made. When our check fails, a person's call goes on; a fork's does not, since the check is what holds it. */
export async function refusalOf(
  readCall: () => ToolCall,
  plugin: Pick<AgentPlugin, "beforeTool" | "isFork">,
  onFailure: (cause: unknown) => void,
): Promise<string | undefined> {
  let sessionId: string | undefined;
  try {
    const call = readCall();
    sessionId = call.sessionId;
    return await inTime(plugin.beforeTool(call), HOOK_MS);
  } catch (cause) {
    onFailure(cause);
    return sessionId !== undefined && (await isYes(plugin.isFork(sessionId))) ? UNCHECKED : undefined;
  }
}

const UNCHECKED = "Not done: whether a fork may do this could not be checked. Try once more.";

async function isYes(answer: Promise<boolean> | undefined): Promise<boolean> {
  return answer === undefined ? false : inTime(answer, ANSWER_MS).catch(() => false);
}

/** How long the plugin may take to say whether a session is a fork; after that it counts as none. */
const ANSWER_MS = 1_000;
