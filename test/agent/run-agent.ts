import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { EXAMPLES } from "../rig/examples.ts";

/** One event of the agent, as it prints it for programs. */
export interface AgentEvent {
  readonly type: string;
  readonly message?: string;
  readonly text?: string;
  readonly answer?: Readonly<Record<string, unknown>>;
}

/** The agent of examples/agent as a user starts it, heard event by event. */
export interface RunningAgent {
  readonly process: ChildProcess;
  /** Types a line; gives what happened until the next one may be typed. */
  type(line: string): Promise<readonly AgentEvent[]>;
  /** Resolves with the next event of that type. */
  hear(type: string): Promise<AgentEvent>;
  /** Resolves with its exit code. */
  readonly ended: Promise<number | null>;
  /** Ends its input; gives the exit code. */
  leave(): Promise<number | null>;
}

export interface AgentPlace {
  /** Where it works and keeps its sessions. */
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts it; it runs on what `npm run build` made. */
export async function startAgent(
  args: readonly string[],
  { folder, env = {} }: AgentPlace,
): Promise<RunningAgent> {
  const child = spawn(process.execPath, [MAIN, "--json", ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const listeners = new Set<(event: AgentEvent) => void>();
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  createInterface({ input: child.stdout }).on("line", (line) => {
    const event = JSON.parse(line) as AgentEvent;
    for (const listen of [...listeners]) listen(event);
  });

  function hear(type: string): Promise<AgentEvent> {
    return new Promise((resolve, reject) => {
      const listen = (event: AgentEvent): void => {
        if (event.type !== type) return;
        listeners.delete(listen);
        resolve(event);
      };
      listeners.add(listen);
      void ended.then((code) => reject(new Error(`The agent ended with ${code} before it said ${type}`)));
    });
  }

  await hear("ready");
  return {
    process: child,
    hear,
    ended,
    async type(line) {
      const events: AgentEvent[] = [];
      const listen = (event: AgentEvent): void => void events.push(event);
      listeners.add(listen);
      const ready = hear("ready");
      child.stdin.write(`${line}\n`);
      await ready;
      listeners.delete(listen);
      return events;
    },
    leave() {
      child.stdin.end();
      return ended;
    },
  };
}

export const MAIN: string = join(EXAMPLES, "agent/main.mjs");
