import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import { runToFile } from "../opencode/sessions.ts";
import { as, ok, problem, type Verdict } from "./check.ts";
import type { OpencodeHost } from "./find-plugin.ts";
import {
  contentOf,
  FORK_REPORT,
  LONG_OUTPUT_FILE,
  type ModelCall,
  startScriptedModel,
} from "./scripted-model.ts";

/**
 * Runs the user's OpenCode once in a temporary home, against a scripted model on this machine, and checks the requests
 * that the model got. Nothing leaves the machine, and no file of the user is read or written.
 */
export async function runSelfTest({ binary, plugin, host }: SelfTest): Promise<readonly Verdict[]> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "carryover-doctor-")));
  const model = await startScriptedModel();
  try {
    const project = await createTestHome({ root, plugin, host, modelUrl: model.url });
    const ended = await runOnce({ binary, root, project, host });
    return verdictsOn(model.requests, ended);
  } finally {
    await model.stop();
    await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

interface SelfTest {
  /** The program of OpenCode. */
  readonly binary: string;
  /** The address of the plugin's file. */
  readonly plugin: string;
  readonly host: OpencodeHost;
}

const PROMPT = "This is the self-test of carryover. Show the long output, then fork.";
const RUN_MS = 150_000;

async function createTestHome({ root, plugin, host, modelUrl }: TestHomeOptions): Promise<string> {
  const [config, project] = [join(root, "config", "opencode"), join(root, "project")];
  await mkdir(join(config, "node_modules"), { recursive: true });
  await mkdir(project);
  // Declares OpenCode's plugin package as installed: without a network, installing it takes over a minute.
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
    ...(host === "opencode" && { plugin: [plugin] }),
    provider: {
      selftest: {
        npm: "@ai-sdk/openai-compatible",
        name: "Self-test",
        options: { baseURL: modelUrl, apiKey: "none" },
        models: { model: { name: "Model", tool_call: true, limit: { context: 200_000, output: 32_000 } } },
      },
    },
  });
  if (host === "opencode2") await writePluginFolder(join(config, "plugins", "carryover"), plugin);
  return project;
}

interface TestHomeOptions extends Pick<SelfTest, "plugin" | "host"> {
  readonly root: string;
  readonly modelUrl: string;
}

/** Versions of OpenCode 2 differ in whether the configuration may name a file; all take such a folder. */
async function writePluginFolder(folder: string, plugin: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeJson(join(folder, "package.json"), { name: "carryover", type: "module", main: "./index.js" });
  await writeFile(join(folder, "index.js"), `export { default } from ${JSON.stringify(plugin)};\n`);
}

/** Exit code and output of one run; a program that cannot be started counts as killed. */
async function runOnce({ binary, root, project, host }: Run): Promise<RunOutcome> {
  const run = { cwd: project, env: testEnvironment(root), stderr: "with-stdout", timeoutMs: RUN_MS } as const;
  try {
    // Else version 2 would start a server that stays.
    const alone = host === "opencode2" ? ["--standalone", "--auto"] : [];
    const { code, output } = await runToFile(binary, ["run", ...alone, PROMPT], run);
    return { code, output: output.toString("utf8") };
  } catch (cause) {
    return { code: null, output: String(cause) };
  }
}

interface Run extends Pick<SelfTest, "binary" | "host"> {
  readonly root: string;
  readonly project: string;
}

interface RunOutcome {
  readonly code: number | null;
  readonly output: string;
}

function testEnvironment(root: string): NodeJS.ProcessEnv {
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
    OPENCODE_DISABLE_FFF: "1",
    OPENCODE_PASSWORD: randomUUID(),
  };
}

/** One verdict for each way in which the plugin changes requests. */
function verdictsOn(requests: readonly ModelCall[], { code, output }: RunOutcome): readonly Verdict[] {
  const parents = requests.filter(({ from }) => from === "parent");
  const child = requests.find(({ from }) => from === "child");
  const said = output.trim().slice(-400);
  if (parents.length === 0)
    return [
      problem(
        `OpenCode asked the model nothing (exit ${code ?? "after too long"}): ${said}`,
        "Run `opencode run hello` to see what is wrong with it.",
      ),
    ];
  const missing = FORK_OWN_TOOLS.filter((tool) => !parents[0]?.tools.includes(tool));
  if (missing.length > 0)
    return [
      problem(
        `the plugin was not loaded: the model was not offered ${missing.join(", ")}`,
        `Look for "carryover" in OpenCode's log (opencode run --print-logs). It said: ${said}`,
      ),
    ];
  const results = (parents.at(-1)?.messages ?? []).filter(({ role }) => role === "tool").map(contentOf);
  const expected: readonly (readonly [check: string, what: string, isProved: boolean])[] = [
    ["tools", "the model is offered our four tools", true],
    ["outputs", "a long tool output reaches the model cut, with a handle", isCut(results[0])],
    ["messages", "a fork's request begins with its parent's conversation", hasParentContext(child)],
    ["results", "a fork's result reaches its parent", results[1]?.includes(FORK_REPORT) === true],
  ];
  const advice =
    "This version of OpenCode has changed what a plugin can do. Use the tested one, and report it.";
  return expected.map(([check, what, isProved]) =>
    as(`self-test: ${check}`, isProved ? ok(what) : problem(`not so: ${what}`, advice)),
  );
}

function isCut(result = ""): boolean {
  return (
    result.includes("line 0 of") &&
    result.includes("line 5999 of") &&
    !result.includes("line 3000 of") &&
    /handle/.test(result)
  );
}

function hasParentContext(child: ModelCall | undefined): boolean {
  const users = (child?.messages ?? []).filter(({ role }) => role === "user").map(contentOf);
  return users.length > 1 && users[0]?.includes(PROMPT) === true;
}

function writeJson(path: string, value: unknown): Promise<void> {
  return writeFile(path, JSON.stringify(value, null, 2));
}
