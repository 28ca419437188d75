import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { installOpenCode } from "./install-opencode.ts";
import { endProcessTree } from "./process-tree.ts";
import { type Sandbox, writeConfig } from "./sandbox.ts";

/** OpenCode's own screen in a terminal of tmux, as a person sees it. */
export interface OpenCodeScreen {
  /** What stands on the screen now. */
  text(): string;
  /** The same with its colour codes. */
  coloured(): string;
  /** Types a text and sends it. */
  send(text: string): Promise<void>;
  /** Presses keys by the names that tmux gives them. */
  press(...keys: readonly string[]): Promise<void>;
  until(isTrue: (text: string) => boolean, what: string): Promise<void>;
  stop(): void;
}

/** True where there is a tmux. */
export function hasTmux(): boolean {
  return spawnSync("tmux", ["-V"]).status === 0;
}

/** Starts OpenCode in a sandbox and waits for its prompt. */
export async function startScreen({ modelUrl, config, ...options }: ScreenOptions): Promise<OpenCodeScreen> {
  writeConfig(options.sandbox, { modelUrl, config });
  return openScreen({ ...options, program: [await installOpenCode()] });
}

/** Starts a program in a terminal and waits for the prompt of OpenCode. */
export async function openScreen({
  sandbox,
  program,
  env: more = {},
  isReady = /Ask anything|Build/,
  width = 118,
  height = 34,
}: OpenScreenOptions): Promise<OpenCodeScreen> {
  const name = `carryover-${randomBytes(4).toString("hex")}`;
  const tmux = (...args: readonly string[]): string =>
    execFileSync("tmux", ["-L", name, ...args], { encoding: "utf8" });
  const env = Object.entries({ ...sandbox.env, ...more, TERM: "xterm-256color", COLORTERM: "truecolor" })
    .filter(([variable]) => variable !== "NO_COLOR")
    .map(([variable, value]) => `${variable}=${value}`);
  const size = ["-x", String(width), "-y", String(height)];
  tmux("new-session", "-d", "-s", name, ...size, "-c", sandbox.project, "env", "-i", ...env, ...program);
  tmux("set-option", "-g", "status", "off");
  const text = (): string => tmux("capture-pane", "-t", name, "-p");
  const screen: OpenCodeScreen = {
    text,
    coloured: () => tmux("capture-pane", "-t", name, "-p", "-e"),
    async send(typed) {
      tmux("send-keys", "-t", name, "-l", typed);
      await sleep(TYPED_MS);
      tmux("send-keys", "-t", name, "Enter");
    },
    async press(...keys) {
      for (const key of keys) {
        tmux("send-keys", "-t", name, key);
        await sleep(TYPED_MS);
      }
    },
    async until(isTrue, what) {
      const endMs = Date.now() + LONGEST_MS;
      while (!isTrue(text())) {
        if (Date.now() > endMs) throw new Error(`${what} did not come. The screen:\n${text()}`);
        await sleep(LOOK_MS);
      }
    },
    stop() {
      // It was never started, or is gone already.
      const { stdout } = spawnSync("tmux", ["-L", name, "display-message", "-p", "-t", name, "#{pane_pid}"]);
      endProcessTree(Number(stdout) || undefined);
      spawnSync("tmux", ["-L", name, "kill-server"]);
    },
  };
  return startedScreen(screen, (shown) => isReady.test(shown));
}

/** Waits for the prompt; a screen that never shows it is closed. */
async function startedScreen(
  screen: OpenCodeScreen,
  isReady: (text: string) => boolean,
): Promise<OpenCodeScreen> {
  try {
    await screen.until(isReady, "OpenCode's prompt");
    return screen;
  } catch (cause) {
    screen.stop();
    throw cause;
  }
}

interface ScreenOptions extends ScreenSize {
  readonly sandbox: Sandbox;
  readonly modelUrl: string;
  readonly config: Readonly<Record<string, unknown>>;
}

interface OpenScreenOptions extends ScreenSize {
  readonly sandbox: Sandbox;
  /** The program and its arguments. */
  readonly program: readonly string[];
  /** More than the sandbox has. */
  readonly env?: Readonly<Record<string, string>>;
  /** What stands on the screen once a person can write; its prompt when unset. */
  readonly isReady?: RegExp;
}

interface ScreenSize {
  readonly width?: number;
  readonly height?: number;
}

/** From a key until the program has taken it. */
const TYPED_MS = 500;
const LOOK_MS = 250;
const LONGEST_MS = 90_000;
