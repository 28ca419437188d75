import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import { jsonOrText } from "../../text/json.ts";
import { asArray, asObject, type UnknownObject } from "../../text/unknown-value.ts";
import { runToFile } from "../opencode/sessions.ts";
import type { Finding } from "./finding.ts";

/**
 * Runs the user's OpenCode once in a temporary home, against a scripted model on this machine, and checks the requests
 * that the model got. Nothing leaves the machine, and no file of the user is read or written.
 */
export async function runSelfTest({ binary, plugin, host }: SelfTest): Promise<Finding[]> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "carryover-doctor-")));
  const model = await startDoctorModel();
  try {
    const project = await createTestHome({ root, plugin, host, modelUrl: model.url });
    const ended = await runOnce({ binary, root, project, host });
    return findingsFrom(model.requests, ended);
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
  readonly host: TestedHost;
}

type TestedHost = "opencode" | "opencode2";

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

/** One finding for each way in which the plugin changes requests. */
function findingsFrom(requests: readonly ModelCall[], { code, output }: RunOutcome): Finding[] {
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
    expectation("self-test: tools", "the model is offered our four tools", true),
    expectation(
      "self-test: outputs",
      "a long tool output reaches the model cut, with a handle",
      isCut(results[0]),
    ),
    expectation(
      "self-test: messages",
      "a fork's request begins with its parent's conversation",
      hasParentContext(child),
    ),
    expectation(
      "self-test: results",
      "a fork's result reaches its parent",
      results[1]?.includes(FORK_REPORT),
    ),
  ];
}

function expectation(check: string, what: string, isProved: boolean | undefined): Finding {
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

function hasParentContext(child: ModelCall | undefined): boolean {
  const users = (child?.messages ?? []).filter(({ role }) => role === "user").map(textOf);
  return users.length > 1 && users[0]?.includes(PROMPT) === true;
}

function textOf({ content }: ModelCall["messages"][number]): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}

function writeJson(path: string, value: unknown): Promise<void> {
  return writeFile(path, JSON.stringify(value, null, 2));
}

/** Starts a scripted model, reachable from this machine only, that records the requests it gets. */
export async function startDoctorModel(): Promise<DoctorModel> {
  const requests: ModelCall[] = [];
  const server = createServer((request, response) => {
    readBody(request).then(
      (text) => {
        const call = readCall(text);
        if (call.from !== "title") requests.push(call);
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(`${eventsOf(answerTo(call)).join("")}data: [DONE]\n\n`);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests, stop: () => stop(server) };
}

interface DoctorModel {
  readonly url: string;
  /** Oldest first, without requests for a title. */
  readonly requests: readonly ModelCall[];
  stop(): Promise<void>;
}

/** The fields of a request that the self-test checks. */
interface ModelCall {
  readonly from: "parent" | "child" | "title";
  readonly tools: readonly string[];
  readonly messages: readonly UnknownObject[];
}

/** Longer than a tool output may be; the model's first call prints it. */
const LONG_OUTPUT_FILE = "long-output.txt";
const FORK_TASK = "Report to the self-test.";
const FORK_REPORT = "The fork of the self-test reports.";

function readCall(text: string): ModelCall {
  const body = asObject(jsonOrText(text));
  const messages = asArray(body.messages).map(asObject);
  const isChild = messages.some((message) => message.role === "user" && textOf(message).includes(FORK_TASK));
  const tools = asArray(body.tools).map((tool) => String(asObject(asObject(tool).function).name));
  const isTitle = text.includes("You are a title generator");
  return { from: isTitle ? "title" : isChild ? "child" : "parent", tools, messages };
}

type Answer = { readonly text: string } | { readonly tool: string; readonly input: unknown };

/** The script: the parent prints a long output, forks and waits, then ends. */
function answerTo({ from, messages, tools }: ModelCall): Answer {
  if (from === "title") return { text: "Self-test" };
  if (from === "child") return { text: FORK_REPORT };
  const results = messages.filter(({ role }) => role === "tool").length;
  if (results === 0) {
    const tool = tools.includes("shell") ? "shell" : "bash";
    return { tool, input: { command: `cat ${LONG_OUTPUT_FILE}`, description: "Show the file" } };
  }
  if (results === 1) return { tool: "fork", input: { prompt: FORK_TASK, wait_s: 60 } };
  return { text: "Done." };
}

function eventsOf(answer: Answer): readonly string[] {
  const isText = "text" in answer;
  const delta = isText
    ? { content: answer.text }
    : {
        tool_calls: [
          {
            index: 0,
            id: `call_${answer.tool}`,
            type: "function",
            function: { name: answer.tool, arguments: JSON.stringify(answer.input) },
          },
        ],
      };
  const envelope = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 0, model: "self-test" };
  const end = { index: 0, delta: {}, finish_reason: isText ? "stop" : "tool_calls" };
  const usage = { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 };
  return [
    { ...envelope, choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }] },
    { ...envelope, choices: [end] },
    { ...envelope, choices: [], usage },
  ].map((event) => `data: ${JSON.stringify(event)}\n\n`);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
