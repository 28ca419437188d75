import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentPlugin } from "../../../src/plugin/host/agent-host.ts";
import { createPlugin as createRealPlugin } from "../../../src/plugin/plugin.ts";

/**
 * The plugin with handlers that fail on purpose, in the place of the real one: `faults.json` in the folder above the project
 * says for a session which handler fails and how; `faults.txt` beside it has a line for each time that one did.
 */
export const createPlugin: typeof createRealPlugin = (host, options, environment) => {
  const plugin = createRealPlugin(host, options, environment);
  const folder = join(host.directory, "..");
  const failing =
    (handler: keyof AgentPlugin) =>
    // Each handler takes first what it is about.
    (given: never, ...rest: readonly never[]): unknown => {
      const sessionId = sessionOf(given);
      const fault = readFaults(folder)[sessionId];
      if (fault?.handler !== handler)
        return (plugin[handler] as (...all: readonly never[]) => unknown)(given, ...rest);
      appendFileSync(join(folder, "faults.txt"), `${sessionId} ${handler}\n`);
      if (fault.how === "hang") return new Promise(() => {});
      if (fault.how === "half") (given as { messages: unknown[] }).messages.splice(0);
      return Promise.reject(new Error("a fault on purpose"));
    };
  const handlers = HANDLERS.map((handler) => [handler, failing(handler)] as const);
  return { ...plugin, ...(Object.fromEntries(handlers) as Partial<AgentPlugin>) };
};

const HANDLERS = [
  "onSignal",
  "beforeRequest",
  "beforeTool",
  "afterTool",
  "beforeCompaction",
  "onUserMessage",
  "cacheOwnerOf",
] as const;

/** How a handler fails; half: it empties the list of messages first. */
export interface Fault {
  readonly handler: (typeof HANDLERS)[number];
  readonly how: "throw" | "hang" | "half";
}

function sessionOf(given: unknown): string {
  if (typeof given === "string") return given;
  const { sessionId, session } = given as { sessionId?: string; session?: { id: string } };
  return sessionId ?? session?.id ?? "";
}

function readFaults(folder: string): Readonly<Record<string, Fault>> {
  try {
    return JSON.parse(readFileSync(join(folder, "faults.json"), "utf8"));
  } catch {
    return {}; // Nothing fails yet.
  }
}
