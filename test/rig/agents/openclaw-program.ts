import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { installProgram, npmInstall, rigFolder } from "../install-program.ts";
import type { ModelServer } from "../model-server/model-server.ts";
import { endProcessTree } from "../opencode/process-tree.ts";
import { type CommandResult, runOpenCode } from "../opencode/run-opencode.ts";
import { createSandbox, type Sandbox } from "../opencode/sandbox.ts";
import { waitFor } from "../wait-for.ts";

/** The version that its facts were measured on. */
export const OPENCLAW_VERSION = "2026.9.6";
const NODE_VERSION = "24.21.0";

/** Fetches what is missing; rejects where that cannot be had. */
export async function installOpenClaw(): Promise<readonly [node: string, program: string]> {
  const name = `node-${process.platform === "darwin" ? "darwin" : "linux"}-${process.arch}`;
  return Promise.all([
    installProgram({
      folder: join(rigFolder(), `node-${NODE_VERSION}`),
      program: join("node_modules", name, "bin", "node"),
      fetch: (folder) => npmInstall(folder, `${name}@${NODE_VERSION}`),
    }),
    installProgram({
      folder: join(rigFolder(), `openclaw-${OPENCLAW_VERSION}`),
      program: "node_modules/openclaw/openclaw.mjs",
      fetch: (folder) => npmInstall(folder, `openclaw@${OPENCLAW_VERSION}`),
    }),
  ]);
}

/** A home with OpenClaw's configuration: a scripted model, and the plugin folder in the slot of the context engine. */
export interface OpenClawWorld {
  readonly sandbox: Sandbox;
  /** One turn in a session, as a process of its own; through the gateway once that is started. */
  ask(text: string, session?: string): Promise<CommandResult>;
  /** Has the gateway sum a session up. */
  compact(session: string): Promise<CommandResult>;
  /** Starts the gateway, in which sub-agents run; once more for another process of it. */
  startGateway(): Promise<void>;
  remove(): Promise<void>;
}

export function createOpenClawWorld(server: ModelServer, plugin: string, port?: number): OpenClawWorld {
  const sandbox = createSandbox();
  const state = join(sandbox.home, ".openclaw");
  const cost = { input: 1, output: 1, cacheRead: 0.1, cacheWrite: 1 };
  const model = { id: "m", name: "m", contextWindow: 100_000, maxTokens: 8_000, input: ["text"], cost };
  const scripted = { baseUrl: server.url, apiKey: "scripted", api: "openai-completions", models: [model] };
  mkdirSync(state, { recursive: true });
  writeFileSync(
    join(state, "openclaw.json"),
    JSON.stringify({
      agents: {
        defaults: { model: { primary: "scripted/m" }, workspace: sandbox.project, skipBootstrap: true },
      },
      models: { mode: "replace", providers: { scripted } },
      tools: { exec: { security: "full", ask: "off" } },
      gateway: {
        mode: "local",
        ...(port !== undefined && { port }),
        bind: "loopback",
        auth: { mode: "token", token: "scripted" },
      },
      plugins: {
        load: { paths: [plugin] },
        entries: { carryover: { enabled: true } },
        slots: { contextEngine: "carryover" },
      },
    }),
  );
  const env = { ...sandbox.env, OPENCLAW_STATE_DIR: state };
  let gateway: ChildProcess | undefined;
  async function stopGateway(): Promise<void> {
    const running = gateway;
    gateway = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGTERM");
    await ended;
  }
  async function run(args: readonly string[]): Promise<CommandResult> {
    const [binary, program] = await installOpenClaw();
    // It sets up databases at its first start.
    return runOpenCode({ binary, args: [program, ...args], sandbox, env, timeoutMs: 300_000 });
  }
  return {
    sandbox,
    ask: (text, session = "11111111-1111-4111-8111-111111111111") =>
      run([
        "agent",
        ...(gateway === undefined ? ["--local"] : []),
        "--json",
        "--session-id",
        session,
        "-m",
        text,
      ]),
    compact: (session) => run(["sessions", "compact", `agent:main:explicit:${session}`, "--json"]),
    async startGateway() {
      await stopGateway();
      const [node, program] = await installOpenClaw();
      const path = join(sandbox.root, `gateway-${Date.now()}.log`);
      const log = openSync(path, "w");
      const started = spawn(node, [program, "gateway", "run"], {
        cwd: sandbox.project,
        env,
        stdio: ["ignore", log, log],
      });
      closeSync(log);
      process.once("exit", () => endProcessTree(started.pid));
      const printed = (): string => readFileSync(path, "utf8");
      await waitFor(
        () => {
          if (started.exitCode !== null) throw new Error(`the gateway ended: ${printed().slice(-2_000)}`);
          return printed().includes("starting channels");
        },
        { what: "the gateway", timeoutMs: 240_000 },
      );
      gateway = started;
    },
    async remove() {
      await stopGateway();
      sandbox.remove();
    },
  };
}

/** A port that nobody has now. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
