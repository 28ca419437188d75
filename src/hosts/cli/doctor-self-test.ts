import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FORK_OWN_TOOLS } from "../../stages/omit-for-child.ts";
import type { Finding } from "./doctor-finding.ts";
import { FORK_REPORT, LONG_OUTPUT_FILE, type ModelCall, startDoctorModel } from "./doctor-model.ts";

/**
 * Runs the user's own OpenCode once, in a home that is thrown away and with a model of ours, and looks at what reached
 * that model. Nothing leaves the machine, and nothing of the user's is read or written.
 */
export async function runSelfTest({ binary, plugin }: SelfTest): Promise<Finding[]> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "carryover-doctor-")));
  const model = await startDoctorModel();
  try {
    const project = await furnish({ root, plugin, modelUrl: model.url });
    const ended = await runOnce({ binary, root, project });
    return judge(model.requests, ended);
  } finally {
    await model.stop();
    await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

export interface SelfTest {
  /** The program of OpenCode. */
  readonly binary: string;
  /** The plugin's file or folder, or its address. */
  readonly plugin: string;
}

interface Ended {
  /** Null when it had to be ended. */
  readonly code: number | null;
  readonly output: string;
}

const PROMPT = "This is the self-test of carryover. Show the long output, then fork.";
const RUN_MS = 150_000;

async function furnish({ root, plugin, modelUrl }: Furnishing): Promise<string> {
  const [config, project] = [join(root, "config", "opencode"), join(root, "project")];
  await mkdir(join(config, "node_modules"), { recursive: true });
  await mkdir(project);
  // OpenCode installs its plugin package before the first request, over a minute without a network; this says that it is there.
  const dependencies = { "@opencode-ai/plugin": "*" };
  await writeJson(join(config, "package.json"), { dependencies });
  await writeJson(join(config, "package-lock.json"), {
    lockfileVersion: 3,
    packages: { "": { dependencies } },
  });
  await writeJson(join(root, "models.json"), {});
  const lines = Array.from({ length: 6_000 }, (_, index) => `line ${index} of a long output\n`);
  await writeFile(join(project, LONG_OUTPUT_FILE), lines.join(""));
  await writeJson(join(config, "opencode.json"), {
    autoupdate: false,
    share: "disabled",
    lsp: false,
    formatter: false,
    enabled_providers: ["selftest"],
    model: "selftest/model",
    small_model: "selftest/model",
    permission: { "*": "allow" },
    plugin: [plugin],
    provider: {
      selftest: {
        npm: "@ai-sdk/openai-compatible",
        name: "Self-test",
        options: { baseURL: modelUrl, apiKey: "none" },
        models: { model: { name: "Model", tool_call: true, limit: { context: 200_000, output: 32_000 } } },
      },
    },
  });
  return project;
}

interface Furnishing {
  readonly root: string;
  readonly plugin: string;
  readonly modelUrl: string;
}

async function runOnce({ binary, root, project }: Run): Promise<Ended> {
  const outputFile = join(root, "output.txt");
  // Into a file: OpenCode ends before a pipe is drained.
  const output = openSync(outputFile, "w");
  const child = spawn(binary, ["run", PROMPT], {
    cwd: project,
    env: isolated(root),
    stdio: ["ignore", output, output],
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), RUN_MS);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject).once("exit", resolve);
    });
    return { code, output: await readFile(outputFile, "utf8") };
  } catch (cause) {
    return { code: null, output: String(cause) };
  } finally {
    clearTimeout(timer);
    closeSync(output);
  }
}

interface Run {
  readonly binary: string;
  readonly root: string;
  readonly project: string;
}

function isolated(root: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: root,
    XDG_CONFIG_HOME: join(root, "config"),
    XDG_DATA_HOME: join(root, "data"),
    XDG_CACHE_HOME: join(root, "cache"),
    XDG_STATE_HOME: join(root, "state"),
    NO_COLOR: "1",
    TERM: "dumb",
    OPENCODE_MODELS_PATH: join(root, "models.json"),
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_CLAUDE_CODE: "1",
    OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
  };
}

/** What the requests prove, one finding for each way in which the plugin changes them. */
function judge(requests: readonly ModelCall[], { code, output }: Ended): Finding[] {
  const parents = requests.filter(({ from }) => from === "parent");
  const child = requests.find(({ from }) => from === "child");
  const said = output.trim().slice(-400);
  if (parents.length === 0)
    return [
      {
        check: "self-test",
        level: "problem",
        what: `OpenCode asked the model nothing (exit ${code ?? "after too long"}): ${said}`,
        advice: "Run `opencode run hello` to see what is wrong with it.",
      },
    ];
  const missing = FORK_OWN_TOOLS.filter((tool) => !parents[0]?.tools.includes(tool));
  if (missing.length > 0)
    return [
      {
        check: "self-test",
        level: "problem",
        what: `the plugin was not loaded: the model was not offered ${missing.join(", ")}`,
        advice: `Look for "carryover" in OpenCode's log (opencode run --print-logs). It said: ${said}`,
      },
    ];
  const results = (parents.at(-1)?.messages ?? []).filter(({ role }) => role === "tool").map(textOf);
  return [
    proved("self-test: tools", "the model is offered our four tools", true),
    proved(
      "self-test: outputs",
      "a long tool output reaches the model cut, with a handle",
      isCut(results[0]),
    ),
    proved("self-test: messages", "a fork's request begins with its parent's conversation", inherits(child)),
    proved("self-test: results", "a fork's result reaches its parent", results[1]?.includes(FORK_REPORT)),
  ];
}

function proved(check: string, what: string, isProved: boolean | undefined): Finding {
  return isProved
    ? { check, level: "ok", what }
    : {
        check,
        level: "problem",
        what: `not so: ${what}`,
        advice:
          "This version of OpenCode has changed what a plugin can do. Use the tested one, and report it.",
      };
}

function isCut(result = ""): boolean {
  return (
    result.includes("line 0 of") &&
    result.includes("line 5999 of") &&
    !result.includes("line 3000 of") &&
    /handle/.test(result)
  );
}

function inherits(child: ModelCall | undefined): boolean {
  const users = (child?.messages ?? []).filter(({ role }) => role === "user").map(textOf);
  return users.length > 1 && users[0]?.includes(PROMPT) === true;
}

function textOf({ content }: ModelCall["messages"][number]): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}

function writeJson(path: string, value: unknown): Promise<void> {
  return writeFile(path, JSON.stringify(value, null, 2));
}
