import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import type { StartWords } from "./command-line.ts";
import type { FileAgent } from "./file-agent.ts";

/** The words that the agent was started with; undefined where the system does not tell them, or another program started us. */
export function startWords({ child }: FileAgent): StartWords | undefined {
  const program = parentProgram();
  if (program !== undefined && !child.isProgram(program) && !/\bnode$/.test(program)) return undefined;
  try {
    const words = readFileSync(`/proc/${process.ppid}/cmdline`, "utf8").split("\0");
    return { words: words.slice(1, -1), isExact: true };
  } catch {
    return wordsOfPs();
  }
}

function wordsOfPs(): StartWords | undefined {
  try {
    const shown = execFileSync("ps", ["-ww", "-o", "args=", "-p", String(process.ppid)], {
      encoding: "utf8",
    });
    return { words: shown.trim().split(/\s+/).slice(1), isExact: false };
  } catch {
    return undefined;
  }
}

/** The program that started this one; undefined where the system does not tell it. */
export function parentProgram(): string | undefined {
  try {
    return readlinkSync(`/proc/${process.ppid}/exe`).replace(/ \(deleted\)$/, "");
  } catch {
    return undefined;
  }
}
