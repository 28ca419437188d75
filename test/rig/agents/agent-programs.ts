import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { installProgram, npmInstall, npmUnpack, rigFolder } from "../install-program.ts";
import type { ModelServer } from "../model-server/model-server.ts";
import { installOpenCode, OPENCODE_VERSION } from "../opencode/install-opencode.ts";
import { type CommandResult, runOpenCode } from "../opencode/run-opencode.ts";
import { createSandbox, type Sandbox, writeConfig } from "../opencode/sandbox.ts";
import { findOpencode2, NO_OPENCODE2 } from "../opencode2/start-opencode2.ts";

/** The coding agents that sessions move to and from, each in the version that its facts were measured on. */
export type AgentName = "claude-code" | "codex" | "opencode" | "opencode2" | "pi";

/** A real coding agent, which asks a scripted model on loopback. */
export interface AgentProgram {
  readonly name: AgentName;
  readonly version: string;
  /** Set where no registry has it: then even CI may skip it. */
  readonly isRare?: true;
  /** Fetches what is missing; rejects where that cannot be had. */
  install(): Promise<void>;
  /** The program itself, where it is one. */
  binary?(): Promise<string>;
  /** Says one prompt, in a new session or in a given one, and waits for the end of the turn. */
  ask(world: AgentWorld, question: AgentQuestion): Promise<CommandResult>;
  /** What starts it in this world, for a terminal. */
  command(world: AgentWorld): Promise<AgentCommand>;
  /** Runs the program with arguments of your own. */
  run(
    world: AgentWorld,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<CommandResult>;
}

/** A program, and the environment in which it asks the scripted model. */
export interface AgentCommand {
  readonly program: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

export interface AgentQuestion {
  readonly prompt: string;
  /** The id of a session, or the path of its file. */
  readonly session?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A home and a project of their own, in which nothing of the user's is seen. */
export interface AgentWorld {
  readonly sandbox: Sandbox;
  readonly home: string;
  readonly project: string;
  readonly server: ModelServer;
  /** The window of the model, where the agent is told it. */
  readonly windowTokens: number;
  /** Another model than the scripted one, as pi's `models.json` names it. */
  readonly piModel?: { readonly name: string; readonly providers: object };
  remove(): void;
}

/** An empty home and project. */
export function createAgentWorld(
  server: ModelServer,
  { windowTokens = 200_000, files = {} }: AgentWorldOptions = {},
): AgentWorld {
  const sandbox = createSandbox({ files });
  writeConfig(sandbox, { modelUrl: server.url });
  const { home, project, remove } = sandbox;
  return { sandbox, home, project, server, windowTokens, remove };
}

export interface AgentWorldOptions {
  readonly windowTokens?: number;
  /** Files of the project by path. */
  readonly files?: Readonly<Record<string, string>>;
}

/** One native program without Node; a session is resumed by its id or by its path. */
export const claudeCode: AgentProgram = {
  name: "claude-code",
  version: "2.1.325",
  install: async () => void (await claudeCodeBinary()),
  binary: claudeCodeBinary,
  ask(world, { prompt, session, env }) {
    const resume = session === undefined ? [] : ["--resume", session];
    return this.run(world, ["-p", "--dangerously-skip-permissions", ...resume, prompt], env);
  },
  command: async (world) => ({
    program: [await claudeCodeBinary()],
    env: {
      ANTHROPIC_BASE_URL: world.server.url.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: "sk-scripted-model-on-loopback",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      // Lets the super user skip permissions.
      IS_SANDBOX: "1",
    },
  }),
  run: runCommand,
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
  binary: codexBinary,
  ask(world, { prompt, session, env }) {
    const resume = session === undefined ? [] : ["resume", session];
    return this.run(world, ["exec", ...resume, "--skip-git-repo-check", prompt], env);
  },
  run: runCommand,
  async command(world) {
    const binary = await codexBinary();
    const config = join(world.home, "config.toml");
    const provider = `base_url = "${world.server.url}"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"`;
    // Its own commands write into it too.
    if (!existsSync(config))
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
          `[projects."${world.project}"]\ntrust_level = "trusted"`,
          "",
        ].join("\n"),
      );
    return { program: [binary], env: { CODEX_HOME: world.home, SCRIPTED_KEY: "scripted" } };
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
  install: async () => void (await Promise.all([piBundle(), node22(), jiti()])),
  ask(world, { prompt, session, env }) {
    const resume = session === undefined ? [] : ["--session", session];
    return this.run(world, [...resume, "-p", prompt], env);
  },
  run: runCommand,
  async command(world) {
    const [bundle, node, compiler] = await Promise.all([piBundle(), node22(), jiti()]);
    const folder = join(world.home, ".pi", "agent");
    mkdirSync(folder, { recursive: true });
    const images = { input: ["text", "image"] };
    const models = [
      { id: "claude-opus-5-5", contextWindow: world.windowTokens, maxTokens: 4_096, ...images },
    ];
    const baseUrl = world.server.url.replace(/\/v1$/, "");
    const scripted = { baseUrl, api: "anthropic-messages", apiKey: "scripted", models };
    const { name, providers } = world.piModel ?? {
      name: "scripted/claude-opus-5-5",
      providers: { scripted },
    };
    writeFileSync(join(folder, "models.json"), JSON.stringify({ providers }));
    const offline = { PI_OFFLINE: "1", PI_TELEMETRY: "0", PI_SKIP_VERSION_CHECK: "1" };
    const env = { ...offline, NODE_PATH: dirname(dirname(compiler)) };
    return { program: [node, bundle, "--model", name], env };
  },
};

/** What pi loads extensions with; of all that it depends on, the bundle lacks only this. */
function jiti(): Promise<string> {
  return installProgram({
    folder: join(rigFolder(), `jiti-${JITI}`),
    program: join("node_modules", "jiti", "package.json"),
    fetch: (folder) => npmInstall(folder, `jiti@${JITI}`),
  });
}

const JITI = "2.7.0";

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

/** Keeps its sessions in a database: a file is imported first. */
export const opencode: AgentProgram = {
  name: "opencode",
  version: OPENCODE_VERSION,
  install: async () => void (await installOpenCode()),
  ask(world, { prompt, session, env }) {
    const resume = session === undefined ? [] : ["--session", session];
    return this.run(world, ["run", ...resume, prompt], env);
  },
  command: async () => ({ program: [await installOpenCode()], env: {} }),
  run: runCommand,
};

/** The same in version 2, by a server of its own that ends with the command. */
export const opencode2: AgentProgram = {
  name: "opencode2",
  version: "2",
  isRare: true,
  async install() {
    if (findOpencode2() === undefined) throw new Error(NO_OPENCODE2);
  },
  ask(world, { prompt, session, env }) {
    const resume = session === undefined ? [] : ["--session", session];
    return this.run(world, ["run", "--standalone", ...resume, prompt], env);
  },
  command: async () => ({ program: [findOpencode2() ?? ""], env: { OPENCODE_DISABLE_FFF: "1" } }),
  run: runCommand,
};

async function runCommand(
  this: AgentProgram,
  world: AgentWorld,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const { program, env } = await this.command(world);
  const [binary, ...first] = program;
  const { sandbox } = world;
  return runOpenCode({
    binary,
    args: [...first, ...args],
    sandbox,
    env: { ...sandbox.env, ...env, ...more },
  });
}

export const AGENT_PROGRAMS: readonly AgentProgram[] = [claudeCode, codex, opencode, opencode2, pi];
