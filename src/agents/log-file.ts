import { dirname } from "node:path";
import type { AgentHost } from "../plugin/host/agent-host.ts";
import { safeJson } from "../text/json.ts";

/** A log of our own, for agents that have none for plugins, or in which what is printed would stand in the middle of the screen. */
export function createLogFile(file: string, now: () => number = Date.now): AgentHost["log"] {
  let last: Promise<void> = Promise.resolve();
  async function write(line: string): Promise<void> {
    // Most processes that have a log write nothing to it.
    const { appendFile, mkdir, rename, stat } = await import("node:fs/promises");
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const { size } = await stat(file).catch(() => ({ size: 0 }));
    if (size > MAX_BYTES) await rename(file, `${file}.old`);
    await appendFile(file, line, { mode: 0o600 });
  }
  return (level, message, extra) => {
    const line = `${new Date(now()).toISOString()} ${level} ${message}${extra ? ` ${safeJson(extra)}` : ""}\n`;
    // One after the other; a disk that is full must not disturb anybody.
    last = last.then(() => write(line)).catch(() => {});
  };
}

const MAX_BYTES = 1_000_000;
