import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import { type ProcessIdentity, processOf, processState } from "../../stores/files/process-identity.ts";
import type { AgentPlace } from "../places.ts";
import type { FileAgent } from "./file-agent.ts";
import { parentProgram } from "./parent-process.ts";

/**
 * A process of the agent's own program on a child's session, in a group of its own. What it prints goes to files: with a
 * pipe it would end when the reading process is killed.
 */
export interface ChildRun {
  /** Undefined where it could not be started. */
  readonly identity: ProcessIdentity | undefined;
  /** Why it ended badly; undefined where it did not. */
  readonly ended: Promise<string | undefined>;
  /** What it prints, line by line, until it has ended. */
  lines(): AsyncGenerator<string>;
  /** The end of what it complained of. */
  complaint(): string;
  /** Ends it, at last by force. */
  end(): Promise<void>;
  /** Asks it to end, and does not wait. */
  leave(): void;
}

export function startChildRun({ agent, place, sessionId, args, text, folder }: ChildStart): ChildRun {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // The one before may not have been read to its end.
  const name = `${sessionId}.${randomUUID().slice(0, 8)}`;
  const [printed, complained] = [join(folder, `${name}.out`), join(folder, `${name}.err`)];
  const files = [openSync(printed, "w", 0o600), openSync(complained, "w", 0o600)] as const;
  const [program, ...first] = agent.child.program ?? [programOf(agent, place.env)];
  const child = spawn(program, [...first, ...args], {
    cwd: place.directory,
    env: childEnvironment(agent, place.env, sessionId),
    stdio: ["pipe", ...files],
    detached: true,
  });
  for (const file of files) closeSync(file);
  let isOver = false;
  let complaint: string | undefined;
  const ended = new Promise<string | undefined>((resolve) => {
    child.once("error", (error) => resolve(`it could not be started: ${error.message}`));
    child.once("exit", (code, by) => resolve(endOf(code, by)));
  }).finally(() => {
    isOver = true;
  });
  child.stdin?.on("error", () => {});
  child.stdin?.end(text);
  const { pid } = child;
  return {
    identity: pid === undefined ? undefined : processOf(pid),
    ended,
    async *lines() {
      yield* linesOf(printed, () => isOver);
      complaint ??= complaintIn(complained);
      rmSync(printed, { force: true });
    },
    complaint() {
      complaint ??= complaintIn(complained);
      return complaint;
    },
    end: () => endGroup({ pid, isGone: () => isOver }),
    leave: () => void signal(pid, "SIGTERM"),
  };
}

interface ChildStart {
  readonly agent: FileAgent;
  readonly place: AgentPlace;
  readonly sessionId: string;
  readonly args: readonly string[];
  /** The prompt. */
  readonly text: string;
  /** Where its output is kept while it runs. */
  readonly folder: string;
}

function endOf(code: number | null, by: NodeJS.Signals | null): string | undefined {
  if (by !== null) return `its process was ended by ${by}`;
  return code === 0 ? undefined : `its process ended with code ${code}`;
}

/** The lines of a file that grows. */
async function* linesOf(path: string, isOver: () => boolean): AsyncGenerator<string> {
  const file = await open(path, "r");
  const decoder = new StringDecoder("utf8");
  const bytes = Buffer.alloc(64 * 1024);
  let rest = "";
  try {
    for (;;) {
      const wasOver = isOver();
      const { bytesRead } = await file.read(bytes, 0, bytes.length);
      const lines = `${rest}${decoder.write(bytes.subarray(0, bytesRead))}`.split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
      if (bytesRead > 0) continue;
      if (wasOver) return;
      await sleep(LOOK_MS);
    }
  } finally {
    await file.close();
  }
}

const LOOK_MS = 100;

/** What a program said last, without what it says at every start. */
function complaintIn(path: string): string {
  try {
    const lines = readFileSync(path, "utf8").split("\n");
    rmSync(path, { force: true });
    const said = lines.filter((line) => line.trim() !== "" && !/^(?:WARNING|Reading )/.test(line));
    return said.slice(-3).join(" ").slice(0, 400);
  } catch {
    return "";
  }
}

/** Ends the process of a child that another process started; false where it cannot be identified for certain. */
export async function endLeftBehind(left: ProcessIdentity): Promise<boolean> {
  // Its number may be another's by now.
  if (processState(left) === "unknown") return false;
  await endGroup({ pid: left.pid, isGone: () => processState(left) === "gone" });
  return true;
}

async function endGroup({ pid, isGone }: Ending): Promise<void> {
  if (!signal(pid, "SIGTERM")) return;
  for (const untilMs = Date.now() + END_MS; Date.now() < untilMs; await sleep(20)) if (isGone()) return;
  signal(pid, "SIGKILL");
}

interface Ending {
  readonly pid: number | undefined;
  readonly isGone: () => boolean;
}

const END_MS = 3_000;

/** To the process and what it has started. */
function signal(pid: number | undefined, name: NodeJS.Signals): boolean {
  try {
    return pid !== undefined && process.kill(-pid, name);
  } catch {
    return false;
  }
}

/** The environment without what the parent's process says of itself there. */
function childEnvironment(
  { child }: FileAgent,
  env: AgentPlace["env"],
  sessionId: string,
): Record<string, string> {
  const handed = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !child.ownVariables?.test(entry[0]),
  );
  return { ...Object.fromEntries(handed), [CHILD_VARIABLE]: sessionId };
}

/** Set in a child: it gets no tools for forks. */
export const CHILD_VARIABLE = "CARRYOVER_FORK_CHILD";

/** The program that the parent runs in: the one that started us, unless the user names another. */
function programOf({ child }: FileAgent, env: AgentPlace["env"]): string {
  const named = env[child.variable];
  if (named) return named;
  const parent = parentProgram();
  return parent !== undefined && child.isProgram(parent) ? parent : child.command;
}
