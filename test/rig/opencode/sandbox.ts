import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { removeFolder } from "../remove-folder.ts";

/** Makes a home folder with one git project in it, in which OpenCode finds nothing of this machine. */
export function createSandbox({
  files = {},
  pathFolders = [],
  env: more = {},
}: SandboxOptions = {}): Sandbox {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "carryover-opencode-")));
  const home = join(root, "home");
  const project = join(home, "project");
  const configFolder = join(home, ".config", "opencode");
  const modelsFile = join(root, "models.json");
  mkdirSync(project, { recursive: true });
  writeFileSync(modelsFile, "{}");
  pretendPluginPackageIsInstalled(configFolder);
  const shell = writeLingeringShell(join(root, "bin"));
  for (const [path, content] of Object.entries({ "README.md": "# Project\n", ...files })) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), content);
  }
  const env = { ...isolatedEnvironment({ home, modelsFile, shell, pathFolders }), ...more };
  commitAll(project, env);
  return {
    root,
    home,
    project,
    configFolder,
    env,
    remove: () => removeFolder(root),
  };
}

export interface SandboxOptions {
  /** Files of the project by path; committed before the agent starts. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Folders searched for programs before those of PATH. */
  readonly pathFolders?: readonly string[];
  /** More for the environment of everything that runs in it. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Sandbox {
  /** Holds the home and whatever else belongs to the sandbox. */
  readonly root: string;
  readonly home: string;
  readonly project: string;
  /** Where OpenCode reads its global configuration. */
  readonly configFolder: string;
  readonly env: Readonly<Record<string, string>>;
  remove(): void;
}

interface Isolation {
  readonly home: string;
  readonly modelsFile: string;
  readonly shell: string;
  readonly pathFolders: readonly string[];
}

function isolatedEnvironment({ home, modelsFile, shell, pathFolders }: Isolation): Record<string, string> {
  return {
    PATH: [...pathFolders, process.env.PATH ?? ""].join(delimiter),
    HOME: home,
    SHELL: shell,
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_DATA_HOME: join(home, ".local", "share"),
    XDG_CACHE_HOME: join(home, ".cache"),
    XDG_STATE_HOME: join(home, ".local", "state"),
    GIT_CONFIG_NOSYSTEM: "1",
    LANG: "C.UTF-8",
    TERM: "dumb",
    NO_COLOR: "1",
    npm_config_update_notifier: "false",
    OPENCODE_CLIENT: "carryover-tests",
    OPENCODE_MODELS_PATH: modelsFile,
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_CLAUDE_CODE: "1",
    OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
    OPENCODE_DISABLE_EMBEDDED_WEB_UI: "1",
  };
}

/**
 * A bash that stays a moment after its command. OpenCode stops reading when the shell has ended: on a busy machine it
 * loses what is still in the pipe, up to 64 KB, and no plugin can bring that back.
 */
function writeLingeringShell(folder: string): string {
  const path = join(folder, "bash");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, '#!/bin/sh\nbash "$@"\nstatus=$?\nsleep 0.3\nexit $status\n', { mode: 0o755 });
  return path;
}

/**
 * OpenCode installs its plugin package into every config folder and lets the first request wait for it:
 * over a minute without a network. These files tell it that the work is done.
 */
function pretendPluginPackageIsInstalled(folder: string): void {
  const dependencies = { "@opencode-ai/plugin": "*" };
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ dependencies }));
  writeFileSync(
    join(folder, "package-lock.json"),
    JSON.stringify({ lockfileVersion: 3, packages: { "": { dependencies } } }),
  );
}

function commitAll(project: string, env: Readonly<Record<string, string>>): void {
  const author = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid"];
  for (const command of [
    ["init", "-q", "-b", "main"],
    ["add", "."],
    ["commit", "-q", "-m", "Start"],
  ]) {
    execFileSync("git", [...author, ...command], { cwd: project, env, stdio: "ignore" });
  }
}

/** OpenCode's configuration for a project whose only provider is the scripted model server. */
export function scriptedConfig({ modelUrl, config = {} }: ScriptedConfigOptions): Record<string, unknown> {
  return {
    $schema: "https://opencode.ai/config.json",
    autoupdate: false,
    share: "disabled",
    lsp: false,
    formatter: false,
    enabled_providers: ["scripted", "scripted-anthropic", "scripted-responses"],
    model: `scripted/${LONG_WINDOW.modelID}`,
    small_model: `scripted/${LONG_WINDOW.modelID}`,
    permission: { "*": "allow" },
    provider: {
      scripted: {
        npm: "@ai-sdk/openai-compatible", // inside the binary: nothing is downloaded for it
        name: "Scripted",
        options: { baseURL: modelUrl, apiKey: "none" },
        models: {
          [LONG_WINDOW.modelID]: model({ contextTokens: 200_000, outputTokens: 32_000 }),
          [MIDDLE_WINDOW.modelID]: model({ contextTokens: 100_000, outputTokens: 16_000 }),
          [SHORT_WINDOW.modelID]: model({ contextTokens: 8_000, outputTokens: 2_000 }),
          [DEAR_WINDOW.modelID]: {
            ...model({ contextTokens: 200_000, outputTokens: 32_000 }),
            cost: { input: 1_000, output: 1_000 },
          },
        },
      },
      "scripted-anthropic": {
        npm: "@ai-sdk/anthropic", // inside the binary too
        name: "Scripted, Anthropic's wire",
        options: { baseURL: modelUrl, apiKey: "none" },
        models: {
          [ANTHROPIC_WINDOW.modelID]: model({ contextTokens: 200_000, outputTokens: 32_000 }),
        },
      },
      "scripted-responses": {
        npm: "@ai-sdk/openai", // and this one
        name: "Scripted, OpenAI's responses",
        options: { baseURL: modelUrl, apiKey: "none" },
        models: {
          [RESPONSES_WINDOW.modelID]: {
            ...model({ contextTokens: 200_000, outputTokens: 32_000 }),
            cost: { input: 1.25, output: 10, cache_read: 0.125 },
          },
        },
      },
    },
    ...config,
  };
}

export interface ScriptedConfigOptions {
  readonly modelUrl: string;
  /** Top-level keys that replace ours. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export interface ModelChoice {
  readonly providerID: string;
  readonly modelID: string;
}

/** 168,000 usable tokens: nothing overflows by accident. */
export const LONG_WINDOW: ModelChoice = { providerID: "scripted", modelID: "long-window" };

/** 84,000 usable tokens: a long session fills it. */
export const MIDDLE_WINDOW: ModelChoice = { providerID: "scripted", modelID: "middle-window" };

/** 6,000 usable tokens: a reported usage of 6,000 makes OpenCode compact. */
export const SHORT_WINDOW: ModelChoice = { providerID: "scripted", modelID: "short-window" };

/** The long window at a dollar for a thousand tokens, so that budgets are spent in a few requests. */
export const DEAR_WINDOW: ModelChoice = { providerID: "scripted", modelID: "dear-window" };

/** The long window again, over Anthropic's wire, by the name of a model whose thoughts are bound. */
export const ANTHROPIC_WINDOW: ModelChoice = {
  providerID: "scripted-anthropic",
  modelID: "claude-opus-5-5",
};

/** The long window again, over the wire of OpenAI's responses, at the prices of GPT-5. */
export const RESPONSES_WINDOW: ModelChoice = {
  providerID: "scripted-responses",
  modelID: "responses-long-window",
};

interface Window {
  readonly contextTokens: number;
  readonly outputTokens: number;
}

function model({ contextTokens, outputTokens }: Window): Record<string, unknown> {
  return {
    name: `Scripted, ${contextTokens} tokens`,
    tool_call: true,
    reasoning: true,
    temperature: true,
    attachment: true,
    modalities: { input: ["text", "image"], output: ["text"] },
    limit: { context: contextTokens, output: outputTokens },
    cost: { input: 0, output: 0 },
  };
}

/** Puts the configuration where OpenCode finds it, in the place of the one before. */
export function writeConfig(sandbox: Sandbox, options: ScriptedConfigOptions): void {
  const file = join(sandbox.configFolder, "opencode.json");
  writeFileSync(file, JSON.stringify(scriptedConfig(options), null, 2));
}
