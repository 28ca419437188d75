import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installProgram, npmInstall, npmUnpack, rigFolder } from "../install-program.ts";
import type { ModelServer } from "../model-server/model-server.ts";

/** The coding agents beside OpenCode that sessions move to and from, each in the version that its facts were measured on. */
export type AgentName = "claude-code" | "codex" | "pi";

/** A real coding agent, which asks a scripted model on loopback. */
export interface AgentProgram {
  readonly name: AgentName;
  readonly version: string;
  /** Fetches what is missing; rejects where that cannot be had. */
  install(): Promise<void>;
  /** Says one prompt, in a new session or in a given one, and waits for the end of the turn. */
  ask(world: AgentWorld, question: AgentQuestion): Promise<AgentRun>;
  /** Runs the program with arguments of your own. */
  run(world: AgentWorld, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<AgentRun>;
}

export interface AgentQuestion {
  readonly prompt: string;
  /** The id of a session, or the path of its file. */
  readonly session?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** How a program ended. */
export interface AgentRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A home and a project of their own, in which nothing of the user's is seen. */
export interface AgentWorld {
  readonly home: string;
  readonly project: string;
  readonly server: ModelServer;
  /** The window of the model, where the agent is told it. */
  readonly windowTokens: number;
  remove(): void;
}

/** An empty home and project. */
export function createAgentWorld(
  server: ModelServer,
  { windowTokens = 200_000 }: { readonly windowTokens?: number } = {},
): AgentWorld {
  const folder = mkdtempSync(join(tmpdir(), "carryover-agents-"));
  const home = join(folder, "home");
  const project = join(folder, "project");
  for (const each of [home, project]) mkdirSync(each);
  return {
    home,
    project,
    server,
    windowTokens,
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }),
  };
}

/** One native program without Node; a session is resumed by its id or by its path. */
export const claudeCode: AgentProgram = {
  name: "claude-code",
  version: "2.1.325",
  install: async () => void (await claudeCodeBinary()),
  ask(world, { prompt, session, env }) {
    const resume = session === undefined ? [] : ["--resume", session];
    return this.run(world, ["-p", "--dangerously-skip-permissions", ...resume, prompt], env);
  },
  run: async (world, args, env = {}) =>
    runProgram(world, await claudeCodeBinary(), args, {
      ANTHROPIC_BASE_URL: world.server.url.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: "sk-scripted-model-on-loopback",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      // Lets the super user skip permissions.
      IS_SANDBOX: "1",
      ...env,
    }),
};

function claudeCodeBinary(): Promise<string> {
  const name = `@anthropic-ai/claude-code-${process.platform}-${process.arch}`;
  return installProgram({
    folder: join(rigFolder(), `claude-code-${claudeCode.version}`),
    program: "package/claude",
    fetch: (folder) => npmUnpack(folder, `${name}@${claudeCode.version}`),
  });
}

/** One native program; `exec` leaves nothing running behind it, as its terminal does. */
export const codex: AgentProgram = {
  name: "codex",
  version: "0.166.0",
  install: async () => void (await codexBinary()),
  ask(world, { prompt, session, env }) {
    const resume = session === undefined ? [] : ["resume", session];
    return this.run(world, ["exec", ...resume, "--skip-git-repo-check", prompt], env);
  },
  async run(world, args, env = {}) {
    const binary = await codexBinary();
    const config = join(world.home, "config.toml");
    const provider = `base_url = "${world.server.url}"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"`;
    writeFileSync(
      config,
      [
        'model = "gpt-5.5"',
        'model_provider = "scripted"',
        'approval_policy = "never"',
        'sandbox_mode = "danger-full-access"',
        "check_for_update_on_startup = false",
        `model_context_window = ${world.windowTokens}`,
        `[model_providers.scripted]\nname = "scripted"\n${provider}`,
        "[analytics]\nenabled = false",
        "",
      ].join("\n"),
    );
    return runProgram(world, binary, args, { CODEX_HOME: world.home, SCRIPTED_KEY: "scripted", ...env });
  },
};

function codexBinary(): Promise<string> {
  const triple = CODEX_TRIPLES[`${process.platform}-${process.arch}`] ?? "unknown";
  return installProgram({
    folder: join(rigFolder(), `codex-${codex.version}`),
    program: `package/vendor/${triple}/bin/codex`,
    fetch: (folder) =>
      npmUnpack(folder, `@openai/codex@${codex.version}-${process.platform}-${process.arch}`),
  });
}

const CODEX_TRIPLES: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
};

/** A bundle that needs a newer Node than we do, which comes from the registry too. */
export const pi: AgentProgram = {
  name: "pi",
  version: "1.5.0",
  install: async () => void (await Promise.all([piBundle(), node22()])),
  ask(world, { prompt, session, env }) {
    const resume = session === undefined ? [] : ["--session", session];
    return this.run(world, [...resume, "-p", prompt], env);
  },
  async run(world, args, env = {}) {
    const [bundle, node] = await Promise.all([piBundle(), node22()]);
    const folder = join(world.home, ".pi", "agent");
    mkdirSync(folder, { recursive: true });
    const models = [{ id: "scripted", contextWindow: world.windowTokens, maxTokens: 4_096 }];
    const baseUrl = world.server.url.replace(/\/v1$/, "");
    const scripted = { baseUrl, api: "anthropic-messages", apiKey: "scripted", models };
    writeFileSync(join(folder, "models.json"), JSON.stringify({ providers: { scripted } }));
    const offline = { PI_OFFLINE: "1", PI_TELEMETRY: "0", PI_SKIP_VERSION_CHECK: "1" };
    return runProgram(world, node, [bundle, "--model", "scripted/scripted", ...args], { ...offline, ...env });
  },
};

function piBundle(): Promise<string> {
  return installProgram({
    folder: join(rigFolder(), `pi-${pi.version}`),
    program: "package/dist/bundle/cli.js",
    // Some of what it names as a dependency is not in the registry; the bundle runs without.
    fetch: (folder) => npmUnpack(folder, `@earendil-works/pi-coding-agent@${pi.version}`),
  });
}

const NODE_22 = "22.23.3";

function node22(): Promise<string> {
  const name = `node-${process.platform === "darwin" ? "darwin" : "linux"}-${process.arch}`;
  return installProgram({
    folder: join(rigFolder(), `node-${NODE_22}`),
    program: join("node_modules", name, "bin", "node"),
    fetch: (folder) => npmInstall(folder, `${name}@${NODE_22}`),
  });
}

export const AGENT_PROGRAMS: readonly AgentProgram[] = [claudeCode, codex, pi];

/** A turn that hangs is ended, and its output says where it stood. */
const LIMIT_MS = 110_000;

function runProgram(
  { home, project }: AgentWorld,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<AgentRun> {
  const inherited = { PATH: process.env.PATH ?? "", TERM: "xterm-256color", LANG: "C.UTF-8" };
  const child = spawn(program, [...args], {
    cwd: project,
    env: { ...inherited, HOME: home, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, stdout, stderr }));
  });
}
