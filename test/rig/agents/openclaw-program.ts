import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installProgram, npmInstall, rigFolder } from "../install-program.ts";
import type { ModelServer } from "../model-server/model-server.ts";
import { type CommandResult, runOpenCode } from "../opencode/run-opencode.ts";
import { createSandbox, type Sandbox } from "../opencode/sandbox.ts";

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
  /** One turn in a session, as a process of its own. */
  ask(text: string): Promise<CommandResult>;
}

export function createOpenClawWorld(server: ModelServer, plugin: string): OpenClawWorld {
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
      plugins: {
        load: { paths: [plugin] },
        entries: { carryover: { enabled: true } },
        slots: { contextEngine: "carryover" },
      },
    }),
  );
  return {
    sandbox,
    async ask(text) {
      const [node, program] = await installOpenClaw();
      const session = ["--session-id", "11111111-1111-4111-8111-111111111111"];
      return runOpenCode({
        binary: node,
        args: [program, "agent", "--local", "--json", ...session, "-m", text],
        sandbox,
        env: { ...sandbox.env, OPENCLAW_STATE_DIR: state },
        // It sets up databases at its first start.
        timeoutMs: 300_000,
      });
    },
  };
}
