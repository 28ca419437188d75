import { chmodSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type OpenCodeScreen, openScreen } from "../opencode/opencode-tui.ts";
import type { AgentProgram, AgentWorld } from "./agent-programs.ts";

/** The names under which people start the agents. */
const COMMANDS: Readonly<Record<AgentProgram["name"], string>> = {
  "claude-code": "claude",
  codex: "codex",
  opencode: "opencode",
  opencode2: "opencode2",
  pi: "pi",
};

/** A program in a terminal of a world, with the agents on its `PATH`, each asking the scripted model. */
export async function openAgentTerminal(world: AgentWorld, options: AgentTerminal): Promise<OpenCodeScreen> {
  const { agents, program, isReady, width, height } = options;
  const folder = join(world.home, "bin");
  mkdirSync(folder, { recursive: true });
  let env: Readonly<Record<string, string>> = {};
  for (const agent of agents) {
    const command = await agent.command(world);
    env = { ...env, ...command.env };
    const words = command.program.map((word) => `'${word}'`).join(" ");
    const file = join(folder, COMMANDS[agent.name]);
    writeFileSync(file, `#!/bin/sh\nexec ${words} "$@"\n`);
    chmodSync(file, 0o755);
  }
  const PATH = [folder, process.env.PATH].join(delimiter);
  const screen = await openScreen({
    sandbox: world.sandbox,
    env: { ...env, PATH },
    program,
    isReady,
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
  });
  return {
    ...screen,
    stop() {
      screen.stop();
      endProgramsOf(world);
    },
  };
}

export interface AgentTerminal {
  readonly agents: readonly AgentProgram[];
  readonly program: readonly string[];
  readonly isReady: RegExp;
  readonly width?: number;
  readonly height?: number;
}

/** The terminal of Codex leaves a server behind, which it has copied into its home. */
function endProgramsOf({ home }: AgentWorld): void {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (readlinkSync(`/proc/${pid}/exe`).startsWith(`${home}/`)) process.kill(Number(pid), "SIGKILL");
    } catch {
      // It is gone, or somebody else's.
    }
  }
}

/** Answers what Codex asks about newer models before it shows the conversation. */
export async function keepModel(screen: OpenCodeScreen, isShown: (text: string) => boolean): Promise<void> {
  await screen.until((text) => isShown(text) || text.includes("Use existing model"), "the conversation");
  if (screen.text().includes("Use existing model")) await screen.press("Down", "Enter");
  await screen.until(isShown, "the conversation");
}
